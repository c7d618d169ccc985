"""Hints between processes: a letter box per subscriber, and nobody polls.

Each subscription binds a Unix datagram socket in a private folder that belongs to the database file. A sender
writes one small datagram to every socket in it, never blocks and never raises; a socket that nobody reads any more
refuses, and is removed. A hint is 16 bytes, the hash of namespace, kind and name, so none is too long, and
nothing that is worth reading passes through the folder.

The operating system keeps only a few datagrams (10 on many Linux systems) per socket. A sender that meets a full
box leaves a note beside it, "look at everything", and knocks once more: either the box is still full, then its owner
has yet to empty it and will find the note; or the knock arrives.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from nodeagent import Subscription, Unavailable, Wake, Work

HASH_BYTES: Final = 16
EVERYTHING: Final = b"*"
"""A datagram that is no list of hashes: look at everything."""
LARGEST: Final = 2048 * HASH_BYTES
"""The most bytes of one datagram; more hints than that say: look at everything."""
LONGEST_PATH: Final = 100
"""macOS allows 103 bytes for the path of a socket, Linux 107."""
_SETTLED_NS: Final = 100_000_000
"""A folder that changed less than this long ago may have changed again with the same time stamp."""


class Post:
    """One namespace's side of the letter boxes of a file."""

    def __init__(self, database: Path, namespace: str, folder: Path | None) -> None:
        self.namespace = namespace
        self.folder = _folder(database, folder)
        self._boxes: list[str] = []
        self._seen: tuple[int, int] | None = None
        self._socket: socket.socket | None = None
        self._process = os.getpid()
        self._subscriptions: weakref.WeakSet[Box] = weakref.WeakSet()

    def send(self, wakes: Sequence[Wake]) -> None:
        """Hand a hint to everybody who may be waiting for it."""
        if not wakes:
            return
        boxes = self._addresses()
        if boxes:
            letter = b"".join(hash_of(self.namespace, wake) for wake in wakes)
            letter = letter if len(letter) <= LARGEST else EVERYTHING
            for box in boxes:
                self._deliver(letter, box)

    def subscribe(self, wakes: Sequence[Wake], wake: Callable[[Wake], None]) -> Box:
        """Open a letter box."""
        names = {hash_of(self.namespace, each): each for each in wakes}
        box = Box(self._bound(), names, wake)
        self._subscriptions.add(box)
        return box

    def _bound(self) -> socket.socket:
        """Return a socket with an address of its own in the folder, which the last one to leave removes."""
        bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            while True:
                _make_private(self.folder)
                with contextlib.suppress(FileNotFoundError):
                    bound.bind(str(self.folder / f"{secrets.token_hex(6)}.s"))
                    return bound
        except OSError as error:
            bound.close()
            if isinstance(error, Unavailable):
                raise
            raise Unavailable(
                f"a socket for wake-ups could not be made in {str(self.folder)!r}"
                f" ({error.strerror or error}); set wake_folder to a local folder with a short path"
            ) from error

    def close(self) -> None:
        """Close the boxes of this connection."""
        for box in list(self._subscriptions):
            box.close()
        if self._socket is not None and self._process == os.getpid():
            self._socket.close()
            self._socket = None

    def _addresses(self) -> list[str]:
        """Return the boxes that are there, from memory while the folder is as it was."""
        try:
            found = os.stat(self.folder)  # noqa: PTH116 - on the way of every commit with a hint
            stamp = (found.st_mtime_ns, found.st_ino)
            if stamp != self._seen:
                is_settled = time.time_ns() - found.st_mtime_ns > _SETTLED_NS
                with os.scandir(self.folder) as entries:
                    self._boxes = [each.path for each in entries if each.name.endswith(".s")]
                self._seen = stamp if is_settled else None
        except OSError:
            return []
        return self._boxes

    def _deliver(self, letter: bytes, box: str) -> None:
        with contextlib.suppress(OSError):
            try:
                self._sender().sendto(letter, box)
            except BlockingIOError:
                Path(f"{box}!").touch(mode=0o600)
                with contextlib.suppress(BlockingIOError):
                    self._sender().sendto(EVERYTHING, box)
            except ConnectionRefusedError:
                Path(box).unlink(missing_ok=True)
                Path(f"{box}!").unlink(missing_ok=True)

    def _sender(self) -> socket.socket:
        if self._socket is None or self._process != os.getpid():
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.settimeout(0)
            self._process = os.getpid()
        return self._socket


