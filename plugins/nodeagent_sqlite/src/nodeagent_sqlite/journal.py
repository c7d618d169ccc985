"""The journal: rows and entries, and the reading side."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from nodeagent import (
    Corrupt,
    Cursor,
    Entry,
    Inline,
    Invalid,
    Key,
    Page,
    Scope,
    Seq,
    Stored,
    Value,
    decode_key,
    encode_key,
)
from nodeagent_sqlite import statements
from nodeagent_sqlite.connection import SqliteConnection

SQL: Final = statements.load("journal")
SEQ_MASK: Final = 2**30 - 1
"""A place in the table is the scope's number shifted by 30 bits, and the seq."""

Row = tuple[Any, ...]


class SqliteJournal:
    """Entries of a scope, in order."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._database = connection.database
        self._namespace_id = connection.namespace_id

    def get(self, scope: Scope, key: Key) -> Entry | None:
        """Return the entry, or None. Raises Corrupt if it is there but unreadable."""
        name = (self._namespace_id, encode_key(scope), encode_key(key))
        row = self._database.read(lambda c: c.execute(SQL["get"], name).fetchone())
        return None if row is None else entry_of(row, scope)

    def read(self, scope: Scope, after: Seq, limit: int) -> Page[Entry]:
        """Return up to ``limit`` entries with ``seq > after``, in order of ``seq``.

        One statement sees one state of the file, so a hole in it is not somebody's write under way: a row is lost,
        and the scope is :class:`Corrupt`.
        """
        asked = (self._namespace_id, encode_key(scope), min(after, SEQ_MASK), limit + 1)
        rows = self._database.read(lambda c: c.execute(SQL["read"], asked).fetchall())
        if [row[0] for row in rows] != list(range(after + 1, after + 1 + len(rows))):
            raise _corrupt(scope, "has a hole")
        entries = tuple(entry_of(row, scope) for row in rows[:limit])
        following = Cursor(str(after + limit)) if len(rows) > limit else None
        return Page(items=entries, next=following)


def entry_of(row: Row, scope: Scope) -> Entry:
    """Return the entry that a row is. Raises Corrupt if it is none."""
    seq, key, kind, attempt, at, token, written_by, sha256, size, ref, data = row
    try:
        return Entry(
            key=decode_key(key),
            kind=kind,
            value=_value(sha256, size, ref, data),
            sha256=sha256,
            attempt=attempt,
            seq=seq,
            at=at,
            token=token,
            written_by=written_by,
        )
    except (Invalid, Corrupt, TypeError, ValueError) as error:
        raise _corrupt(scope, f"is unreadable at its entry {seq}") from error


def _value(sha256: str, size: int, ref: str | None, data: bytes | None) -> Value:
    if data is None:
        return Stored(ref=ref, sha256=sha256, size=size)  # type: ignore[arg-type]  # it validates
    if ref is not None or len(data) != size or hashlib.sha256(data).hexdigest() != sha256:
        raise ValueError("the bytes are not the ones that were written")
    return Inline(data)


def columns_of(entry: Entry) -> tuple[str, int, str | None, bytes | None]:
    """Return how an entry's value is stored: sha256, size, ref and data."""
    value = entry.value
    if isinstance(value, Inline):
        return (entry.sha256, len(value.data), None, value.data)
    return (entry.sha256, value.size, value.ref, None)


def _corrupt(scope: Scope, what: str) -> Corrupt:
    return Corrupt(f"the journal scope {tuple(scope)!r:.200} should be whole, but {what}; restore it from a back-up")
