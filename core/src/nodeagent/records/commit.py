"""The one door for writes: what a commit may hold, checked when it is built.

A commit is all or nothing. It carries a random id that it keeps over its retries, and at least one
*anchor* (a ``WriteOnce``, or a ``Put`` of a record that must not exist) whose row remembers that id, so
that a repeated commit is recognised as a duplicate and a lost acknowledgement is never mistaken for a conflict.
"""

from __future__ import annotations

from typing import Final, Literal

from attrs import field, frozen

from nodeagent.errors import Invalid
from nodeagent.records.ids import Key, Resource, Seq, an_id, check_id, parts
from nodeagent.records.job import RUNNING, FrameRecord, JobRecord
from nodeagent.records.journal import Entry, EntryKey, Scope, Shared
from nodeagent.records.lease import Fence
from nodeagent.records.run import MessageRecord, RunRecord
from nodeagent.records.version import Version
from nodeagent.records.wake import Wake

Record = JobRecord | FrameRecord | RunRecord | MessageRecord
RecordKind = Literal["job", "frame", "run", "message"]
RequireKind = Literal["job", "frame", "run", "message", "entry"]

KINDS: Final[dict[type[Record], RecordKind]] = {
    JobRecord: "job",
    FrameRecord: "frame",
    RunRecord: "run",
    MessageRecord: "message",
}


@frozen
class Put:
    """Write ``after``. With ``before=None`` it must not exist; else the stored version must be ``before``'s.

    The store writes the version itself (revision + 1 and the commit's id), and takes the spec only
    when ``before`` is None.
    """

    before: Record | None
    after: Record

    def __attrs_post_init__(self) -> None:
        """Refuse a change of what never changes."""
        if self.before is None:
            return
        if type(self.before) is not type(self.after) or self.before.id != self.after.id:
            raise Invalid("a put", "must write the record that it read, but names two records")
        if self.before.header.spec_digest != self.after.header.spec_digest:
            raise Invalid("a put", "must not change the spec, which is written once")
        if self.before.owner != self.after.owner:
            raise Invalid("a put", "must not change the owner")

    @property
    def kind(self) -> RecordKind:
        """Which table the record lives in."""
        return KINDS[type(self.after)]

    @property
    def expected(self) -> Version | None:
        """The version that must be stored, None if the record must not exist."""
        return None if self.before is None else self.before.header.version


@frozen
class WriteOnce:
    """Write ``entry`` if its key is free in ``scope``; the key stays taken for ever."""

    scope: Scope
    entry: Entry

    @property
    def key(self) -> EntryKey:
        """The entry's full name."""
        return EntryKey(scope=self.scope, key=self.entry.key)


@frozen
class Require:
    """A precondition that writes nothing: the record has this version, or (None) does not exist.

    For kind *entry* the key is an :class:`EntryKey` and only None can be expected.
    """

    kind: RequireKind
    key: str | EntryKey
    expected: Version | None

    def __attrs_post_init__(self) -> None:
        """Refuse what no store could check."""
        if (self.kind == "entry") != isinstance(self.key, EntryKey):
            raise Invalid("a require", f"of kind {self.kind} names its record by the wrong type of key")
        if self.kind == "entry" and self.expected is not None:
            raise Invalid("a require", "of an entry can only expect None: entries have no version")
        if isinstance(self.key, str):
            check_id("a require's key", self.key)


@frozen
class Release:
    """End the fence's own lease. The mark stays, so that the next token is higher."""


@frozen
class Revoke:
    """Raise the resource's mark and end its lease, if there is one; its holder's fence no longer holds."""

    resource: Resource = field(validator=parts)


Write = Put | WriteOnce | Require | Release | Revoke
FencedWrite = Put | WriteOnce | Require | Release
UnfencedWrite = Put | WriteOnce | Require | Revoke


