"""What can be wrong with a database file, and what to do about it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from nodeagent import Check, Connection
from nodeagent_sqlite import filesystem, rows, schema
from nodeagent_sqlite.database import OLDEST_SQLITE, connect
from nodeagent_sqlite.faults import translated
from nodeagent_sqlite.settings import SqliteSettings
from nodeagent_sqlite.waiting import patiently

LITTLE_SPACE: Final = 256 * 2**20
_FULL: Final = 2
_PATIENCE: Final = 5.0


def look(settings: SqliteSettings, connection: Connection | None) -> list[Check]:
    """Look at everything that can go wrong with the file; change nothing."""
    path = settings.path.expanduser().absolute()
    checks = [_sqlite(), _file_system(path), _space(path)]
    if not path.is_file():
        found = f"{str(path)!r} is not there yet" if not path.exists() else f"{str(path)!r} is no file"
        remedy = "it is made when the backend is opened" if connection is None else "open it again"
        return [*checks, _bad("file", found, remedy, is_fatal=path.exists())]
    return [*checks, _writable(path), *_modes(path), *_inside(path)]


def _ok(name: str, found: str) -> Check:
    return Check(name=name, status="ok", found=found)


def _bad(name: str, found: str, remedy: str, *, is_fatal: bool = True) -> Check:
    return Check(name=name, status="failed" if is_fatal else "warning", found=found, remedy=remedy)


def _sqlite() -> Check:
    found = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        return _bad("sqlite", found, "use a Python that was built with SQLite 3.37 or newer")
    return _ok("sqlite", found)


def _file_system(path: Path) -> Check:
    found = filesystem.network_type(path)
    if found is not None:
        return _bad("file system", f"{found}, a network one", "choose a path on a local disk")
    return _ok("file system", filesystem.mount_type(path) or "not known, taken for a local one")


def _space(path: Path) -> Check:
    there = next(each for each in (path.parent, *path.parent.parents) if each.exists())
    free = shutil.disk_usage(there).free
    found = f"{free // 2**20:,} MiB free"
    if free < LITTLE_SPACE:
        return _bad("free space", found, "free some space before writes fail", is_fatal=False)
    return _ok("free space", found)


def _writable(path: Path) -> Check:
    can_write = os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK)
    if not can_write:
        return _bad("file", f"{str(path)!r} cannot be written", "correct the permissions of file and folder")
    return _ok("file", f"{str(path)!r} can be written")


def _modes(path: Path) -> Iterator[Check]:
    for suffix in ("", "-wal", "-shm"):
        each = Path(f"{path}{suffix}")
        if not each.exists():
            continue
        mode = stat.S_IMODE(each.stat().st_mode)
        found = f"{each.name} has mode {mode:04o}"
        if mode & 0o077:
            yield _bad("mode", found, f"run: chmod 600 {str(each)!r}", is_fatal=False)
        else:
            yield _ok("mode", found)


def _inside(path: Path) -> Iterator[Check]:
    deadline = time.monotonic() + _PATIENCE
    checks: tuple[Callable[[sqlite3.Connection], Check], ...] = (
        _integrity,
        _schema,
        _journal_mode,
        _synchronous,
        _rows,
    )
    try:
        with closing(connect(str(path), deadline)) as connection:
            for check in checks:
                yield patiently(lambda check=check: check(connection), deadline)  # type: ignore[misc]
    except sqlite3.Error as error:
        yield _bad("database", str(translated(error, str(path))), "see there, or restore a back-up")


def _pragma(connection: sqlite3.Connection, pragma: str) -> object:
    return connection.execute(pragma).fetchone()[0]


def _integrity(connection: sqlite3.Connection) -> Check:
    found = str(_pragma(connection, "PRAGMA quick_check(1)"))
    if found != "ok":
        return _bad("integrity", "the file is damaged", "restore it from a back-up")
    return _ok("integrity", "quick_check finds nothing")


def _schema(connection: sqlite3.Connection) -> Check:
    status = schema.status(connection)
    found = f"version {status.found}, this package works with {status.wanted}"
    if status.is_current:
        return _ok("schema", found)
    if status.found is not None and status.found > status.wanted:
        return _bad("schema", found, "install the newer nodeagent-sqlite")
    is_fatal = any(name.endswith(".pre") for name in status.pending)
    return _bad("schema", found, 'run "nodeagent migrate"', is_fatal=is_fatal)


def _rows(connection: sqlite3.Connection) -> Check:
    if not schema.status(connection).is_current:
        return _bad(
            "rows", "not looked at, because the schema is another", 'do what the check "schema" says', is_fatal=False
        )
    return rows.check(connection)


def _journal_mode(connection: sqlite3.Connection) -> Check:
    mode = str(_pragma(connection, "PRAGMA journal_mode"))
    if mode != "wal":
        return _bad("journal mode", mode, "open the backend once, which switches the file to WAL")
    return _ok("journal mode", "wal")


def _synchronous(connection: sqlite3.Connection) -> Check:
    level = _pragma(connection, "PRAGMA synchronous")
    if level != _FULL:
        return _bad("durability", f"synchronous is {level}", "use an SQLite whose FULL can be set")
    return _ok("durability", "synchronous is FULL: every commit is synced")
