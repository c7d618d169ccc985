"""Hints: between processes, within one, and never in anybody's way."""

from __future__ import annotations

import os
import socket
import stat
import threading
from pathlib import Path

import pytest
from attrs import evolve
from plugins.nodeagent_sqlite.tests.sqlite_lab import Opener, Store, enqueuing, finished, open_store, run_python

from nodeagent import Topic, Unavailable, Wake, Work
from nodeagent_sqlite.wakeups import Post, hash_of


class Heard:
    """Collects hints, and waits for them."""

    def __init__(self) -> None:
        self.hints: list[Wake] = []
        self._changed = threading.Condition()

    def __call__(self, wake: Wake) -> None:
        """Note a hint."""
        with self._changed:
            self.hints.append(wake)
            self._changed.notify_all()

    def until(self, wake: Wake, *, within: float = 30) -> bool:
        """Wait until this hint arrives."""
        with self._changed:
            return self._changed.wait_for(lambda: wake in self.hints, within)


NOTIFY = """
import sys
from pathlib import Path
from nodeagent import Topic, Work
from sqlite_lab import enqueuing, open_store
from attrs import evolve

store = open_store(Path(sys.argv[1]))
store.wakeups.notify([Topic("told")])
store.transactions.commit(evolve(enqueuing("j1"), wake=(Work("mail"),)))
"""


def test_another_process_is_heard(store: Store) -> None:
    """A hint that another process sends, by itself or with a commit, arrives without polling."""
    heard = Heard()
    subscription = store.wakeups.subscribe([Topic("told"), Work("mail")], heard)

    finished(run_python(NOTIFY, store.path))

    assert heard.until(Topic("told"))
    assert heard.until(Work("mail"))
    assert store.jobs.get("j1") is not None
    subscription.close()


def test_everybody_hears_a_topic(opened: Opener) -> None:
    """Subscribers of several connections, and several of one, all hear it; other namespaces do not."""
    first, second, stranger = opened(), opened(), opened(namespace="stranger")
    ears = [Heard() for _ in range(4)]
    first.wakeups.subscribe([Topic("t")], ears[0])
    first.wakeups.subscribe([Topic("t")], ears[1])
    second.wakeups.subscribe([Topic("t")], ears[2])
    stranger.wakeups.subscribe([Topic("t"), Topic("end")], ears[3])

    second.wakeups.notify([Topic("t"), Work("t")])

    assert all(ear.until(Topic("t")) for ear in ears[:3])
    stranger.wakeups.notify([Topic("end")])
    assert ears[3].until(Topic("end"))
    assert ears[3].hints == [Topic("end")]


def test_a_flood_loses_nothing(opened: Opener) -> None:
    """The operating system keeps ten datagrams; a subscriber that is slow is told to look at everything."""
    store = opened()
    topics = [Topic(f"topic {number}") for number in range(200)]
    heard, go = Heard(), threading.Event()

    def slowly(wake: Wake) -> None:
        go.wait(30)
        heard(wake)

    store.wakeups.subscribe([Topic("first"), *topics], slowly)
    store.wakeups.notify([Topic("first")])
    for topic in topics:
        store.wakeups.notify([topic])
    go.set()

    assert all(heard.until(topic) for topic in topics)


def test_more_hints_than_a_datagram_holds(store: Store) -> None:
    """Ten thousand hints at once, of the longest names, arrive."""
    last = Topic("é" * 256)
    heard = Heard()
    store.wakeups.subscribe([last], heard)

    store.wakeups.notify([*(Topic(f"{n:0512d}") for n in range(10_000)), last])

    assert heard.until(last)


def test_the_dead_are_removed_and_the_stopped_do_not_block(store: Store) -> None:
    """A socket that nobody reads is unlinked by whoever notices; one that is full costs nothing."""
    folder = store.connection.post.folder
    subscription = store.wakeups.subscribe([Topic("t")], Heard())
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    dead.bind(str(folder / "dead.s"))
    dead.close()
    stopped = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    stopped.bind(str(folder / "stopped.s"))

    for _ in range(2000):
        store.wakeups.notify([Topic("t")])

    assert not (folder / "dead.s").exists()
    assert (folder / "stopped.s!").exists()
    stopped.close()
    subscription.close()


