"""Writing files so that they survive a power cut, and saying clearly why the disk refused."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from nodeagent import Corrupt, Ms, Unavailable
from nodeagent.providers.files.places import UNFINISHED

_FULL_SYNC: Final[int | None] = getattr(fcntl, "F_FULLFSYNC", None)
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_FILE: Final = (errno.ELOOP, errno.EMLINK, errno.ENXIO)
"""What opening a link and a socket says."""
_FOLDER: Final = (errno.EISDIR, errno.ENOTEMPTY)
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what the operating system says about ``path`` into one sentence."""
    try:
        yield
    except OSError as error:
        raise Unavailable(_sentence(path, error)) from error


def _sentence(path: Path, error: OSError) -> str:
    if error.errno in _FULL:
        return f"the disk that holds {str(path)!r} is full; free some space or choose another path"
    if error.errno in _FORBIDDEN:
        return f"{str(path)!r} may not be used by this user; allow it or choose another path"
    if error.errno in _FOLDER:
        return f"{str(path)!r} should be a file, but is a folder; move it away"
    return f"{str(path)!r} cannot be used ({error.strerror}); look at the disk and the path"


def open_file(path: Path) -> int:
    """Open an ordinary file for reading. Raises Corrupt if something else has its name, which is not followed."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in _NO_FILE:
            raise _no_file(path) from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _no_file(path)
    return handle


def _no_file(path: Path) -> Corrupt:
    return Corrupt(f"{str(path)!r} should be an ordinary file, but is something else; put the artifact again")


def make_folder(path: Path) -> None:
    """Make a folder and those above it, for this user alone, and sync each where it is listed."""
    if path.is_dir():
        return
    make_folder(path.parent)
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder survive a power cut."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync(handle: int) -> None:
    """Make a file's bytes survive a power cut; where the system has a stronger word, use that."""
    if _FULL_SYNC is None:
        os.fsync(handle)
    else:
        fcntl.fcntl(handle, _FULL_SYNC)


def write_whole(path: Path, data: bytes, at: Ms, *, replace: bool) -> None:
    """Write a file that appears whole or not at all, dated ``at``.

    Without ``replace`` a file that is there stays as it is; somebody else was faster.
    """
    handle, name = tempfile.mkstemp(prefix=UNFINISHED, dir=path.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.utime(handle, ns=_times(at))
            sync(handle)
        _move(unfinished, path, replace=replace)
    finally:
        unfinished.unlink(missing_ok=True)
    sync_folder(path.parent)


def _move(source: Path, target: Path, *, replace: bool) -> None:
    if replace:
        source.replace(target)
        return
    try:
        target.hardlink_to(source)  # unlike a rename it never replaces
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        source.replace(target)


def renew(path: Path, at: Ms) -> None:
    """Date a file ``at``, durably."""
    handle = open_file(path)
    try:
        os.utime(handle, ns=_times(at))
        sync(handle)
    finally:
        os.close(handle)


def _times(at: Ms) -> tuple[int, int]:
    return (at * 1_000_000, at * 1_000_000)
