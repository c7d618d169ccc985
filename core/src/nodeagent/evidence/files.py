"""Reading files that may be hostile: devices are never opened, links never followed unawares."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from attrs import frozen

_NO_FOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_WIDE_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_KINDS: Final = (
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
)


class Unreadable(Exception):
    """A file cannot serve as a source; ``reason`` is a clause such as ``is binary``."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


@frozen(kw_only=True)
class Identity:
    """Which file stands behind a name: device and inode, and whether the name may be a link."""

    device: int
    inode: int
    named: bool

    @classmethod
    def of(cls, info: os.stat_result, *, named: bool) -> Identity:
        """Return the identity of a file from its status."""
        return cls(device=info.st_dev, inode=info.st_ino, named=named)


@frozen(kw_only=True)
class Content:
    """A document as read: its text, the digest and number of its bytes."""

    text: str
    sha256: str
    size: int


def look(path: str, *, named: bool) -> os.stat_result:
    """Return the status of a file or folder; follow a link only if the user named it.

    Raises :class:`Unreadable`.
    """
    try:
        return Path(path).stat(follow_symlinks=named)
    except FileNotFoundError:
        reason = "is a broken symbolic link" if Path(path).is_symlink() else "does not exist"
        raise Unreadable(reason) from None
    except (OSError, ValueError) as error:
        raise Unreadable(_told(error)) from None


def kind_of(info: os.stat_result) -> str:
    """Return what a thing that is not a regular file is: ``a FIFO``, ``a device``, ``a folder``."""
    return next((kind for test, kind in _KINDS if test(info.st_mode)), "no regular file")


def read(path: str, limit: int, identity: Identity | None = None) -> Content:
    """Return what a regular file holds.

    A thing that is no regular file is not opened; one that grows beyond ``limit`` bytes, holds NUL
    bytes, is no UTF-8, or is not the file of ``identity`` any more is refused. Raises
    :class:`Unreadable`.
    """
    named = identity is None or identity.named
    info = look(path, named=named)
    if not stat.S_ISREG(info.st_mode):
        raise Unreadable(f"is {kind_of(info)}, not a file")
    if info.st_size > limit:
        raise Unreadable(too_large(limit))
    data = _bytes(path, limit, identity)
    return Content(text=_decoded(data), sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def too_large(limit: int) -> str:
    """Return why a file of more than ``limit`` bytes is not read."""
    return f"is larger than {bytes_in_words(limit)}"


def bytes_in_words(count: int) -> str:
    """Return a number of bytes for people: ``900 bytes``, ``3.8 KiB``, ``2 MiB``."""
    if count < 1024:  # noqa: PLR2004 - the unit itself
        return f"{count} bytes"
    unit, size = ("KiB", count / 1024) if count < 1024**2 else ("MiB", count / 1024**2)
    return f"{size:.1f}".removesuffix(".0") + f" {unit}"


def _bytes(path: str, limit: int, identity: Identity | None) -> bytes:
    follow = 0 if identity is None or identity.named else _NO_FOLLOW
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_WAIT | follow), "rb") as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode) or (identity and identity != _identity(info, identity)):
                raise Unreadable("was replaced while it was read")
            data = file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise Unreadable(_told(error)) from None
    if len(data) > limit:
        raise Unreadable(too_large(limit))
    return data


def _identity(info: os.stat_result, like: Identity) -> Identity:
    return Identity.of(info, named=like.named)


def _decoded(data: bytes) -> str:
    if data.startswith(_WIDE_MARKS):
        raise Unreadable("is UTF-16, not UTF-8")
    if b"\0" in data:
        raise Unreadable("is binary")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise Unreadable("is not valid UTF-8") from None


def _told(error: OSError | ValueError) -> str:
    told = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read ({told or type(error).__name__})"
