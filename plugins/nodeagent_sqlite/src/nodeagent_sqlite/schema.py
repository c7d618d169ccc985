"""Which migrations a file has had, and applying the others.

A migration is a file ``sql/NNNN_name.pre.sql`` (applied before the code is upgraded: old code must work with its
result) or ``….post.sql`` (after it). Each is one transaction together with its row in ``nodeagent_migrations``, so a
process that is killed half-way leaves a file that the next one goes on with.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Final, Literal

from attrs import frozen

from nodeagent import SchemaMismatch, SchemaStatus
from nodeagent_sqlite import statements

Phase = Literal["pre", "post"]

_SQL: Final = statements.load("schema")


@frozen
class Migration:
    """One script of this package."""

    number: int
    name: str
    phase: str
    script: str


def migrations() -> tuple[Migration, ...]:
    """Return this package's scripts, in order."""
    return tuple(
        Migration(int(file[:4]), file.split(".")[0], file.split(".")[1], text)
        for file, text in statements.scripts().items()
    )


def status(connection: sqlite3.Connection) -> SchemaStatus:
    """Compare the file's schema with this package's."""
    ours = migrations()
    done = _applied(connection)
    return SchemaStatus(
        found=max(done, default=None),
        wanted=ours[-1].number,
        pending=tuple(f"{m.name}.{m.phase}" for m in ours if m.number not in done),
    )


def refuse_mismatch(found: SchemaStatus, path: str) -> None:
    """Raise :class:`SchemaMismatch` unless this version of the plugin can work with the file."""
    if found.found is not None and found.found > found.wanted:
        raise SchemaMismatch(
            f"the schema of {path!r} should be {found.wanted}, but is {found.found}, which a newer"
            " nodeagent-sqlite made; install that version",
            found=found.found,
            wanted=found.wanted,
        )
    if any(name.endswith(".pre") for name in found.pending):
        raise SchemaMismatch(
            f"the schema of {path!r} should be {found.wanted}, but is {found.found}; run"
            ' "nodeagent migrate" and start again',
            found=found.found,
            wanted=found.wanted,
        )


def refuse_strangers(connection: sqlite3.Connection, path: str) -> None:
    """Raise :class:`SchemaMismatch` if the file is another application's database."""
    if not is_new(connection) and not _applied(connection):
        raise SchemaMismatch(
            f"{path!r} should be a nodeagent database or a new file, but holds another application's"
            " tables; choose another path",
            found=None,
            wanted=migrations()[-1].number,
        )


def is_new(connection: sqlite3.Connection) -> bool:
    """Say whether nothing was ever created in the file."""
    (objects,) = connection.execute(_SQL["count_objects"]).fetchone()
    return bool(objects == 0)


def migrate(connection: sqlite3.Connection, phase: Phase) -> None:
    """Apply what is pending of this phase, one migration at a time. The write lock is held, in a transaction."""
    connection.execute(_SQL["create_migrations"])
    done = _applied(connection)
    for migration in migrations():
        if migration.phase == phase and migration.number not in done:
            for statement in split(migration.script):
                connection.execute(statement)
            row = (migration.number, migration.name, migration.phase, time.time_ns() // 1_000_000)
            connection.execute(_SQL["record_migration"], row)


def split(script: str) -> Iterator[str]:
    """Yield a script's statements; ``executescript`` would commit before it begins."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""


def _applied(connection: sqlite3.Connection) -> frozenset[int]:
    if connection.execute(_SQL["find_migrations"]).fetchone() is None:
        return frozenset()
    return frozenset(number for (number,) in connection.execute(_SQL["applied_migrations"]))
