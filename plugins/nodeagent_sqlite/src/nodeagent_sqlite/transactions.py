"""The one door for writes.

A commit is written first, under the fence's check, and a refusal is explained afterwards: every statement carries
its own precondition (a unique index, a version, the fence), so that the usual commit pays for no question
whose answer is yes. When one says no, what was written is undone and the contract's order decides what the
caller is told: anchors, fence, preconditions in write order (:mod:`nodeagent_sqlite.refusals`).
"""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, assert_never

from nodeagent import (
    BackendError,
    Commit,
    Committed,
    EntryKey,
    JobHeader,
    Ms,
    PortError,
    Put,
    Record,
    Release,
    Require,
    Resource,
    Revoke,
    Scope,
    Seq,
    Write,
    WriteOnce,
    encode_key,
)
from nodeagent_sqlite import journal, leases, refusals, statements
from nodeagent_sqlite.connection import SqliteConnection
from nodeagent_sqlite.limits import check_commit
from nodeagent_sqlite.names import REMEMBERED, text_of
from nodeagent_sqlite.records import KINDS, Kind, Row, due_ms
from nodeagent_sqlite.refusals import Refused
from nodeagent_sqlite.writer import undone_if_refused

SQL: Final = statements.load("records")
APPEND: Final = journal.SQL["append"]
APPEND_FENCED: Final = journal.SQL["append_fenced"]
ADD_SCOPE_FENCED: Final = journal.SQL["add_scope_fenced"]
CHUNK: Final = 256
"""How many commits of a ``commit_many`` share one transaction."""

Answer = Committed | PortError | BackendError


class SqliteTransactions:
    """Atomic, fenced, repeatable writes."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._namespace_id = connection.namespace_id
        self._clock = connection.clock
        self._scopes: set[str] = set()
        """Scopes that a step has named before, so that they are there, most likely."""

    def commit(self, commit: Commit) -> Committed:
        """Apply all writes of ``commit`` or none; then send its hints, a duplicate's once more."""
        check_commit(commit)
        atom = functools.partial(self._explained, commit)
        bold = None if _is_step(commit) else functools.partial(self._perform, commit)
        answer = self._connection.database.write(atom, bold)
        if commit.wake:
            self._connection.post.send(commit.wake)
        return answer

    def commit_many(self, commits: Sequence[Commit]) -> Sequence[Answer]:
        """Apply independent commits, many to a transaction, and answer in their order."""
        answers: list[Answer] = []
        for start in range(0, len(commits), CHUNK):
            answers += self._together(commits[start : start + CHUNK])
        return answers

    def _together(self, commits: Sequence[Commit]) -> list[Answer]:
        try:
            answers = self._connection.database.write(
                lambda connection: [self._answer(each, connection) for each in commits],
                bold=lambda connection: [self._checked(each, connection) for each in commits],
            )
        except BackendError as error:
            return [error for _ in commits]
        wakes = [
            wake
            for commit, answer in zip(commits, answers, strict=True)
            if isinstance(answer, Committed)
            for wake in commit.wake
        ]
        self._connection.post.send(tuple(dict.fromkeys(wakes)))
        return answers

    def _answer(self, commit: Commit, connection: sqlite3.Connection) -> Answer:
        try:
            check_commit(commit)
            return self._explained(commit, connection)
        except (PortError, BackendError) as error:
            return error

    def _checked(self, commit: Commit, connection: sqlite3.Connection) -> Answer:
        check_commit(commit)
        return self._perform(commit, connection)

    def _explained(self, commit: Commit, connection: sqlite3.Connection) -> Committed:
        """Perform a commit; if it is refused, undo what it wrote and say why."""
        try:
            if _is_step(commit):
                return self._perform(commit, connection)
            return undone_if_refused(connection, lambda: self._perform(commit, connection))
        except (Refused, sqlite3.IntegrityError) as refusal:
            # A constraint that failed for another reason than a taken key is explained by nothing.
            return refusals.explain(connection, self._namespace_id, commit, refusal)

    def _perform(self, commit: Commit, connection: sqlite3.Connection) -> Committed:
        """Write everything; whoever calls this undoes it if it raises, unless it is a step."""
        if _is_step(commit):
            return self._step(commit, connection)
        return _Work(connection, self._namespace_id, commit, self._clock.now()).apply()

    def _step(self, commit: Commit, connection: sqlite3.Connection) -> Committed:
        """Write one fenced entry with one statement, and one before if its scope is new."""
        (write,), fence = commit.writes, commit.fence
        assert isinstance(write, WriteOnce)  # noqa: S101 - for the type checker
        assert fence is not None  # noqa: S101 - for the type checker
        entry = write.entry
        row = (
            self._namespace_id,
            text_of(write.scope),
            text_of(fence.resource),
            fence.claim_id,
            fence.token,
            encode_key(entry.key),
            entry.kind,
            entry.attempt,
            self._clock.now(),
            commit.commit_id,
            *journal.columns_of(entry),
        )
        is_added = row[1] not in self._scopes and self._add_scope(connection, row[:5])
        try:
            place = connection.execute(APPEND_FENCED, row).lastrowid
        except sqlite3.IntegrityError:
            # The scope may have been purged since it was seen.
            if is_added or not self._add_scope(connection, row[:5]):
                raise
            place = connection.execute(APPEND_FENCED, row).lastrowid
        return Committed(duplicate=False, fence_holds=True, seqs=(Seq((place or 0) & journal.SEQ_MASK),))

    def _add_scope(self, connection: sqlite3.Connection, row: Row) -> bool:
        """Add a scope if it is new and the fence holds; say whether it was added."""
        if len(self._scopes) >= REMEMBERED:
            self._scopes.clear()
        self._scopes.add(row[1])
        return connection.execute(ADD_SCOPE_FENCED, row).rowcount == 1