@frozen(kw_only=True)
class Commit:
    """One atomic write. Build it with :meth:`fenced` or :meth:`unfenced`, which refuse what no store may accept."""

    commit_id: str = field(validator=an_id)
    fence: Fence | None
    writes: tuple[Write, ...]
    wake: tuple[Wake, ...] = ()

    @classmethod
    def fenced(cls, commit_id: str, fence: Fence, *writes: FencedWrite, wake: tuple[Wake, ...] = ()) -> Commit:
        """Build a commit of ``fence``'s holder. It may write only what belongs to the fence's owner."""
        commit = cls(commit_id=commit_id, fence=fence, writes=writes, wake=wake)
        _check_writes(commit)
        _check_ownership(fence, writes)
        return commit

    @classmethod
    def unfenced(cls, commit_id: str, *writes: UnfencedWrite, wake: tuple[Wake, ...] = ()) -> Commit:
        """Build a commit of somebody who holds no lease. It may write only shared scopes."""
        commit = cls(commit_id=commit_id, fence=None, writes=writes, wake=wake)
        _check_writes(commit)
        _check_shared(writes)
        _check_running(writes)
        return commit


@frozen(kw_only=True)
class Committed:
    """What a store answers to a commit.

    ``seqs`` are the places of its ``WriteOnce``s in write order. ``duplicate`` says that an earlier
    delivery of the same commit was applied; ``fence_holds`` whether the fence holds now (None for an
    unfenced commit). After False nothing further may be started under that lease.
    """

    duplicate: bool
    fence_holds: bool | None
    seqs: tuple[Seq, ...] = ()


def name_of(write: Write) -> tuple[str, str] | tuple[Scope, Key] | None:
    """Return the record or entry that a write names, None for a lease."""
    match write:
        case Put():
            return (write.kind, write.after.id)
        case WriteOnce():
            return (write.scope, write.entry.key)
        case Require(key=EntryKey() as key):
            return (key.scope, key.key)
        case Require(key=str() as key):
            return (write.kind, key)
    return None


def anchors(commit: Commit) -> tuple[Put | WriteOnce, ...]:
    """Return the writes whose rows remember the commit's id."""
    return tuple(w for w in commit.writes if isinstance(w, WriteOnce) or (isinstance(w, Put) and w.before is None))


def _check_writes(commit: Commit) -> None:
    names = [name for name in map(name_of, commit.writes) if name is not None]
    if len(set(names)) != len(names):
        raise Invalid("a commit", "must name distinct records, but names one twice")
    if not anchors(commit):
        raise Invalid("a commit", "needs an anchor: a WriteOnce, or a Put of a record that must not exist")
    if sum(isinstance(write, Release) for write in commit.writes) > 1:
        raise Invalid("a commit", "can release its lease only once")


def _check_ownership(fence: Fence, writes: tuple[Write, ...]) -> None:
    owner = fence.resource
    for write in writes:
        match write:
            case Revoke():
                raise Invalid("a fenced commit", "cannot revoke: it releases its own lease or writes unfenced")
            case Put(after=record) if record.owner != owner:
                raise Invalid("a fenced commit", f"writes only records of {owner!r}, not of {record.owner!r}")
            case WriteOnce(scope=scope) if scope.owner != owner:
                raise Invalid("a fenced commit", f"writes only scopes of {owner!r}, not of {scope.owner!r}")


def _check_shared(writes: tuple[Write, ...]) -> None:
    jobs = {("job", name[1]) for write in writes if (name := name_of(write)) is not None and name[0] == "job"}
    for write in writes:
        if isinstance(write, Release):
            raise Invalid("an unfenced commit", "holds no lease that it could release")
        if not isinstance(write, WriteOnce):
            continue
        if not isinstance(write.scope, Shared):
            raise Invalid("an unfenced commit", "writes only shared scopes; a held scope needs the owner's fence")
        if write.scope.owner[0] == "job" and write.scope.owner not in jobs:
            raise Invalid("an unfenced commit", "into a job's shared scope must carry a Put or Require of that job")


def _check_running(writes: tuple[Write, ...]) -> None:
    revoked = {write.resource for write in writes if isinstance(write, Revoke)}
    for write in writes:
        before = write.before if isinstance(write, Put) else None
        if isinstance(before, JobRecord) and before.header.status == RUNNING and before.owner not in revoked:
            raise Invalid(
                "an unfenced commit", "that writes a running job must revoke its lease: only the holder writes it"
            )
