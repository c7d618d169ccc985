"""Jobs: the unit that is queued, claimed under a lease, and finished."""

from __future__ import annotations

from typing import Any, Final, Literal

from attrs import field, frozen

from nodeagent.errors import Invalid
from nodeagent.records.ids import (
    Ms,
    Owner,
    Resource,
    Token,
    a_count,
    an_id,
    an_optional_count,
    an_owner,
    check_int,
)
from nodeagent.records.version import UNWRITTEN, Version

JobStatus = Literal["queued", "running", "completed", "blocked", "failed", "canceled"]

JOB_STATUSES: Final[tuple[JobStatus, ...]] = (
    "queued",
    "running",
    "completed",
    "blocked",
    "failed",
    "canceled",
)
RUNNING: Final = "running"
"""The one status an adapter writes: a claim sets it."""


@frozen
class At:
    """Due at a point in time: milliseconds since the epoch, by the store's clock."""

    ms: Ms = field(validator=a_count)


@frozen
class After:
    """Due this many milliseconds after the commit, which the store resolves with its own clock."""

    ms: Ms = field(validator=a_count)


RunAfter = At | After | None
"""When a job is due; None means never by itself (finished, or parked until a delivery)."""


def _a_priority(_: Any, __: Any, value: object) -> None:
    check_int("priority", value, 0, 9)


def _a_status(_: Any, __: Any, value: object) -> None:
    if value not in JOB_STATUSES:
        raise Invalid("status", f"must be one of {', '.join(JOB_STATUSES)}, but is {value!r}")


@frozen(kw_only=True)
class JobHeader:
    """The typed columns of a job: all that a store indexes, lists and compares.

    ``lane`` is the one routing key, fixed at enqueue. ``token`` is that of the latest claim (0 before
    the first), ``attempts`` counts claims of this ``round``, ``ended_at`` is set while the status is
    neither queued nor running. A stored header's ``run_after`` is ``At`` or None.
    """

    id: str = field(validator=an_id)
    version: Version = UNWRITTEN
    spec_digest: str
    created_at: Ms = field(validator=a_count)
    ended_at: Ms | None = field(default=None, validator=an_optional_count)
    lane: str = field(validator=an_id)
    queue: str = field(validator=an_id)
    runner: str = field(validator=an_id)
    tenant: str = field(validator=an_id)
    priority: int = field(default=5, validator=_a_priority)
    run_after: RunAfter = None
    status: JobStatus = field(default="queued", validator=_a_status)
    round: int = field(default=1, validator=a_count)
    attempts: int = field(default=0, validator=a_count)
    token: Token = Token(0)
    frame_id: str = field(validator=an_id)

    @property
    def owner(self) -> Owner:
        """A job owns itself."""
        return ("job", self.id)

    @property
    def resource(self) -> Resource:
        """What the lease of this job is about."""
        return ("job", self.id)


@frozen(kw_only=True)
class JobRecord:
    """A job: header, ``spec`` (what was asked for, written once) and ``state`` (rewritten by the rules).

    Both are opaque bytes for a store.
    """

    header: JobHeader
    spec: bytes = field(repr=False)
    state: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The job's id."""
        return self.header.id

    @property
    def owner(self) -> Owner:
        """A job owns itself."""
        return self.header.owner


@frozen(kw_only=True)
class FrameHeader:
    """The typed columns of a reasoning frame. Its status is its job's.

    ``receipt`` is the artifact id of the latest round's receipt, None before there is one.
    """

    id: str = field(validator=an_id)
    owner: Owner = field(validator=an_owner)
    version: Version = UNWRITTEN
    spec_digest: str
    created_at: Ms = field(validator=a_count)
    ended_at: Ms | None = field(default=None, validator=an_optional_count)
    receipt: str | None = None

    @property
    def job_id(self) -> str:
        """The one job this frame belongs to."""
        return self.owner[1]


@frozen(kw_only=True)
class FrameRecord:
    """A frame: goal, phase and what its answer must show (``spec``), evidence (``state``)."""

    header: FrameHeader
    spec: bytes = field(repr=False)
    state: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """The frame's id."""
        return self.header.id

    @property
    def owner(self) -> Owner:
        """The job this frame belongs to."""
        return self.header.owner
