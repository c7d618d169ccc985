"""The one door for writes.

``commit`` reads like the contract: anchors, fence, preconditions in write order, write. Everything
is checked before the first write, so nothing has to be undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never, cast

from attrs import define, evolve

from nodeagent import (
    UNWRITTEN,
    After,
    At,
    BackendError,
    Commit,
    Committed,
    Conflict,
    Corrupt,
    EntryKey,
    Fenced,
    JobRecord,
    Ms,
    PortError,
    Put,
    Record,
    Release,
    Require,
    Revoke,
    Seq,
    Token,
    Version,
    Write,
    WriteOnce,
    anchors,
)
from nodeagent.providers.memory.connection import MemoryConnection
from nodeagent.providers.memory.seats import later
from nodeagent.providers.memory.store import Store


@define(eq=False)
class MemoryTransactions:
    """Atomic, fenced, repeatable writes."""

    _connection: MemoryConnection

    def commit(self, commit: Commit) -> Committed:
        """Apply all writes of ``commit`` or none; then send its hints, a duplicate's once more."""
        store = self._connection.store
        with store.lock:
            answer = _apply(store, commit, self._connection.now())
        store.hub.send(commit.wake)
        return answer

    def commit_many(self, commits: Sequence[Commit]) -> Sequence[Committed | PortError | BackendError]:
        """Apply independent commits and answer in their order."""
        return [self._answer(commit) for commit in commits]

    def _answer(self, commit: Commit) -> Committed | PortError | BackendError:
        try:
            return self.commit(commit)
        except (PortError, BackendError) as error:
            return error


def _apply(store: Store, commit: Commit, now: Ms) -> Committed:
    if not _is_duplicate(store, commit):
        _check_fence(store, commit)
        for write in commit.writes:
            _check(store, commit, write)
        for write in commit.writes:
            _write(store, commit, write, now)
        return Committed(duplicate=False, fence_holds=_holds(store, commit), seqs=_seqs(store, commit))
    return Committed(duplicate=True, fence_holds=_holds(store, commit), seqs=_seqs(store, commit))


# --- anchors ------------------------------------------------------------------------------------


def _is_duplicate(store: Store, commit: Commit) -> bool:
    """Say whether every anchor's row was written by this commit."""
    mine = {_writer(store, anchor) == commit.commit_id for anchor in anchors(commit)}
    if len(mine) > 1:
        raise Corrupt(
            f"of the anchors of commit {commit.commit_id!r} some were written by it, others not;"
            " the store lost part of a commit, restore it from a back-up"
        )
    return mine == {True}


def _writer(store: Store, anchor: Put | WriteOnce) -> str | None:
    if isinstance(anchor, WriteOnce):
        entry = store.entry(anchor.scope, anchor.entry.key)
        return None if entry is None else entry.written_by
    row = store.row(anchor.kind, anchor.after.id)
    return None if row is None else row.created_by


def _seqs(store: Store, commit: Commit) -> tuple[Seq, ...]:
    """Return the places of a commit's entries, which are stored by now."""
    once = [write for write in commit.writes if isinstance(write, WriteOnce)]
    entries = [store.entry(write.scope, write.entry.key) for write in once]
    return tuple(entry.seq for entry in entries if entry is not None)


# --- fence --------------------------------------------------------------------------------------


def _holds(store: Store, commit: Commit) -> bool | None:
    return None if commit.fence is None else store.seats.holds(commit.fence)


def _check_fence(store: Store, commit: Commit) -> None:
    fence = commit.fence
    if fence is None or store.seats.holds(fence):
        return
    mark = store.seats.mark(fence.resource)
    raise Fenced(fence.resource, fence.token, mark, store.seats.loss(fence))


# --- preconditions ------------------------------------------------------------------------------


def _check(store: Store, commit: Commit, write: Write) -> None:
    match write:
        case Put():
            _check_put(store, commit, write)
        case WriteOnce():
            _check_free(store, write.key)
        case Require(key=EntryKey() as key):
            _check_free(store, key)
        case Require(key=str() as key):
            _check_version(key, write.expected, _stored(store, write.kind, key))
        case Release() | Revoke():
            pass


def _check_put(store: Store, commit: Commit, put: Put) -> None:
    found = _stored(store, put.kind, put.after.id)
    is_held = commit.fence is not None and put.before is not None
    if is_held and (found is None or found.header.version != put.expected):
        raise Corrupt(
            f"the {put.kind} {put.after.id!r} was written by somebody else while a lease was held,"
            " though only its holder may; look for a writer that bypasses the contract"
        )
    _check_version(put.after.id, put.expected, found)


def _check_version(key: str, expected: Version | None, found: Record | None) -> None:
    header = None if found is None else found.header
    version = None if header is None else header.version
    if expected == version:
        return
    if expected is None:
        raise Conflict("exists", key, found=header)
    raise Conflict("missing" if header is None else "revision", key, expected=expected, found=header)


def _check_free(store: Store, key: EntryKey) -> None:
    found = store.entry(key.scope, key.key)
    if found is not None:
        raise Conflict("written", key, found=found)


def _stored(store: Store, kind: str, name: str) -> Record | None:
    row = store.row(kind, name)
    return None if row is None else row.record


# --- write --------------------------------------------------------------------------------------


def _write(store: Store, commit: Commit, write: Write, now: Ms) -> None:
    match write:
        case Put():
            _put(store, commit, write, now)
        case WriteOnce():
            _write_once(store, commit, write, now)
        case Release() if commit.fence is not None:
            store.seats.release(commit.fence.resource)
        case Revoke():
            store.seats.revoke(write.resource)
        case Release() | Require():
            pass
        case _:
            assert_never(write)


def _put(store: Store, commit: Commit, put: Put, now: Ms) -> None:
    """Write the record; the spec is the one it was created with."""
    row = store.row(put.kind, put.after.id)
    created_by = commit.commit_id if row is None else row.created_by
    spec = put.after.spec if row is None else row.record.spec
    version = UNWRITTEN if row is None else row.record.header.version
    after = with_header(put.after, spec=spec, version=version.next(commit.commit_id))
    store.put(put.kind, _resolved(after, now), created_by)


def with_header(record: Record, *, spec: bytes, **changes: Any) -> Record:
    """Return the record with this spec and with changes of its header."""
    header = evolve(cast("Any", record.header), **changes)
    return cast("Record", evolve(cast("Any", record), header=header, spec=spec))


def _resolved(record: Record, now: Ms) -> Record:
    """Turn a duration until the job is due into a point in time."""
    if isinstance(record, JobRecord) and isinstance(due := record.header.run_after, After):
        return with_header(record, spec=record.spec, run_after=At(later(now, due.ms)))
    return record


def _write_once(store: Store, commit: Commit, write: WriteOnce, now: Ms) -> None:
    entry = evolve(
        write.entry,
        seq=store.next_seq(write.scope),
        at=now,
        token=Token(0) if commit.fence is None else commit.fence.token,
        written_by=commit.commit_id,
    )
    store.append(write.scope, entry)