def _is_step(commit: Commit) -> bool:
    """Say whether a commit is one fenced entry, which leaves nothing behind when it is refused."""
    return len(commit.writes) == 1 and commit.fence is not None and isinstance(commit.writes[0], WriteOnce)


class _Work:
    """One commit being written; raises :class:`Refused` or IntegrityError where a precondition does not hold."""

    def __init__(self, connection: sqlite3.Connection, namespace_id: int, commit: Commit, now: Ms) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._commit = commit
        self._now = now
        self._seqs: list[Seq] = []
        self._scopes: dict[Scope, int] = {}
        self._ended = _ended(commit)
        """The resources whose leases end here, without the jobs that were written to be free."""

    def apply(self) -> Committed:
        """Write everything."""
        fence = self._commit.fence
        is_held = None if fence is None else fence.resource not in self._ended
        if fence is not None:
            check = leases.holds if is_held else leases.release
            if not check(self._connection, self._namespace_id, fence):
                raise Refused
        for write in self._commit.writes:
            self._write(write)
        for resource in self._ended:
            leases.free_job(self._connection, self._namespace_id, resource)
        return Committed(duplicate=False, fence_holds=is_held, seqs=tuple(self._seqs))

    def _write(self, write: Write) -> None:
        match write:
            case WriteOnce():
                self._seqs.append(self._append(write))
            case Put():
                self._put(write)
            case Require():
                self._require(write)
            case Release():
                pass  # the fence's check has ended it
            case Revoke():
                leases.revoke(self._connection, self._namespace_id, write.resource)
            case _:
                assert_never(write)

    def _append(self, write: WriteOnce) -> Seq:
        entry, fence = write.entry, self._commit.fence
        row = (
            self._scope(write.scope),
            encode_key(entry.key),
            entry.kind,
            entry.attempt,
            self._now,
            0 if fence is None else fence.token,
            self._commit.commit_id,
            *journal.columns_of(entry),
        )
        place = self._connection.execute(APPEND, row).lastrowid
        return Seq((place or 0) & journal.SEQ_MASK)

    def _scope(self, scope: Scope) -> int:
        """Return the number of a scope, given to it now if it is new."""
        number = self._scopes.get(scope)
        if number is None:
            name = (self._namespace_id, text_of(scope))
            known = self._connection.execute(journal.SQL["scope"], name).fetchone()
            number = known[0] if known else self._connection.execute(journal.SQL["add_scope"], name).lastrowid or 0
            self._scopes[scope] = number
        return number

    def _put(self, put: Put) -> None:
        kind = KINDS[put.kind]
        if put.before is None:
            self._insert(kind, put.after)
        else:
            self._update(kind, put.before, put.after)

    def _insert(self, kind: Kind[Any, Any], after: Record) -> None:
        header = after.header
        spec_id = self._connection.execute(SQL["insert_spec"], (after.spec,)).lastrowid
        name = (self._namespace_id, after.id, self._commit.commit_id, after.state, header.spec_digest, spec_id)
        own = due_ms(header.run_after, self._now) if isinstance(header, JobHeader) else encode_key(after.owner)
        self._connection.execute(SQL[f"insert_{kind.name}"], (*name, own, *kind.living(header), *kind.fixed(header)))

    def _update(self, kind: Kind[Any, Any], before: Record, after: Record) -> None:
        header, read = after.header, before.header.version
        name = (self._namespace_id, after.id, self._commit.commit_id, after.state, read.revision, read.written_by)
        own: Row = ()
        if isinstance(header, JobHeader):
            own = (int(after.owner not in self._ended), due_ms(header.run_after, self._now))
            self._ended.discard(after.owner)
        row = (*name, *own, *kind.living(header))
        fixed = kind.fixed(header)
        if fixed == kind.fixed(before.header):
            cursor = self._connection.execute(SQL[f"update_{kind.name}"], row)
        else:
            cursor = self._connection.execute(SQL[f"rewrite_{kind.name}"], row + fixed)
        if cursor.rowcount != 1:
            raise Refused

    def _require(self, require: Require) -> None:
        if isinstance(require.key, EntryKey):
            found = refusals.entry_row(self._connection, self._namespace_id, require.key)
            if found is not None:
                raise Refused
            return
        row = refusals.header_row(self._connection, self._namespace_id, require.kind, require.key)
        if refusals.version_of(require.kind, row) != require.expected:
            raise Refused


def _ended(commit: Commit) -> set[Resource]:
    """Return the resources whose leases a commit ends."""
    ended = {write.resource for write in commit.writes if isinstance(write, Revoke)}
    if commit.fence is not None and any(isinstance(write, Release) for write in commit.writes):
        ended.add(commit.fence.resource)
    return ended
