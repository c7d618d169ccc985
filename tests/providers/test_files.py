"""The files provider: what lies on the disk, what a crash leaves, and what a bad disk says."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pluggy
import pytest

from nodeagent import ArtifactRef, ArtifactStore, Check, Corrupt, Invalid, NotFound, Unavailable, hookspecs
from nodeagent.providers import files
from nodeagent.providers.files import FilesSettings, disk
from nodeagent.providers.files.places import folder_of
from nodeagent.testing import ManualClock

if TYPE_CHECKING:
    from _pytest.monkeypatch import MonkeyPatch

DATA = b"some bytes"
REF = ArtifactRef.of(DATA)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder that is not there yet."""
    return tmp_path / "deep" / "artifacts"


@pytest.fixture
def clock() -> ManualClock:
    """A clock to turn by hand."""
    return ManualClock()


@pytest.fixture
def store(path: Path, clock: ManualClock) -> Iterator[ArtifactStore]:
    """The artifacts of one namespace in that folder."""
    with files.nodeagent_connect(FilesSettings(path=str(path)), "app", clock, ()) as connection:
        yield files.nodeagent_artifact_store(connection)


def _files(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file())


def _file(path: Path) -> Path:
    (found,) = _files(path)
    return found


def _doctor(path: Path) -> dict[str, Check]:
    checks = files.nodeagent_doctor(FilesSettings(path=str(path)), None)
    return {check.name: check for check in checks}


