"""Immutable bytes under their sha256, in the same file."""

from __future__ import annotations

import sqlite3
from typing import Final

from nodeagent import ArtifactInfo, ArtifactRef, Corrupt, Invalid, NotFound, TooLarge
from nodeagent_sqlite import statements
from nodeagent_sqlite.connection import SqliteConnection

SQL: Final = statements.load("artifacts")
MAX_ARTIFACT_BYTES: Final = 512 * 2**20
"""SQLite keeps a row in one piece and refuses it above 1 GB."""


class SqliteArtifacts:
    """Bytes by the digest of what they are."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._database = connection.database
        self._namespace_id = connection.namespace_id
        self._clock = connection.clock

    def put(self, data: bytes, media_type: str) -> ArtifactRef:
        """Store the bytes durably; putting them again renews their age, the first type stays."""
        if len(data) > MAX_ARTIFACT_BYTES:
            raise TooLarge("the number of an artifact's bytes", len(data), MAX_ARTIFACT_BYTES)
        ref = ArtifactRef.of(data)
        ArtifactInfo(ref=ref, size=len(data), media_type=media_type, put_at=self._clock.now())
        self._database.write_whole(lambda c: self._put(c, ref, data, media_type))
        return ref

    def _put(self, connection: sqlite3.Connection, ref: ArtifactRef, data: bytes, media_type: str) -> None:
        now = self._clock.now()
        cursor = connection.execute(SQL["insert"], (self._namespace_id, ref.id, len(data), media_type, now))
        number = cursor.lastrowid
        if cursor.rowcount != 1:
            (number,) = connection.execute(SQL["find"], (self._namespace_id, ref.id)).fetchone()
            connection.execute(SQL["renew"], (now, number))
        connection.execute(SQL["put_bytes"], (number, data))

    def get(self, ref: ArtifactRef) -> bytes:
        """Return the bytes, whose hash was checked. Raises NotFound or Corrupt."""
        key = (self._namespace_id, ref.id)
        row = self._database.read(lambda c: c.execute(SQL["get"], key).fetchone())
        if row is None:
            raise NotFound(f"no artifact {ref.id!r} is stored; it was purged or never put")
        data: bytes | None = row[0]
        if data is None or ArtifactRef.of(data) != ref:
            raise Corrupt(
                f"the bytes of artifact {ref.id!r} are not the ones that were put; restore the file from a back-up"
            )
        return data

    def stat(self, ref: ArtifactRef) -> ArtifactInfo | None:
        """Return size, media type and age, or None."""
        key = (self._namespace_id, ref.id)
        row = self._database.read(lambda c: c.execute(SQL["stat"], key).fetchone())
        if row is None:
            return None
        size, media_type, put_at = row
        try:
            return ArtifactInfo(ref=ref, size=size, media_type=media_type, put_at=put_at)
        except Invalid as error:
            raise Corrupt(f"the row of artifact {ref.id!r} is damaged; restore the file from a back-up") from error
