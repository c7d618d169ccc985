"""Why a commit was refused, in the order of the contract: anchors, fence, preconditions in write order.

This only reads, in the transaction that refused, after what the commit had written was undone.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final

from nodeagent import (
    Commit,
    Committed,
    Conflict,
    Corrupt,
    EntryKey,
    Fenced,
    Put,
    Require,
    Revision,
    Seq,
    Version,
    WriteOnce,
    anchors,
    encode_key,
)
from nodeagent_sqlite import journal, leases, statements
from nodeagent_sqlite.records import KINDS

SQL: Final = statements.load("records")

Row = tuple[Any, ...]


class Refused(Exception):
    """A precondition did not hold; which one is found out afterwards."""


def explain(connection: sqlite3.Connection, namespace_id: int, commit: Commit, cause: Exception) -> Committed:
    """Return the answer to a duplicate, or raise what the contract says."""
    asked = _Question(connection, namespace_id, commit)
    if asked.is_duplicate():
        return asked.duplicate()
    asked.check_fence()
    for write in commit.writes:
        if isinstance(write, Put):
            asked.check_put(write)
        elif isinstance(write, WriteOnce):
            asked.check_free(write.key)
        elif isinstance(write, Require):
            asked.check_require(write)
    raise Corrupt(
        f"commit {commit.commit_id!r} should be refused for a reason, but the store contradicts itself;"
        ' check the file with "nodeagent doctor"'
    ) from cause


def header_row(connection: sqlite3.Connection, namespace_id: int, kind: str, name: str) -> Row | None:
    """Return the header's columns of a record."""
    row: Row | None = connection.execute(SQL[f"head_{kind}"], (namespace_id, name)).fetchone()
    return row


def version_of(kind: str, row: Row | None) -> Version | None:
    """Return the version in a header's columns, without judging the others."""
    if row is None:
        return None
    start = 1 if kind == "job" else 2
    return Version(Revision(row[start]), row[start + 1])


def entry_row(connection: sqlite3.Connection, namespace_id: int, key: EntryKey) -> tuple[str, int] | None:
    """Return who wrote an entry and its seq."""
    name = (namespace_id, encode_key(key.scope), encode_key(key.key))
    row: tuple[str, int] | None = connection.execute(journal.SQL["find"], name).fetchone()
    return row


class _Question:
    """One refused commit, and the store that refused it."""

    def __init__(self, connection: sqlite3.Connection, namespace_id: int, commit: Commit) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._commit = commit

    def is_duplicate(self) -> bool:
        """Say whether every anchor's row was written by this commit."""
        mine = {self._writer(each) == self._commit.commit_id for each in anchors(self._commit)}
        if len(mine) > 1:
            raise Corrupt(
                f"of the anchors of commit {self._commit.commit_id!r} some were written by it, others"
                " not; the store lost part of a commit, restore it from a back-up"
            )
        return mine == {True}

    def _writer(self, anchor: Put | WriteOnce) -> str | None:
        if isinstance(anchor, WriteOnce):
            row: Any = entry_row(self._connection, self._namespace_id, anchor.key)
        else:
            name = (self._namespace_id, anchor.after.id)
            row = self._connection.execute(SQL[f"creator_of_{anchor.kind}"], name).fetchone()
        return None if row is None else str(row[0])

    def duplicate(self) -> Committed:
        """Return what was answered the first time, and whether the fence holds now."""
        fence = self._commit.fence
        keys = [write.key for write in self._commit.writes if isinstance(write, WriteOnce)]
        rows = [entry_row(self._connection, self._namespace_id, key) for key in keys]
        held = None if fence is None else leases.holds(self._connection, self._namespace_id, fence)
        seqs = tuple(Seq(row[1]) for row in rows if row is not None)
        return Committed(duplicate=True, fence_holds=held, seqs=seqs)

    def check_fence(self) -> None:
        """Raise Fenced if the fence does not hold."""
        fence = self._commit.fence
        if fence is None or leases.holds(self._connection, self._namespace_id, fence):
            return
        mark, reason = leases.loss(self._connection, self._namespace_id, fence)
        raise Fenced(fence.resource, fence.token, mark, reason)

    def check_put(self, put: Put) -> None:
        """Raise Conflict if the version does not match, or Corrupt if only the holder can have written."""
        row = header_row(self._connection, self._namespace_id, put.kind, put.after.id)
        is_held = self._commit.fence is not None and put.before is not None
        if is_held and version_of(put.kind, row) != put.expected:
            raise Corrupt(
                f"the {put.kind} {put.after.id!r} was written by somebody else while a lease was held,"
                " though only its holder may; look for a writer that bypasses the contract"
            )
        self._check_version(put.kind, put.after.id, put.expected, row)

    def check_require(self, require: Require) -> None:
        """Raise Conflict if what is required is not so."""
        if isinstance(require.key, EntryKey):
            self.check_free(require.key)
        else:
            row = header_row(self._connection, self._namespace_id, require.kind, require.key)
            self._check_version(require.kind, require.key, require.expected, row)

    def check_free(self, key: EntryKey) -> None:
        """Raise Conflict, with the winner, if an entry is there."""
        name = (self._namespace_id, encode_key(key.scope), encode_key(key.key))
        row = self._connection.execute(journal.SQL["get"], name).fetchone()
        if row is not None:
            raise Conflict("written", key, found=journal.entry_of(row, key.scope))

    def _check_version(self, kind: str, name: str, expected: Version | None, row: Row | None) -> None:
        if version_of(kind, row) == expected:
            return
        header = None if row is None else KINDS[kind].header(row)
        if expected is None:
            raise Conflict("exists", name, found=header)
        raise Conflict("missing" if header is None else "revision", name, expected=expected, found=header)