def test_it_offers_artifacts_and_nothing_else() -> None:
    """Its hooks fit the contract, and other ports are simply not there."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(files)

    manager.check_pending()

    assert manager.hook.nodeagent_settings() is FilesSettings
    assert manager.hook.nodeagent_transactions.get_hookimpls() == []
    assert manager.hook.nodeagent_wakeups.get_hookimpls() == []


def test_a_file_is_named_by_its_content(store: ArtifactStore, path: Path) -> None:
    """Below its namespace, spread over folders by the first two digits."""
    store.put(DATA, "text/plain")

    place = _file(path).relative_to(path)
    assert place == Path("n-app", "sha256", REF.sha256[:2], REF.sha256)
    assert _file(path).read_bytes().endswith(b"\n" + DATA)


def test_only_the_owner_may_look(store: ArtifactStore, path: Path) -> None:
    """Files have mode 0600 and folders 0700, whatever the umask."""
    before = os.umask(0)
    try:
        store.put(DATA, "text/plain")
    finally:
        os.umask(before)

    assert stat.S_IMODE(_file(path).stat().st_mode) == 0o600
    folders = [path / "n-app", *(each for each in (path / "n-app").rglob("*") if each.is_dir())]
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


@pytest.mark.parametrize("name", ["..", ".", "../../etc", "/etc", "a/b", "\\", "\0", "CON", "nul.txt", "~", "x" * 512])
def test_no_namespace_leads_out_of_its_folder(path: Path, name: str) -> None:
    """Its folder is one plain name that every file system can keep."""
    folder = folder_of(name)

    assert len(folder) <= 255
    assert set(folder) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_%")
    with files.nodeagent_connect(FilesSettings(path=str(path)), name, None, ()) as connection:
        files.nodeagent_artifact_store(connection).put(DATA, "text/plain")
    assert _file(path).parent.parent.parent == path / folder


def test_no_two_namespaces_share_a_folder() -> None:
    """Not even where a file system takes upper and lower case for the same."""
    names = ["a", "A", "a ", "%61", "n-a", "h-a", "é", "e\u0301", "a/b", "a%2fb", "x" * 300]
    names += ["x" * 301, folder_of("x" * 300), folder_of("x" * 300)[2:]]

    assert len({folder_of(name).lower() for name in names}) == len(names)


def test_nothing_unfinished_is_left(store: ArtifactStore, path: Path) -> None:
    """After a put there is the one file."""
    for _ in range(3):
        store.put(DATA, "text/plain")

    assert len(_files(path)) == 1


@pytest.mark.parametrize("data", [b"", b"{}", b"not it", b'{"media_type": "x", "size": 3}\nabc'])
def test_other_bytes_are_corrupt(store: ArtifactStore, path: Path, data: bytes) -> None:
    """Never handed out, and told apart from what is not there."""
    store.put(DATA, "text/plain")
    _file(path).write_bytes(data)

    with pytest.raises(Corrupt):
        store.get(REF)


HEADERS = {
    "a size in words": b'{"media_type": "x", "size": "10"}',
    "a size that is a truth": b'{"media_type": "x", "size": true}',
    "a size that is a fraction": b'{"media_type": "x", "size": 10.0}',
    "a size below nothing": b'{"media_type": "x", "size": -1}',
    "a size of very many digits": b'{"media_type": "x", "size": ' + b"9" * 5000 + b"}",
    "no size": b'{"media_type": "x"}',
    "an empty type": b'{"media_type": "", "size": 10}',
    "no type": b'{"media_type": null, "size": 10}',
    "a type that is a list": b'{"media_type": ["x"], "size": 10}',
    "a type that is no text": b'{"media_type": "\\ud800", "size": 10}',
    "nothing but brackets": b"[" * 8000,
    "a list": b"[1, 2]",
    "a number": b"3",
    "bytes that are no text": b"\xff\xfe",
}


@pytest.mark.parametrize("how", HEADERS)
def test_a_damaged_first_line_is_corrupt_until_the_next_put(store: ArtifactStore, path: Path, how: str) -> None:
    """Whatever it says, nobody is told anything but that; who has the bytes mends it."""
    store.put(DATA, "text/plain")
    _file(path).write_bytes(HEADERS[how] + b"\n" + DATA)

    with pytest.raises(Corrupt):
        store.get(REF)
    with pytest.raises(Corrupt):
        store.stat(REF)
    assert store.put(DATA, "text/plain") == REF
    assert store.get(REF) == DATA
    info = store.stat(REF)
    assert info is not None
    assert (info.media_type, info.size) == ("text/plain", len(DATA))


def test_a_file_from_before_time_is_corrupt_until_the_next_put(store: ArtifactStore, path: Path) -> None:
    """Its date is its age, and no age is negative."""
    store.put(DATA, "text/plain")
    os.utime(_file(path), (-5, -5))

    with pytest.raises(Corrupt):
        store.stat(REF)
    store.put(DATA, "text/plain")
    assert store.stat(REF) is not None


@pytest.mark.parametrize("media_type", ["", "x" * 600, None, 5])
def test_a_media_type_that_no_file_could_say_is_refused(store: ArtifactStore, path: Path, media_type: str) -> None:
    """Before anything is written."""
    with pytest.raises(Invalid, match="media_type"):
        store.put(DATA, media_type)
    assert _files(path) == []


def _link(place: Path) -> None:
    (place.parent / "elsewhere").write_bytes(b'{"media_type": "x", "size": 10}\n' + DATA)
    place.symlink_to(place.parent / "elsewhere")


def _socket(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one, contextlib.chdir(place.parent):
        one.bind(place.name[:20])
        Path(place.name[:20]).rename(place)


STRANGERS: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a link": _link,
    "a link to nothing": lambda place: place.symlink_to("nowhere"),
    "a link to itself": lambda place: place.symlink_to(place),
    "a socket": _socket,
}


@pytest.mark.parametrize("what", STRANGERS)
def test_what_is_no_file_is_not_waited_for_nor_followed(store: ArtifactStore, path: Path, what: str) -> None:
    """It is Corrupt; a put takes its place, or says that it is in the way."""
    store.put(DATA, "text/plain")
    place = _file(path)
    place.unlink()
    STRANGERS[what](place)

    with pytest.raises(Corrupt, match="ordinary file"):
        store.get(REF)
    with pytest.raises(Corrupt, match="ordinary file"):
        store.stat(REF)
    if what == "a folder":
        with pytest.raises(Unavailable, match="is a folder; move it away"):
            store.put(DATA, "text/plain")
        place.rmdir()
    assert store.put(DATA, "text/plain") == REF
    assert store.get(REF) == DATA
    assert stat.S_ISREG(place.lstat().st_mode)
    assert [each.name for each in place.parent.iterdir() if each.name.startswith(".unfinished")] == []


def test_one_flipped_bit_is_corrupt(store: ArtifactStore, path: Path) -> None:
    """The size fits, the digest does not."""
    store.put(DATA, "text/plain")
    whole = _file(path).read_bytes()
    _file(path).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    with pytest.raises(Corrupt, match="not the ones"):
        store.get(REF)


@pytest.mark.parametrize("keep", [0, 1, 20, -1])
def test_putting_again_mends_a_torn_file(store: ArtifactStore, path: Path, keep: int) -> None:
    """A put answers for its bytes, so it looks at what is there."""
    store.put(DATA, "text/plain")
    whole = _file(path).read_bytes()
    _file(path).write_bytes(whole[:keep])
    with pytest.raises(Corrupt):
        store.stat(REF)

    store.put(DATA, "text/plain")

    assert store.get(REF) == DATA
    assert _file(path).read_bytes() == whole


def test_the_age_is_the_date_of_the_file(store: ArtifactStore, path: Path, clock: ManualClock) -> None:
    """By the clock that was given, so that a purge can look at it."""
    store.put(DATA, "text/plain")
    clock.advance(12_345)
    store.put(DATA, "text/plain")

    assert _file(path).stat().st_mtime_ns == clock.now() * 1_000_000


def test_what_is_unfinished_is_no_artifact(store: ArtifactStore, path: Path) -> None:
    """A crash left it there; it is neither found nor in the way, and the doctor counts it."""
    store.put(DATA, "text/plain")
    leftover = _file(path).parent / ".unfinished-abc"
    leftover.write_bytes(b"half")

    assert store.get(REF) == DATA
    assert store.put(DATA, "text/plain") == REF
    assert _doctor(path)["leftovers"].status == "warning"
    leftover.unlink()
    assert _doctor(path)["leftovers"].status == "ok"


# --- crashes ------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from nodeagent.providers import files
from nodeagent.providers.files import disk
place, path = sys.argv[1:]
real = getattr(disk, place)
def die(*args, **kwargs):
    if place.startswith("_"):
        real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
connection = files.nodeagent_connect(files.FilesSettings(path=path), "app", None, ())
store = files.nodeagent_artifact_store(connection)
setattr(disk, place, die)
store.put(b"some bytes", "text/plain")
"""


