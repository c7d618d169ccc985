"""Looking for rows that nobody can read or that contradict each other, in bounded time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Any, Final

from attrs import define, field

from nodeagent import Check, Corrupt
from nodeagent_sqlite import statements
from nodeagent_sqlite.records import FRAME, JOB, MESSAGE, RUN, Kind

SQL: Final = statements.load("rows")
SECONDS: Final = 1.5
"""How long each of the four tables is looked at; youngest rows first."""
MOST_ROWS: Final = 200_000
"""How many rows of each are looked at."""
MOST_NAMED: Final = 10
BATCH: Final = 50
"""Rows of one statement: what others write meanwhile has to be kept apart no longer than that."""
_ABOVE_ALL: Final = 2**63 - 1
_TABLES: Final[tuple[Kind[Any, Any], ...]] = (JOB, FRAME, RUN, MESSAGE)
_REMEDY: Final = (
    'restore what is damaged from a back-up; what ended goes with its job in "nodeagent purge"; where only leases'
    ' do not fit, stop the workers and run "nodeagent restored --yes"'
)


@define
class _Found:
    """What was looked at, what is wrong, and which tables were too long."""

    rows: int = 0
    bad: int = 0
    named: list[str] = field(factory=list)
    cut: list[str] = field(factory=list)

    def note(self, kind: str, name: str, namespace: str | None, fault: str) -> None:
        self.bad += 1
        if len(self.named) < MOST_NAMED:
            self.named.append(f"{kind} {name!r:.100} of {namespace!r:.100} {fault}")


def check(connection: sqlite3.Connection) -> Check:
    """Read the rows of every namespace as ports do, and compare jobs with their frames and leases."""
    found = _Found()
    for kind in _TABLES:
        _look_at(connection, kind, found)
    seen = f"{found.rows:,} looked at"
    if found.cut:
        seen += f"; older ones were not, because there are too many {' and '.join(found.cut)}"
    if not found.bad:
        return Check(name="rows", status="ok", found=f"nothing is wrong with any of {seen}")
    named = "; ".join(found.named)
    more = f"; and {found.bad - len(found.named):,} more" if found.bad > len(found.named) else ""
    return Check(name="rows", status="failed", found=f"{found.bad:,} of {seen}: {named}{more}", remedy=_REMEDY)


def _look_at(connection: sqlite3.Connection, kind: Kind[Any, Any], found: _Found) -> None:
    deadline = time.monotonic() + SECONDS
    for count, (namespace, _, fault, *row) in enumerate(_youngest_first(connection, f"{kind.name}s")):
        if count >= MOST_ROWS or time.monotonic() >= deadline:
            found.cut.append(f"{kind.name}s")
            return
        found.rows += 1
        wrong = fault if _is_readable(kind, tuple(row)) else "is damaged"
        if wrong is not None:
            found.note(kind.name, row[0], namespace, wrong)


def _youngest_first(connection: sqlite3.Connection, table: str) -> Iterator[tuple[Any, ...]]:
    below = _ABOVE_ALL
    while True:
        count = 0
        for row in connection.execute(SQL[table], (below, BATCH)):
            yield row
            count, below = count + 1, row[1]
        if count < BATCH:
            return


def _is_readable(kind: Kind[Any, Any], row: tuple[Any, ...]) -> bool:
    try:
        kind.whole(row)
    except Corrupt:
        return False
    return True
