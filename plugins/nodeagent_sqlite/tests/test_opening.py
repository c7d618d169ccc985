"""Opening a file: made private, brought to the schema once, refused with a sentence where it cannot work."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from plugins.nodeagent_sqlite.tests.sqlite_lab import Opener, Store, finished, open_store, run_python

from nodeagent import Corrupt, Lanes, SchemaMismatch, Unavailable
from nodeagent_sqlite import database, filesystem, schema
from nodeagent_sqlite.connection import SqliteConnection

OPEN = """
import sys
from pathlib import Path
from sqlite_lab import open_store

path = Path(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
store = open_store(path)
store.enqueue(f"job {sys.argv[2]}")
store.connection.close()
"""

KILLED_IN_MIGRATION = """
import os, signal, sys
from pathlib import Path
from sqlite_lab import open_store
from nodeagent_sqlite import schema

split, count = schema.split, 0

def deadly(script):
    global count
    for statement in split(script):
        count += 1
        if count == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield statement

schema.split = deadly
open_store(Path(sys.argv[1]))
"""


def _open_together(path: Path, count: int) -> None:
    processes = [run_python(OPEN, path, number) for number in range(count)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        finished(process)
    store = open_store(path)
    missing = [number for number in range(count) if store.jobs.get(f"job {number}") is None]
    applied = len(schema.migrations())
    rows = store.connection.database.read(lambda c: c.execute("SELECT count(*) FROM nodeagent_migrations").fetchone())
    store.connection.close()
    assert missing == []
    assert rows == (applied,)


def test_eight_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    """All of them work, and the schema is applied once."""
    _open_together(tmp_path / "new.db", 8)


@pytest.mark.full
def test_eight_processes_open_a_new_file_at_once_often(tmp_path: Path) -> None:
    """Twenty rounds of the same."""
    for number in range(20):
        _open_together(tmp_path / f"{number}.db", 8)


@pytest.mark.parametrize("statement", [1, 7, 30])
def test_a_kill_in_the_middle_of_a_migration(path: Path, statement: int) -> None:
    """A process that is killed while it makes the tables leaves a file that the next one opens."""
    process = run_python(KILLED_IN_MIGRATION, path, statement)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL

    store = open_store(path)
    store.enqueue("j1")
    assert store.maintenance.schema().is_current
    store.connection.close()


def test_files_are_private_from_their_first_moment(store: Store) -> None:
    """The database, its log and its shared memory have mode 0600, their folder 0700, whatever the umask."""
    store.enqueue("j1")

    files = sorted(store.path.parent.iterdir())
    assert [file.name for file in files] == [
        "nodeagent.db",
        "nodeagent.db-shm",
        "nodeagent.db-wal",
    ]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700


def test_wal_and_full_are_in_force(store: Store) -> None:
    """Every connection commits durably, which is why the store says so."""
    database = store.connection.database
    modes = database.write(
        lambda c: [c.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    )

    assert modes == ["wal", 2]
    assert store.connection.capabilities.durable


@pytest.mark.parametrize("kind", ["folder", "text", "stranger", "damaged"])
def test_what_is_no_database_of_ours_is_refused(tmp_path: Path, kind: str) -> None:
    """A folder, a text file, a stranger's database, a damaged one: one sentence each, and nothing is changed."""
    path = tmp_path / "it"
    expected: type[Exception] = Corrupt
    if kind == "folder":
        path.mkdir()
        expected = Unavailable
    elif kind == "text":
        path.write_text("Dear diary, today " * 1000)
    elif kind == "stranger":
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE jobs (id)")
        other.close()
        expected = SchemaMismatch
    else:
        open_store(path).connection.close()
        data = bytearray(path.read_bytes())
        data[100:8000] = os.urandom(7900)
        path.write_bytes(data)
    before = path.read_bytes() if path.is_file() else None

    with pytest.raises(expected) as caught:
        open_store(path)

    assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_path_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Permissions are looked at before anything is opened."""
    path = tmp_path / "x.db"
    open_store(path).connection.close()
    monkeypatch.setattr(os, "access", lambda *_, **__: False)

    with pytest.raises(Unavailable, match="permissions"):
        open_store(path)


def test_a_path_below_a_file(tmp_path: Path) -> None:
    """A folder that cannot be made is a sentence, not an OSError."""
    (tmp_path / "file").touch()

    with pytest.raises(Unavailable, match="could not be made"):
        open_store(tmp_path / "file" / "x.db")


def test_memory_is_another_provider() -> None:
    """``:memory:`` would be a store that only one connection sees."""
    with pytest.raises(Unavailable, match="memory"):
        open_store(Path(":memory:"))


def _removed(path: Path) -> None:
    shutil.rmtree(path.parent)


def _replaced(path: Path) -> None:
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    copy.replace(path)


@pytest.mark.parametrize("lose", [_removed, _replaced])
@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.enqueue("j2"),
        lambda store: store.scheduler.claim(Lanes(names=("empty",)), "me", 1000, "c"),
        lambda store: store.jobs.get("j1"),
    ],
    ids=["a write", "an idle claim", "a read"],
)
def test_a_file_that_lost_its_name_is_unavailable(
    path: Path, store: Store, lose: Callable[[Path], None], call: Callable[[Store], object]
) -> None:
    """Nobody else would ever see what is written to it; who opens the path anew is served."""
    store.enqueue("j1")
    lose(path)
    store.connection.database._next_look = 0.0

    for _ in range(2):
        with pytest.raises(Unavailable, match=r"removed or replaced under .*nodeagent.db'; restart"):
            call(store)
    fresh_one = open_store(path)
    fresh_one.enqueue("j3")
    fresh_one.connection.close()


def test_a_file_that_came_back_is_used_again(path: Path, store: Store) -> None:
    """It is the same file as before."""
    elsewhere = path.with_name("elsewhere.db")
    path.rename(elsewhere)
    store.connection.database._next_look = 0.0
    with pytest.raises(Unavailable, match="removed or replaced"):
        store.enqueue("j1")

    elsewhere.rename(path)

    store.enqueue("j1")
    assert store.jobs.get("j1") is not None


def test_a_new_connection_goes_to_the_same_file_or_nowhere(path: Path, store: Store) -> None:
    """Also when its path was looked at a moment ago: a burst of readers, or a process after a fork, opens anew."""
    _replaced(path)
    store.connection.database._next_look = time.monotonic() + 100
    store.connection.database.before_fork()
    store.connection.database.after_fork()

    with pytest.raises(Unavailable, match="removed or replaced"):
        store.jobs.get("j1")
    with pytest.raises(Unavailable, match="removed or replaced"):
        store.enqueue("j1")


def test_the_path_is_looked_at_now_and_then(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not at every call, which would cost a look-up of the file system each."""
    looks: list[str] = []
    real = database._identity_of

    def counted(path: str) -> tuple[int, int] | None:
        looks.append(path)
        return real(path)

    monkeypatch.setattr(database, "_identity_of", counted)
    begun = time.monotonic()

    for number in range(50):
        store.enqueue(f"j{number}")

    assert len(looks) <= 1 + (time.monotonic() - begun) / database.LOOK_EVERY


LINUX = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:35 / /home rw shared:2 - nfs4 server:/home rw
41 40 0:36 / /home/local\\040disk rw - ext4 /dev/vdb rw
42 22 0:37 / /mnt/s rw - fuse.sshfs me@there: rw
43 22 0:38 / /mnt/v rw - virtiofs share rw
44 22 0:39 / /mnt/w rw - 9p C: rw
45 22 0:40 / /mnt/c rw - cifs //server/share rw
46 22 0:41 / /mnt/t rw - tmpfs tmpfs rw
"""
MACOS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//me@server/share on /Volumes/share (smbfs, nodev, nosuid, mounted by me)
/dev/disk4s1 on /Volumes/My (old) disk (apfs, local, nodev)
"""


@pytest.mark.parametrize(
    ("table", "path", "found"),
    [
        (LINUX, "/var/x.db", None),
        (LINUX, "/home/me/x.db", "nfs4"),
        (LINUX, "/homely/x.db", None),
        (LINUX, "/home/local disk/x.db", None),
        (LINUX, "/mnt/s/x.db", "fuse.sshfs"),
        (LINUX, "/mnt/v/x.db", "virtiofs"),
        (LINUX, "/mnt/w/x.db", "9p"),
        (LINUX, "/mnt/c/x.db", "cifs"),
        (LINUX, "/mnt/t/x.db", None),
        (MACOS, "/Users/me/x.db", None),
        (MACOS, "/Volumes/share/x.db", "smbfs"),
        (MACOS, "/Volumes/My (old) disk/x.db", None),
        ("", "/var/x.db", None),
    ],
)
def test_network_file_systems(table: str, path: str, found: str | None) -> None:
    """The mount that holds the path decides; what nobody knows is taken for a local disk."""
    assert filesystem.network_type(Path(path), lambda: table) == found


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made there: WAL would damage it within a minute."""
    monkeypatch.setattr(filesystem, "_read_mounts", lambda: "1 1 0:1 / / rw - nfs4 server:/ rw\n")

    with pytest.raises(Unavailable, match="'nfs4'"):
        open_store(tmp_path / "deep" / "x.db")
    assert not (tmp_path / "deep").exists()


def test_namespaces_are_strangers(opened: Opener) -> None:
    """Two namespaces of one file have the same ids and see nothing of each other."""
    first, second = opened(namespace="first"), opened(namespace="second")
    first.enqueue("j1")

    assert second.jobs.get("j1") is None
    second.enqueue("j1")
    first.maintenance.drop_namespace()
    assert first.jobs.get("j1") is None
    assert second.jobs.get("j1") is not None
    assert isinstance(second.connection, SqliteConnection)