@pytest.mark.parametrize("place", ["write_whole", "sync", "_move"])
def test_a_killed_put_leaves_all_or_nothing(store: ArtifactStore, path: Path, place: str) -> None:
    """Before the write, before the sync, or after the move: never half of it."""
    found = subprocess.run([sys.executable, "-c", KILLED, place, str(path)], check=False)

    assert found.returncode == -signal.SIGKILL
    if place == "_move":
        assert store.get(REF) == DATA
    else:
        with pytest.raises(NotFound):
            store.get(REF)
    store.put(DATA, "text/plain")
    assert store.get(REF) == DATA


def test_a_put_syncs_file_then_folder(store: ArtifactStore, monkeypatch: MonkeyPatch) -> None:
    """The bytes are on the disk before they get their name, and the name before the answer."""
    deeds: list[str] = []

    def note(name: str, real: Callable[..., None]) -> Callable[..., None]:
        def deed(*args: object, **kwargs: object) -> None:
            real(*args, **kwargs)
            deeds.append(name)

        return deed

    store.put(b"another", "text/plain")
    for name in ("sync", "_move", "sync_folder"):
        monkeypatch.setattr(disk, name, note(name, getattr(disk, name)))

    store.put(DATA, "text/plain")

    assert deeds[-3:] == ["sync", "_move", "sync_folder"]


# --- a bad disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EDQUOT, "is full"),
        (errno.EACCES, "may not be used"),
        (errno.EROFS, "may not be used"),
        (errno.EIO, "cannot be used"),
    ],
)
def test_a_disk_that_refuses_is_unavailable(
    store: ArtifactStore, path: Path, monkeypatch: MonkeyPatch, number: int, words: str
) -> None:
    """One sentence that names the place, the reason as its cause, and nothing left behind."""

    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(disk, "sync", refuse)
        with pytest.raises(Unavailable, match=words) as caught:
            store.put(DATA, "text/plain")

    assert str(path) in str(caught.value)
    assert "some bytes" not in str(caught.value)
    assert isinstance(caught.value.__cause__, OSError)
    assert _files(path) == []
    assert store.put(DATA, "text/plain") == REF


def test_a_file_system_without_links_is_fine(store: ArtifactStore, path: Path, monkeypatch: MonkeyPatch) -> None:
    """There the file is moved to its place."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(Path, "hardlink_to", refuse)

    store.put(DATA, "text/plain")

    assert store.get(REF) == DATA
    assert len(_files(path)) == 1


def test_a_path_that_is_no_folder_is_told_when_opening(tmp_path: Path) -> None:
    """Not at the first artifact."""
    (tmp_path / "file").write_text("in the way", "utf-8")

    with pytest.raises(Unavailable):
        files.nodeagent_connect(FilesSettings(path=str(tmp_path / "file")), "app", None, ())


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: MonkeyPatch) -> None:
    """Later changes of the working directory move nothing."""
    monkeypatch.chdir(tmp_path)
    connection = files.nodeagent_connect(FilesSettings(path="here"), "app", None, ())
    store = files.nodeagent_artifact_store(connection)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    store.put(DATA, "text/plain")

    assert len(_files(tmp_path / "here")) == 1


# --- the doctor ---------------------------------------------------------------------------------


def test_a_sound_folder_is_ok(store: ArtifactStore, path: Path) -> None:
    """Every check is named, and none complains."""
    store.put(DATA, "text/plain")
    path.chmod(0o700)

    checks = _doctor(path)

    assert {name for name, check in checks.items() if check.status != "ok"} <= {"space"}
    assert set(checks) == {"folder", "mode", "space", "leftovers"}


def test_a_missing_or_open_folder_is_told(path: Path) -> None:
    """With what to do about it."""
    assert _doctor(path)["folder"].status == "failed"
    path.mkdir(parents=True)
    path.chmod(0o755)

    check = _doctor(path)["mode"]

    assert check.status == "warning"
    assert "755" in check.found
    assert check.remedy is not None
