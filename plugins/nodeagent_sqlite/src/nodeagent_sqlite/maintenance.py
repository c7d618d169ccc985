"""The operator's verbs: schema, retention, and what follows a restored back-up."""

from __future__ import annotations

import sqlite3
from typing import Any, Final, Literal

from attrs import define, evolve

from nodeagent import Ms, Owner, Purged, SchemaStatus, encode_key
from nodeagent_sqlite import schema, statements
from nodeagent_sqlite.connection import SqliteConnection

SQL: Final = statements.load("maintenance")
BATCH: Final = 100
"""How many owners one transaction removes: others write in between."""
LOST_WRITES: Final = 2**20
"""More claims than a back-up can lack of any one resource, should the clock stand still."""
ARTIFACT_GRACE_MS: Final = 24 * 60 * 60 * 1000
"""How long after its last put an artifact is kept whatever refers to it: the commit that will may be under way."""
_OWNED: Final = ("frames", "runs", "messages")
_TABLES: Final = ("bytes", "artifacts", "entries", "scopes", "specs", "jobs", "frames", "runs", "messages")


@define
class _Purge:
    """What was removed so far."""

    namespace_id: int
    has_more: bool = True
    found: int = 0
    jobs: int = 0
    runs: int = 0
    entries: int = 0
    artifacts: int = 0

    def remove(self, connection: sqlite3.Connection, row: tuple[Any, ...]) -> None:
        """Remove an owner (when it ended, its kind, its id) or an artifact (its number)."""
        self.found += 1
        if len(row) == 1:
            connection.execute(SQL["purge_bytes"], row)
            connection.execute(SQL["purge_artifact"], row)
            self.artifacts += 1
        else:
            self._remove_owner(connection, row[1:])

    def _remove_owner(self, connection: sqlite3.Connection, owner: Owner) -> None:
        key = (self.namespace_id, encode_key(owner))
        removed = {table: self._remove_records(connection, table, key) for table in _OWNED}
        if owner[0] == "job":
            self.jobs += self._remove_records(connection, "job", (self.namespace_id, owner[1]))
        self.runs += removed["runs"]
        self._remove_scopes(connection, key[1])
        connection.execute(SQL["raise_floor"], key)
        connection.execute(SQL["purge_lease"], key)

    def _remove_records(self, connection: sqlite3.Connection, table: str, key: tuple[int, str]) -> int:
        specs = connection.execute(SQL[f"purge_{table}"], key).fetchall()
        connection.executemany(SQL["purge_spec"], specs)
        return len(specs)

    def _remove_scopes(self, connection: sqlite3.Connection, owner: str) -> None:
        """Remove the scopes whose JSON text begins with the owner's, up to its closing bracket."""
        start = owner.removesuffix("]")
        names = (self.namespace_id, start + ",", start + "-")  # "-" follows "," in every encoding
        for scope in connection.execute(SQL["scopes_of"], names).fetchall():
            self.entries += connection.execute(SQL["purge_entries"], scope).rowcount
            connection.execute(SQL["purge_scope"], scope)


class SqliteMaintenance:
    """Schema, retention, and what follows a restored back-up."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._database = connection.database
        self._namespace_id = connection.namespace_id
        self._clock = connection.clock

    def schema(self) -> SchemaStatus:
        """Compare the file's schema with this package's, without changing it."""
        return self._database.read(schema.status)

    def migrate(self, phase: Literal["pre", "post"]) -> SchemaStatus:
        """Apply what is pending of a phase, in one transaction; safe to run many at once."""
        self._database.write_whole(lambda c: schema.migrate(c, phase))
        return self.schema()

    def purge(self, ended_before: Ms, limit: int) -> Purged:
        """Remove up to ``limit`` jobs and runs that ended before then, and as many stale artifacts."""
        owners = self._in_batches("ended", ended_before, limit)
        put_before = min(ended_before, self._clock.now() - ARTIFACT_GRACE_MS)
        stale = self._in_batches("stale_artifacts", put_before, limit)
        return Purged(
            jobs=owners.jobs,
            runs=owners.runs,
            entries=owners.entries,
            artifacts=stale.artifacts,
            more=owners.has_more or stale.has_more,
        )

    def _in_batches(self, what: str, before: int, limit: int) -> _Purge:
        purge = _Purge(self._namespace_id)
        while purge.has_more and purge.found < limit:
            purge = self._batch(purge, what, before, min(BATCH, limit - purge.found))
        return purge

    def _batch(self, so_far: _Purge, what: str, before: int, size: int) -> _Purge:
        """Remove one batch in one transaction; what is counted is durable."""

        def remove(connection: sqlite3.Connection) -> _Purge:
            purge = evolve(so_far)
            rows = connection.execute(SQL[what], (self._namespace_id, before, size + 1)).fetchall()
            for row in rows[:size]:
                purge.remove(connection, row)
            purge.has_more = len(rows) > size
            return purge

        return self._database.write_whole(remove)

    def drop_namespace(self) -> None:
        """Remove everything of this namespace. Its number and its floor stay, so that tokens go on rising."""

        def drop(connection: sqlite3.Connection) -> None:
            connection.execute(SQL["keep_marks"], (self._namespace_id,))
            for table in (*_TABLES, "leases"):
                connection.execute(SQL[f"drop_{table}"], (self._namespace_id,))

        self._database.write_whole(drop)

    def restored(self) -> None:
        """Revoke every lease and raise every mark beyond what was lost.

        Microseconds since the epoch rise faster than any file is claimed from, in whatever time line.
        """

        def restore(connection: sqlite3.Connection) -> None:
            lowest = self._clock.now() * 1000
            connection.execute(SQL["lift_floor"], (self._namespace_id, lowest, LOST_WRITES))
            connection.execute(SQL["lift_marks"], (self._namespace_id,))
            connection.execute(SQL["free_jobs"], (self._namespace_id,))

        self._database.write_whole(restore)
