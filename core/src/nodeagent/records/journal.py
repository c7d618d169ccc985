"""Journal entries, their values, and the scopes they live in."""

from __future__ import annotations

import hashlib
from typing import Final, Self

from attrs import field, frozen

from nodeagent.errors import Invalid
from nodeagent.records.ids import OWNER_KINDS, Key, Ms, Owner, Seq, Token, a_count, an_id, check_parts, parts

HELD: Final = "held"
SHARED: Final = "shared"


class Scope(tuple[str, ...]):
    """The name of a journal scope: owner, door, path. Use :class:`Held` or :class:`Shared`."""

    __slots__ = ()

    @property
    def owner(self) -> Owner:
        """Whose scope this is."""
        return (self[0], self[1])

    @property
    def path(self) -> tuple[str, ...]:
        """The scope's name within its owner."""
        return self[3:]

    @classmethod
    def _of(cls, owner: Owner, door: str, path: tuple[str, ...]) -> Self:
        name = (*owner, door, *path)
        check_parts("scope", name)
        if not path or owner[0] not in OWNER_KINDS:
            raise Invalid("scope", f"must be an owner and a path, but is {name!r}")
        return super().__new__(cls, name)


class Held(Scope):
    """A scope written only under its owner's fence: steps, effects, receipts, the log of a run."""

    __slots__ = ()

    def __new__(cls, owner: Owner, *path: str) -> Self:
        """Name the scope ``path`` of ``owner``."""
        return cls._of(owner, HELD, path)


class Shared(Scope):
    """A scope written through both doors: an awaited address, the audit trail, admission."""

    __slots__ = ()

    def __new__(cls, owner: Owner, *path: str) -> Self:
        """Name the scope ``path`` of ``owner``."""
        return cls._of(owner, SHARED, path)


@frozen
class Inline:
    """A value whose bytes stand in the ledger itself. Opaque to the store."""

    data: bytes = field(repr=False)

    @property
    def sha256(self) -> str:
        """The hex digest of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self.data)


@frozen
class Stored:
    """A value whose bytes were put to the artifact port; ``ref`` is the artifact's id."""

    ref: str = field(validator=an_id)
    sha256: str
    size: int = field(validator=a_count)


Value = Inline | Stored


@frozen(kw_only=True)
class Entry:
    """One record of a journal scope: written once, never changed.

    The writer gives ``key``, ``kind``, ``value`` and ``attempt`` (description: the attempt that wrote it). The
    store fills in ``seq``, ``at`` (its time), ``token`` (of the fence, 0 without one) and
    ``written_by`` (the id of the commit).
    """

    key: Key = field(validator=parts)
    kind: str = field(validator=an_id)
    value: Value
    sha256: str = field()
    attempt: int = 0
    seq: Seq = Seq(0)
    at: Ms = Ms(0)
    token: Token = Token(0)
    written_by: str = ""

    @sha256.default
    def _digest(self) -> str:
        return self.value.sha256


@frozen(kw_only=True)
class EntryKey:
    """The full name of an entry."""

    scope: Scope
    key: Key = field(validator=parts)
