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
from typing import Final, assert_never

from nodeagent import (
    BackendError,
    Commit,
    Committed,
    EntryKey,
    Fence,
    JobRecord,
    Ms,
    PortError,
    Put,
    Release,
    Require,
    Revoke,
    Seq,
    Write,
    WriteOnce,
    encode_key,
)
from nodeagent_sqlite import journal, leases, refusals, statements
from nodeagent_sqlite.connection import SqliteConnection
from nodeagent_sqlite.limits import check_commit
from nodeagent_sqlite.names import text_of
from nodeagent_sqlite.records import KINDS, Columns, due_ms, is_fixed_as_before
from nodeagent_sqlite.refusals import Refused
from nodeagent_sqlite.writer import Atom, undone_if_refused

SQL: Final = statements.load("records")
APPEND: Final = journal.SQL["append"]
APPEND_FENCED: Final = journal.SQL["append_fenced"]
CHUNK: Final = 256
"""How many commits of a ``commit_many`` share one transaction."""

Answer = Committed | PortError | BackendError


class SqliteTransactions:
    """Atomic, fenced, repeatable writes."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._connection = connection
        self._namespace_id = connection.namespace_id
        self._clock = connection.clock

    def commit(self, commit: Commit) -> Committed:
        """Apply all writes of ``commit`` or none; then send its hints, a duplicate's once more."""
        check_commit(commit)
        answer = self._connection.database.write(self._atom(commit))
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
            answers = self._connection.database.write(lambda c: [self._answer(c, x) for x in commits])
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

    def _answer(self, connection: sqlite3.Connection, commit: Commit) -> Answer:
        try:
            check_commit(commit)
            return self._atom(commit)(connection)
        except (PortError, BackendError) as error:
            return error

    def _atom(self, commit: Commit) -> Atom[Committed]:
        return functools.partial(self._perform, commit)

    def _perform(self, commit: Commit, connection: sqlite3.Connection) -> Committed:
        if commit.fence is not None and len(commit.writes) == 1:
            write = commit.writes[0]
            if isinstance(write, WriteOnce):
                seq = self._step(connection, commit, commit.fence, write)
                if seq is not None:
                    return Committed(duplicate=False, fence_holds=True, seqs=(seq,))
        return self._in_general(commit, connection)

    def _step(self, connection: sqlite3.Connection, commit: Commit, fence: Fence, write: WriteOnce) -> Seq | None:
        """Write one fenced entry with one statement, or nothing: then return None and let it be explained."""
        entry = write.entry
        row = (
            self._namespace_id,
            text_of(write.scope),
            text_of(fence.resource),
            fence.claim_id,
            encode_key(entry.key),
            entry.kind,
            entry.attempt,
            self._clock.now(),
            fence.token,
            commit.commit_id,
            *journal.columns_of(entry),
        )
        try:
            place = connection.execute(APPEND_FENCED, row).lastrowid
        except sqlite3.IntegrityError:
            return None
        return Seq((place or 0) & journal.SEQ_MASK)

    def _in_general(self, commit: Commit, connection: sqlite3.Connection) -> Committed:
        work = _Work(connection, self._namespace_id, commit, self._clock.now())
        try:
            return undone_if_refused(connection, work.apply)
        except (Refused, sqlite3.IntegrityError) as refusal:
            # A constraint that failed for another reason than a taken key is explained by nothing.
            return refusals.explain(connection, self._namespace_id, commit, refusal)


class _Work:
    """One commit being written; raises :class:`Refused` or IntegrityError where a precondition does not hold."""

    def __init__(self, connection: sqlite3.Connection, namespace_id: int, commit: Commit, now: Ms) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._commit = commit
        self._now = now
        self._seqs: list[Seq] = []

    def apply(self) -> Committed:
        """Write everything."""
        fence = self._commit.fence
        if fence is not None and not leases.holds(self._connection, self._namespace_id, fence):
            raise Refused
        for write in self._commit.writes:
            self._write(write)
        is_held = None if fence is None else not any(isinstance(w, Release) for w in self._commit.writes)
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
                self._release()
            case Revoke():
                leases.revoke(self._connection, self._namespace_id, write.resource)
            case _:
                assert_never(write)

    def _append(self, write: WriteOnce) -> Seq:
        entry, fence = write.entry, self._commit.fence
        row = (
            self._namespace_id,
            text_of(write.scope),
            encode_key(entry.key),
            entry.kind,
            entry.attempt,
            self._now,
            0 if fence is None else fence.token,
            self._commit.commit_id,
            *journal.columns_of(entry),
        )
        cursor = self._connection.execute(APPEND, row)
        if cursor.rowcount != 1:
            self._connection.execute(journal.SQL["add_scope"], row[:2])
            cursor = self._connection.execute(APPEND, row)
        return Seq((cursor.lastrowid or 0) & journal.SEQ_MASK)

    def _put(self, put: Put) -> None:
        kind = KINDS[put.kind]
        columns = kind.columns(put.after.header)
        columns |= {
            "namespace_id": self._namespace_id,
            "written_by": self._commit.commit_id,
            "state": put.after.state,
        }
        if isinstance(put.after, JobRecord):
            columns["run_after"] = due_ms(put.after.header.run_after, self._now)
        if put.before is None:
            self._insert(put, columns)
        else:
            verb = "update" if is_fixed_as_before(kind, put.before, put.after) else "rewrite"
            expected = put.before.header.version
            columns |= {
                "expected_revision": expected.revision,
                "expected_writer": expected.written_by,
            }
            if self._connection.execute(SQL[f"{verb}_{put.kind}"], columns).rowcount != 1:
                raise Refused

    def _insert(self, put: Put, columns: Columns) -> None:
        spec_id = self._connection.execute(SQL["insert_spec"], (put.after.spec,)).lastrowid
        columns |= {"revision": 1, "created_by": self._commit.commit_id, "spec_id": spec_id}
        self._connection.execute(SQL[f"insert_{put.kind}"], columns)

    def _require(self, require: Require) -> None:
        if isinstance(require.key, EntryKey):
            found = refusals.entry_row(self._connection, self._namespace_id, require.key)
            if found is not None:
                raise Refused
            return
        row = refusals.header_row(self._connection, self._namespace_id, require.kind, require.key)
        if refusals.version_of(require.kind, row) != require.expected:
            raise Refused

    def _release(self) -> None:
        fence = self._commit.fence
        if fence is None or not leases.release(self._connection, self._namespace_id, fence):
            raise Refused
