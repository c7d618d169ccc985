"""Agent runs and their messages: the durable record of a model's turns."""

from __future__ import annotations

from attrs import field, frozen

from nodeagent.records.ids import (
    Ms,
    Owner,
    Token,
    a_count,
    an_id,
    an_optional_count,
    an_owner,
)
from nodeagent.records.version import UNWRITTEN, Version


@frozen(kw_only=True)
class RunHeader:
    """The typed columns of an agent run.

    A run inside a job is owned by the job and written under the job's lease; a run outside any job
    owns itself. ``status`` is a word of the run rules, opaque to a store.
    """

    id: str = field(validator=an_id)
    owner: Owner = field(validator=an_owner)
    version: Version = UNWRITTEN
    spec_digest: str
    created_at: Ms = field(validator=a_count)
    ended_at: Ms | None = field(default=None, validator=an_optional_count)
    conversation_id: str = field(validator=an_id)
    tenant: str = field(validator=an_id)
    status: str = field(validator=an_id)
    token: Token = Token(0)


@frozen(kw_only=True)
class RunRecord:
    """A run: header, opaque ``spec`` and opaque ``state`` (with the last operation's projection)."""

    header: RunHeader
    spec: bytes = field(repr=False)
    state: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The run's id."""
        return self.header.id

    @property
    def owner(self) -> Owner:
        """The job this run is part of, or the run itself."""
        return self.header.owner


@frozen(kw_only=True)
class MessageHeader:
    """The typed columns of a message; messages of a conversation are ordered by ``(position, id)``."""

    id: str = field(validator=an_id)
    owner: Owner = field(validator=an_owner)
    version: Version = UNWRITTEN
    spec_digest: str
    created_at: Ms = field(validator=a_count)
    ended_at: Ms | None = field(default=None, validator=an_optional_count)
    conversation_id: str = field(validator=an_id)
    run_id: str = field(validator=an_id)
    role: str = field(validator=an_id)
    position: int = field(validator=a_count)


@frozen(kw_only=True)
class MessageRecord:
    """A message: header, opaque ``spec`` and opaque ``state``. Its parts are journal entries."""

    header: MessageHeader
    spec: bytes = field(repr=False)
    state: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The message's id."""
        return self.header.id

    @property
    def owner(self) -> Owner:
        """The owner of the message's run."""
        return self.header.owner