class Box:
    """A subscription: a socket, and a thread that empties it."""

    def __init__(self, bound: socket.socket, wakes: dict[bytes, Wake], callback: Callable[[Wake], None]) -> None:
        self._socket = bound
        self._path = Path(bound.getsockname())
        self._note = Path(f"{self._path}!")
        self._wakes = wakes
        self._callback = callback
        self._process = os.getpid()
        self._is_open = True
        self._thread = threading.Thread(target=self._run, name="nodeagent-sqlite-wakeups", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it; when this returns, the callback is not running and will not be called again."""
        if self._process != os.getpid():
            self._is_open = False  # a forked child has the socket but not the thread
            self._socket.close()
            return
        self._is_open = False
        self._knock()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _knock(self) -> None:
        """Wake the thread, which looks whether it should go on. A full box wakes it anyway."""
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as knocking,
        ):
            knocking.settimeout(0)
            knocking.sendto(EVERYTHING, str(self._path))

    def _run(self) -> None:
        with self._socket, contextlib.suppress(OSError):
            while self._is_open:
                for wake in self._meant(self._socket.recv(LARGEST)):
                    self._call(wake)
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
            self._note.unlink(missing_ok=True)
            self._path.parent.rmdir()  # unless somebody else still listens

    def _call(self, wake: Wake) -> None:
        """Call back; what the callback raises is its own affair, a hint is never a fact."""
        with contextlib.suppress(Exception):
            if self._is_open:
                self._callback(wake)

    def _meant(self, letter: bytes) -> list[Wake]:
        """Return the hints of a letter that were asked for; all of them if some may have been missed."""
        if self._note.exists():
            self._note.unlink(missing_ok=True)
            return list(self._wakes.values())
        if letter == EVERYTHING:
            return list(self._wakes.values())
        names = (letter[i : i + HASH_BYTES] for i in range(0, len(letter), HASH_BYTES))
        return [self._wakes[name] for name in names if name in self._wakes]


class SqliteWakeups:
    """Sends hints to whoever shares the file, and calls back on them."""

    def __init__(self, post: Post) -> None:
        self._post = post

    def notify(self, wakes: Sequence[Wake]) -> None:
        """Send hints. One that gets lost never raises."""
        self._post.send(wakes)

    def subscribe(self, wakes: Sequence[Wake], wake: Callable[[Wake], None]) -> Subscription:
        """Call ``wake`` on a thread of its own for each hint that arrives from now on."""
        return self._post.subscribe(wakes, wake)


def hash_of(namespace: str, wake: Wake) -> bytes:
    """Return the 16 bytes that stand for a hint of a namespace."""
    kind, name = ("work", wake.lane) if isinstance(wake, Work) else ("topic", wake.name)
    text = "\0".join((str(len(namespace)), namespace, kind, name))
    return hashlib.blake2b(text.encode(), digest_size=HASH_BYTES).digest()


def _folder(database: Path, chosen: Path | None) -> Path:
    """Return where the processes of one file meet: by the file's real path, short, private to the user."""
    name = hashlib.sha256(os.fsencode(database.resolve())).hexdigest()[:16]
    if chosen is not None:
        return chosen.expanduser().absolute() / name
    parent = f"nodeagent-{os.getuid()}"
    folder = Path(tempfile.gettempdir()).absolute() / parent / name
    return folder if len(os.fsencode(folder)) < LONGEST_PATH - 20 else Path("/tmp") / parent / name  # noqa: S108 - made private below


def _make_private(folder: Path) -> None:
    """Make the folder; refuse one in which another user could put something."""
    for each in (folder.parent, folder):
        try:
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = each.lstat()
        except OSError as error:
            raise Unavailable(
                f"the folder for wake-ups {str(each)!r} could not be made ({error.strerror}); set wake_folder"
            ) from error
        is_private = found.st_uid == os.getuid() and not stat.S_IMODE(found.st_mode) & 0o022
        if not stat.S_ISDIR(found.st_mode) or not is_private:
            raise Unavailable(
                f"the folder for wake-ups {str(each)!r} should be yours alone, but others may write"
                " there; remove it or set wake_folder"
            )
