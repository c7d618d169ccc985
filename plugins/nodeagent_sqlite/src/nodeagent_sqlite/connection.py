"""One open backend: the file, checked, and the number of its namespace."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self, cast

from attrs import evolve

from nodeagent import Capabilities, Clock, Connection, Corrupt, HostClock, Ms, Unavailable
from nodeagent_sqlite import filesystem, schema, statements
from nodeagent_sqlite.database import Database, connect
from nodeagent_sqlite.faults import translated
from nodeagent_sqlite.limits import LIMITS
from nodeagent_sqlite.remarks import Remarks
from nodeagent_sqlite.settings import SqliteSettings
from nodeagent_sqlite.waiting import patiently
from nodeagent_sqlite.wakeups import Post
from nodeagent_sqlite.writer import undone_if_refused

_SQL: Final = statements.load("schema")
_WAL: Final = "wal"
_FULL: Final = 2


class SqliteConnection:
    """A handle on one namespace of a file. Ports share it, threads too, and a forked child may go on with it."""

    def __init__(self, database: Database, clock: Clock, namespace_id: int, post: Post, *, durable: bool) -> None:
        self.database = database
        self.clock = clock
        self.namespace_id = namespace_id
        self.post = post
        self.remarks = Remarks()
        self._capabilities = evolve(LIMITS, durable=durable)

    @property
    def capabilities(self) -> Capabilities:
        """What this connection promises."""
        return self._capabilities

    def now(self) -> Ms:
        """Return the time of the given clock or of this computer, which is the store's."""
        return self.clock.now()

    def close(self) -> None:
        """End the subscriptions and close the file."""
        self.post.close()
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def own(connection: Connection) -> SqliteConnection:
    """Return a connection of this provider's; it is given no other."""
    if not isinstance(connection, SqliteConnection):
        raise TypeError(f"expected a SqliteConnection, found {type(connection).__name__}")
    return connection


def open_connection(
    settings: SqliteSettings, namespace: str, clock: Clock | None, ports: Sequence[str]
) -> SqliteConnection:
    """Make the file if it is missing, check it, bring a new one to the current schema, and open it.

    With ``maintenance`` as the only port an older schema is no hindrance: it is there to be migrated.
    """
    path = _path(settings)
    filesystem.refuse_network(path)
    filesystem.make_file(path)
    database = Database(path, settings.busy_timeout_ms)
    is_durable = _prepare(database)
    is_workable = _check_schema(database, may_be_older=tuple(ports) == ("maintenance",))
    namespace_id = _number(database, namespace) if is_workable else 0
    post = Post(path, namespace, settings.wake_folder)
    return SqliteConnection(database, clock or HostClock(), namespace_id, post, durable=is_durable)


def _path(settings: SqliteSettings) -> Path:
    if settings.path.name == ":memory:":
        raise Unavailable(
            "the path should be a file, but is ':memory:', which no other thread or process sees;"
            ' choose provider "memory" for a store that is not kept'
        )
    return settings.path.expanduser().absolute()


def _prepare(database: Database) -> bool:
    """Switch a new file to WAL, which it stays in; return whether every commit is synced."""
    deadline = time.monotonic() + database.busy_timeout
    try:
        connection = connect(database.path, deadline)
        try:
            patiently(lambda: schema.refuse_strangers(connection, database.path), deadline)
            mode = patiently(lambda: _pragma(connection, "PRAGMA journal_mode = WAL"), deadline)
            synchronous = _pragma(connection, "PRAGMA synchronous")
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise translated(error, database.path) from error
    if mode != _WAL:
        raise Unavailable(
            f"the journal of {database.path!r} should be in WAL mode, but SQLite keeps it in {mode!r};"
            " choose a path on an ordinary local disk"
        )
    return synchronous == _FULL


def _pragma(connection: sqlite3.Connection, pragma: str) -> object:
    return connection.execute(pragma).fetchone()[0]


def _check_schema(database: Database, *, may_be_older: bool) -> bool:
    """Bring a new file to the current schema; return whether the schema can be worked with."""
    found = database.read(schema.status)
    if found.found is None:
        database.write(_set_up)
        found = database.read(schema.status)
    if may_be_older and found.found is not None and found.found <= found.wanted:
        return not found.pending
    schema.refuse_mismatch(found, database.path)
    return True


def _set_up(connection: sqlite3.Connection) -> None:
    """Apply every migration to a file that is still new now that the write lock is held."""
    if schema.is_new(connection):
        undone_if_refused(connection, lambda: schema.migrate(connection, "pre"))
        undone_if_refused(connection, lambda: schema.migrate(connection, "post"))


def _number(database: Database, namespace: str) -> int:
    found = database.read(lambda c: c.execute(_SQL["find_namespace"], (namespace,)).fetchone())
    if found is None:
        database.write(lambda c: c.execute(_SQL["add_namespace"], (namespace,)))
        found = database.read(lambda c: c.execute(_SQL["find_namespace"], (namespace,)).fetchone())
    if found is None:
        raise Corrupt(f"{database.path!r} does not keep the name of a namespace; restore a back-up")
    return cast("int", found[0])
