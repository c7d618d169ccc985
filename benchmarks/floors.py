"""The floors: what SQLite itself does, by the standard library and nothing else.

A floor has the settings of the provider (WAL, ``synchronous=FULL``) and none of its duties: one
table of a row id and a payload, no fence, no index, no digest.
"""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.measuring import Sample, repeat, watch

PAYLOAD = b"x" * 200
INSERT = "INSERT INTO rows (payload) VALUES (?)"


class RawFile:
    """A database file, written by as many connections as there are threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connections: list[sqlite3.Connection] = []
        first = self._connection(0)
        first.execute("PRAGMA journal_mode = WAL")
        first.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, payload BLOB NOT NULL)")

    def close(self) -> None:
        """Close every connection."""
        for connection in self._connections:
            connection.close()

    def commits(self, seconds: float, payload: bytes = PAYLOAD) -> Sample:
        """Insert one row a commit, by one connection, in the calling thread."""
        execute = self._connection(0).execute
        return repeat(lambda _: execute(INSERT, (payload,)), seconds)

    def contended_commits(self, threads: int, seconds: float) -> Sample:
        """Insert one row a commit by some threads at once, each with a connection of its own."""
        counts = [0] * threads

        def work(number: int) -> None:
            connection = self._connection(number)
            counts[number] = repeat(lambda _: _insert_fairly(connection), seconds).count

        for number in range(threads):
            self._connection(number)
        with watch() as taken:
            run_threads([lambda n=number: work(n) for number in range(threads)])  # type: ignore[misc]
        return taken.sample(sum(counts))

    def batches(self, size: int, seconds: float, payload: bytes = PAYLOAD) -> Sample:
        """Insert ``size`` rows a commit by ``executemany``; counts rows."""
        connection = self._connection(0)
        rows = [(payload,)] * size

        def insert(_: int) -> None:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(INSERT, rows)
            connection.execute("COMMIT")

        taken = repeat(insert, seconds)
        return Sample(taken.count * size, taken.seconds, taken.cpu)

    def read(self, row: int) -> bytes:
        """Return the payload of one row."""
        found: bytes = self._connection(0).execute("SELECT payload FROM rows WHERE id = ?", (row,)).fetchone()[0]
        return found

    def read_all(self) -> Sequence[bytes]:
        """Return every payload, in order."""
        rows = self._connection(0).execute("SELECT id, payload FROM rows ORDER BY id").fetchall()
        return [payload for _, payload in rows]

    def fill(self, payloads: Sequence[bytes]) -> None:
        """Insert one row for each payload, in one commit."""
        connection = self._connection(0)
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany(INSERT, [(payload,) for payload in payloads])
        connection.execute("COMMIT")

    def _connection(self, number: int) -> sqlite3.Connection:
        while len(self._connections) <= number:
            connection = sqlite3.connect(self.path, timeout=0, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA synchronous = FULL")
            self._connections.append(connection)
        return self._connections[number]


def _insert_fairly(connection: sqlite3.Connection) -> None:
    """Insert a row; while another connection writes, wait for a random moment.

    SQLite's own busy handler backs off so regularly that one connection starves the others.
    """
    while True:
        try:
            connection.execute(INSERT, (PAYLOAD,))
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
            time.sleep(random.uniform(0.0001, 0.005))  # noqa: S311 - no secret
        else:
            return


def run_threads(bodies: Sequence[Callable[[], None]]) -> None:
    """Run every body in a thread of its own, and return when all have ended."""
    threads = [threading.Thread(target=body) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
