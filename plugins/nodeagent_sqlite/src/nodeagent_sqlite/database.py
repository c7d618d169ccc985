"""One database file: its connections, and their life across threads and forks.

One connection writes (through :class:`~nodeagent_sqlite.writer.Writer`), a small pool reads. A connection must
not cross a fork: SQLite's locks belong to the process, and it remembers per file, not per connection, which ones it
holds, so a child that merely *opened* a new connection beside an inherited one would run without locks. Therefore all
connections are closed just before :func:`os.fork`, and opened again on the next use, in parent and child alike.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from nodeagent import Unavailable
from nodeagent_sqlite.faults import translated
from nodeagent_sqlite.placeholders import CONNECTION
from nodeagent_sqlite.waiting import patiently
from nodeagent_sqlite.writer import Atom, Writer, undone_if_refused

T = TypeVar("T")

OLDEST_SQLITE: Final = (3, 37, 0)
IDLE_READERS: Final = 8
"""How many connections for reading are kept open; a burst of threads opens more and closes them again."""
FORK_PATIENCE: Final = 5.0
"""Seconds that a fork waits for calls under way."""
LOOK_EVERY: Final = 1.0
"""Seconds between two looks at whether the path still names the open file."""

_open: Final[weakref.WeakSet[Database]] = weakref.WeakSet()
_text: Final = functools.partial(str, encoding="utf-8", errors="surrogateescape")


class Database:
    """The file at ``path``, opened when it is first used."""

    def __init__(self, path: Path, busy_timeout_ms: int) -> None:
        if sqlite3.sqlite_version_info < OLDEST_SQLITE:
            raise Unavailable(
                "SQLite should be 3.37 or newer, but Python was built with"
                f" {sqlite3.sqlite_version}; use a newer Python"
            )
        self.path = str(path)
        self.busy_timeout = busy_timeout_ms / 1000
        self._is_closed = False
        self._identity: tuple[int, int] | None = None
        self._next_look = 0.0
        self._begin_life()
        _open.add(self)

    def _begin_life(self) -> None:
        """Start with nothing open: when made, and in a forked child."""
        self._process = os.getpid()
        self._mutex = threading.Lock()
        self._calm = threading.Condition(self._mutex)
        self._forks = 0
        self._in_use = 0
        self._idle: list[sqlite3.Connection] = []
        self._writing: sqlite3.Connection | None = None
        self._is_writing = False
        self._known: set[sqlite3.Connection] = set()
        self._writer = Writer(self, self.busy_timeout)

    # --- what ports use -------------------------------------------------------------------------

    def write(self, atom: Atom[T], bold: Atom[T] | None = None, *, within: float | None = None) -> T:
        """Perform an atom in a transaction that others may share; return when it is durable.

        ``bold`` does the same, but may leave something behind when it raises (see :mod:`nodeagent_sqlite.writer`).
        An atom that does not have its turn ``within`` so many seconds is given up.
        """
        if self._process != os.getpid():
            self.in_child()
        return self._writer.run(atom, bold, within)

    def write_whole(self, work: Atom[T]) -> T:
        """Perform ``work`` of several statements, which would leave some behind when it raises, as an atom."""
        return self.write(lambda connection: undone_if_refused(connection, lambda: work(connection)), bold=work)

    def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return what ``query`` reads; one statement sees one state of the database."""
        if self._process != os.getpid():
            self.in_child()
        try:
            connection = self._take_reader()
            try:
                return patiently(lambda: query(connection), time.monotonic() + self.busy_timeout)
            finally:
                self._give_reader(connection)
        except sqlite3.Error as error:
            raise translated(error, self.path) from error

    def snapshot(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Return what ``query`` reads with several statements that see one state of the database."""

        def whole(connection: sqlite3.Connection) -> T:
            connection.execute("BEGIN")
            try:
                return query(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

        return self.read(whole)

    def close(self) -> None:
        """Close what is open; calls that come later, or are under way, are refused."""
        with self._calm:
            self._is_closed = True
            if self._process == os.getpid():
                self._close_idle()

    def __del__(self) -> None:
        is_mine = getattr(self, "_process", None) == os.getpid()
        for connection in getattr(self, "_known", ()):
            if is_mine:
                connection.close()
            else:
                _keep_for_ever(connection)

    # --- connections ----------------------------------------------------------------------------

    def take_writer(self) -> sqlite3.Connection:
        """Return the writing connection. Only the leader of the writer's queue calls this."""
        self._enter()
        try:
            if self._writing is None:
                self._writing = self._connect()
        except BaseException as error:
            self._leave()
            if isinstance(error, sqlite3.Error):
                raise translated(error, self.path) from error
            raise
        self._is_writing = True
        return self._writing

    def give_writer(self, *, is_sound: bool) -> None:
        """Keep the writing connection for the next leader, unless a failure left it in doubt."""
        connection = self._writing
        with self._mutex:
            self._is_writing = False
            keeps = is_sound and not self._is_closed
            self._writing = connection if keeps else None
        if connection is not None and not keeps:
            self._discard(connection)
        self._leave()

    def _take_reader(self) -> sqlite3.Connection:
        self._enter()
        try:
            return self._idle.pop()
        except IndexError:
            pass
        try:
            connection = self._connect()
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            self._leave()
            raise
        return connection

    def _give_reader(self, connection: sqlite3.Connection) -> None:
        if self._is_closed or len(self._idle) >= IDLE_READERS:
            self._discard(connection)
        else:
            self._idle.append(connection)
        self._leave()

    def _enter(self) -> None:
        if time.monotonic() >= self._next_look:
            self._look()
        with self._mutex:
            while self._forks:
                self._calm.wait()
            if self._is_closed:
                raise Unavailable(f"the backend on {self.path!r} is closed; open it again")
            self._in_use += 1

    def _leave(self) -> None:
        with self._mutex:
            self._in_use -= 1
            if self._forks:
                self._calm.notify_all()

    def _look(self) -> None:
        """Refuse to go on with a file that lost its name: nobody else will ever see what is written to it."""
        found = _identity_of(self.path)
        if found != (self._identity or found) or found is None:
            raise Unavailable(f"the file was removed or replaced under {self.path!r}; restart what works with it")
        self._next_look = time.monotonic() + LOOK_EVERY

    def _connect(self) -> sqlite3.Connection:
        connection = connect(self.path, time.monotonic() + self.busy_timeout)
        try:
            self._identity = self._identity or _identity_of(self.path)
            self._look()
        except BaseException:
            connection.close()
            raise
        self._known.add(connection)
        return connection

    def _discard(self, connection: sqlite3.Connection) -> None:
        self._known.discard(connection)
        connection.close()

    def _close_idle(self) -> None:
        idle, self._idle = self._idle, []
        if self._writing is not None and not self._is_writing:
            idle.append(self._writing)
            self._writing = None
        for connection in idle:
            self._discard(connection)

    # --- forks ----------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """Let calls under way end, hold back new ones, and close every connection."""
        with self._calm:
            self._forks += 1
            if self._calm.wait_for(lambda: not self._in_use, FORK_PATIENCE):
                self._close_idle()

    def after_fork(self) -> None:
        """Let calls go on, in the parent."""
        with self._calm:
            self._forks -= 1
            self._calm.notify_all()

    def in_child(self) -> None:
        """Begin anew, in the child. A connection that could not be closed before is never touched again."""
        for connection in self._known:
            _keep_for_ever(connection)
        self._begin_life()


def _identity_of(path: str) -> tuple[int, int] | None:
    """Return what tells a file from every other one, or None if there is none."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


def connect(path: str, deadline: float) -> sqlite3.Connection:
    """Open the file with every setting in force; the file must be there."""
    connection = sqlite3.connect(
        Path(path).absolute().as_uri() + "?mode=rw",
        uri=True,
        timeout=0,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
        factory=CONNECTION,
    )
    try:
        connection.text_factory = _text
        for pragma in (
            "PRAGMA synchronous = FULL",
            "PRAGMA temp_store = MEMORY",
            "PRAGMA journal_size_limit = 67108864",
            "PRAGMA trusted_schema = OFF",
        ):
            patiently(functools.partial(connection.execute, pragma), deadline)
    except BaseException:
        connection.close()
        raise
    return connection


def _keep_for_ever(connection: Any) -> None:
    """Keep a connection of the parent's from being closed in a child, also when the child ends."""
    import ctypes  # noqa: PLC0415 - only in a child of a fork that could not wait

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def _for_each(action: Callable[[Database], None]) -> Callable[[], None]:
    def hook() -> None:
        for database in list(_open):
            action(database)

    return hook


os.register_at_fork(
    before=_for_each(Database.before_fork),
    after_in_parent=_for_each(Database.after_fork),
    after_in_child=_for_each(Database.in_child),
)
