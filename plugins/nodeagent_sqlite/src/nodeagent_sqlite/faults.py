"""From the driver's errors to the port's: the one place where that is decided."""

from __future__ import annotations

import sqlite3
from typing import Final

from nodeagent import BackendError, Corrupt, OutcomeUnknown, Unavailable

_BUSY: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED: Final = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_SENTENCES: Final = {
    sqlite3.SQLITE_BUSY: "other processes kept it locked; try again or raise busy_timeout_ms",
    sqlite3.SQLITE_LOCKED: "other processes kept it locked; try again or raise busy_timeout_ms",
    sqlite3.SQLITE_READONLY: "it cannot be written; make the file and its folder writable",
    sqlite3.SQLITE_FULL: "the disk or the file's size limit is full; free some space and try again",
    sqlite3.SQLITE_IOERR: "reading or writing it failed; look at the disk and try again",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; look at the path and its permissions",
    sqlite3.SQLITE_PERM: "access was denied; look at the file's permissions",
    sqlite3.SQLITE_AUTH: "access was denied; look at the file's permissions",
    sqlite3.SQLITE_NOMEM: "there was no memory left; try again",
    sqlite3.SQLITE_PROTOCOL: "its lock could not be taken; try again",
    sqlite3.SQLITE_INTERRUPT: "the call was interrupted; try again",
}
_NOT_APPLIED: Final = {"SQLITE_FULL", "SQLITE_BUSY", "SQLITE_IOERR_WRITE", "SQLITE_READONLY"}


def primary(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, 0 if the driver itself complained."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Say whether somebody else holds the lock, so that trying again soon is right."""
    return primary(error) in _BUSY


def translated(error: sqlite3.Error, path: str) -> BackendError:
    """Return what a port raises for ``error``, which happened before anything was committed."""
    code = primary(error)
    if code in _DAMAGED:
        return Corrupt(
            f"{path!r} should be an intact SQLite database, but SQLite says {_name(error)}; restore it from a back-up"
        )
    if code in _SENTENCES:
        return Unavailable(f"{path!r} could not be used: {_SENTENCES[code]} ({_name(error)})")
    if isinstance(error, sqlite3.ProgrammingError):
        return Unavailable(f"{path!r} was used while it was being closed; open it again")
    return Corrupt(
        f"{path!r} did not answer as a nodeagent database of this version does ({_name(error)});"
        ' look at it with "nodeagent doctor"'
    )


def after_commit(error: sqlite3.Error, path: str) -> BackendError:
    """Return what a caller is told when ``COMMIT`` itself failed.

    A commit record that was not written whole is ignored for ever. One whose sync failed may yet be found
    after a crash, so that nobody can know.
    """
    if _name(error) in _NOT_APPLIED:
        return translated(error, path)
    return OutcomeUnknown(
        f"{path!r} answered a commit with {_name(error)}, so it may or may not have been applied;"
        " send it again with the same id"
    )


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", None) or type(error).__name__