def test_after_close_nothing_is_called(store: Store) -> None:
    """Once close has returned the callback is not running and is not called again, and the socket is gone."""
    running = threading.Event()
    calls: list[Wake] = []

    def callback(wake: Wake) -> None:
        running.set()
        calls.append(wake)

    subscription = store.wakeups.subscribe([Topic("t")], callback)
    store.wakeups.notify([Topic("t")])
    assert running.wait(30)
    subscription.close()
    heard = len(calls)
    store.wakeups.notify([Topic("t")])
    subscription.close()

    assert len(calls) == heard
    assert not store.connection.post.folder.exists()


def test_a_callback_may_raise_and_may_close(store: Store) -> None:
    """What a callback does is its own affair: the next hint is delivered, closing oneself does not hang."""
    heard = Heard()
    closed = threading.Event()

    def callback(wake: Wake) -> None:
        heard(wake)
        if wake == Topic("end"):
            subscription.close()
            closed.set()
        raise ZeroDivisionError

    subscription = store.wakeups.subscribe([Topic("t"), Topic("end")], callback)
    store.wakeups.notify([Topic("t")])
    assert heard.until(Topic("t"))
    store.wakeups.notify([Topic("end")])

    assert closed.wait(30)


def test_a_new_subscriber_is_found_at_once(store: Store) -> None:
    """Senders remember who listens, but never so long that a newcomer is missed."""
    for number in range(50):
        topic = Topic(f"t{number}")
        heard = Heard()
        subscription = store.wakeups.subscribe([topic], heard)
        store.wakeups.notify([topic])
        assert heard.until(topic)
        subscription.close()


def test_commits_wake_also_when_repeated(store: Store) -> None:
    """A commit sends its hints after it is durable, a duplicate once more, a commit of many all of them."""
    heard = Heard()
    store.wakeups.subscribe([Work("mail"), Work("post")], heard)
    commit = evolve(enqueuing("j1"), wake=(Work("mail"),))

    store.transactions.commit(commit)
    assert heard.until(Work("mail"))
    heard.hints.clear()
    store.transactions.commit(commit)
    assert heard.until(Work("mail"))
    store.transactions.commit_many([evolve(enqueuing("j2"), wake=(Work("post"),))])
    assert heard.until(Work("post"))


def test_the_folder_is_private(store: Store) -> None:
    """It is made with mode 0700; one that others may write to is refused."""
    subscription = store.wakeups.subscribe([Topic("t")], Heard())
    folder = store.connection.post.folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    folder.chmod(0o777)

    with pytest.raises(Unavailable, match="yours alone"):
        store.wakeups.subscribe([Topic("t")], Heard())
    store.wakeups.notify([Topic("t")])
    subscription.close()


def test_the_folder_has_a_short_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of a socket may have about 100 bytes, wherever the database and the temporary folder are."""
    monkeypatch.setattr("tempfile.gettempdir", lambda: f"/var/{'x' * 90}")
    database = tmp_path / ("long" * 40) / "x.db"

    folder = Post(database, "test", None).folder

    assert len(os.fsencode(folder)) < 80
    assert folder == Post(database.parent / ".." / database.parent.name / "x.db", "a", None).folder


def test_a_link_to_the_file_meets_the_others(tmp_path: Path) -> None:
    """Processes that open one file by different names meet in one folder."""
    open_store(tmp_path / "x.db").connection.close()
    (tmp_path / "link.db").symlink_to(tmp_path / "x.db")

    folders = {Post(tmp_path / name, "a", None).folder for name in ("x.db", "link.db")}

    assert len(folders) == 1


def test_hashes_tell_names_apart() -> None:
    """Namespace, kind and name all count, and no two combinations run into each other."""
    hints: list[tuple[str, Wake]] = [("a", Topic("b")), ("a", Work("b")), ("a\0topic", Topic("b")), ("ab", Topic("b"))]

    assert len({hash_of(namespace, wake) for namespace, wake in hints}) == len(hints)
