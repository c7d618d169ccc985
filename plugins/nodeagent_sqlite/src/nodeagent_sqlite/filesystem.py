"""The database's file: made private, and never on a file system that cannot share memory.

WAL keeps its index in memory that all processes share, which a network or virtual file system does not
offer: databases were damaged there within a minute, without any crash.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from nodeagent import Unavailable

Mounts = Callable[[], str]
"""Returns the mount table as the operating system writes it."""

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
_NETWORK: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "afpfs", "webdav", "acfs"}
    | {"ceph", "glusterfs", "lustre", "gpfs", "beegfs"}
    | {"9p", "virtiofs", "vboxsf", "prl_fs", "prlfs", "vmhgfs", "osxfs", "fakeowner", "grpcfuse"}
    | {"macfuse", "osxfuse", "fuse", "fusefs"}
)
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")
_MACOS_LINE: Final = re.compile(r".* on (?P<point>/.*) \((?P<type>[^,)]+)[^()]*\)$")


def make_file(path: Path) -> bool:
    """Make the file (0600) and its folders (0700) if they are missing; return whether it was made here."""
    try:
        _make_folders(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        if path.exists():
            _check_existing(path)
            return False
        raise Unavailable(
            f"the database file {str(path)!r} could not be made ({error.strerror});"
            " choose another path or correct the permissions"
        ) from error
    os.close(handle)
    return True


def _make_folders(folder: Path) -> None:
    for parent in [*reversed(folder.parents), folder]:
        if not parent.is_dir():
            parent.mkdir(mode=FOLDER_MODE, exist_ok=True)


def _check_existing(path: Path) -> None:
    if path.is_dir():
        raise Unavailable(f"the path {str(path)!r} should be a file, but it is a folder; name a file in it")
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK):
        raise Unavailable(
            f"the database file {str(path)!r} and its folder should be writable, but are not; correct the permissions"
        )


def refuse_network(path: Path, mounts: Mounts | None = None) -> None:
    """Raise :class:`Unavailable` if ``path`` lies where WAL would damage the database."""
    found = network_type(path, mounts)
    if found is not None:
        raise Unavailable(
            f"the database file {str(path)!r} should lie on a local disk, but lies on {found!r}, where SQLite"
            " cannot share memory between processes; choose a local path"
        )


def network_type(path: Path, mounts: Mounts | None = None) -> str | None:
    """Return the type of ``path``'s file system if it is a network or virtual one, else None."""
    kind = mount_type(path, mounts)
    if kind is None:
        return None
    return kind if kind in _NETWORK or kind.startswith("fuse.") else None


def mount_type(path: Path, mounts: Mounts | None = None) -> str | None:
    """Return the type of the file system that ``path`` lies on, None if nobody can tell."""
    try:
        table = (mounts or _read_mounts)()
    except (OSError, subprocess.SubprocessError):
        return None
    where = path.resolve()
    best: tuple[int, str] | None = None
    for point, kind in _entries(table):
        mounted = Path(point)
        # The last of several mounts on one point hides the others.
        if where.is_relative_to(mounted) and (best is None or len(mounted.parts) >= best[0]):
            best = (len(mounted.parts), kind)
    return None if best is None else best[1]


def _entries(table: str) -> Iterator[tuple[str, str]]:
    """Yield mount point and type from Linux's mountinfo or from the output of ``mount``."""
    for line in table.splitlines():
        left, separator, right = line.partition(" - ")
        if separator:
            yield _ESCAPE.sub(lambda code: chr(int(code[1], 8)), left.split()[4]), right.split()[0]
        elif match := _MACOS_LINE.match(line):
            yield match["point"], match["type"].strip()


def _read_mounts() -> str:
    if sys.platform == "darwin":
        return subprocess.run(["/sbin/mount"], capture_output=True, text=True, check=True, timeout=10).stdout
    return Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape")
