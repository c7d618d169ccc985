"""Several processes on one file: fair to each other, safe across forks, and none hangs at its end."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from plugins.nodeagent_sqlite.tests.sqlite_lab import (
    Opener,
    Store,
    finished,
    fresh,
    open_store,
    run_python,
    step,
    steps_of,
)

from nodeagent import Claim, Lanes, Seq, Unavailable

INSERT = "INSERT INTO done VALUES (?)"

WRITER = """
import sys, time
from pathlib import Path
from sqlite_lab import fresh, open_store
from nodeagent import Lanes

name, path, seconds = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
store = open_store(path)
print("ready", flush=True)
sys.stdin.readline()
end = time.monotonic() + seconds
longest, count, before = 0.0, 0, time.monotonic()
while (now := time.monotonic()) < end:
    store.leases.claim(("thing", name, str(count)), "me", 60_000, fresh("claim"))
    after = time.monotonic()
    longest, count = max(longest, after - now), count + 1
print(count, longest)
"""


def test_no_process_starves(path: Path, store: Store) -> None:
    """Four processes that write as fast as they can all get their turn; none waits as long as it runs."""
    writers = [run_python(WRITER, name, path, 2) for name in "abcd"]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    told = [finished(writer).split() for writer in writers]
    counts = [int(count) for count, _ in told]

    assert min(counts) > 0
    assert max(float(longest) for _, longest in told) < 2
    assert store.leases.get(("thing", "a", "0")) is not None


def test_a_lock_that_is_never_given_up_is_unavailable(path: Path, opened: Opener) -> None:
    """Another program that keeps the write lock: the caller is told after busy_timeout_ms, and can read meanwhile."""
    store = opened(busy_timeout_ms=50)
    store.enqueue("j1")
    greedy = sqlite3.connect(path, isolation_level=None)
    greedy.execute("BEGIN IMMEDIATE")

    with pytest.raises(Unavailable, match="busy_timeout_ms"):
        store.enqueue("j2")
    assert store.jobs.get("j1") is not None

    greedy.execute("ROLLBACK")
    greedy.close()
    store.enqueue("j2")
    assert store.jobs.get("j2") is not None


def test_the_patience_is_real_time(path: Path, opened: Opener) -> None:
    """Callers who queue behind one that waits for the lock are all answered once their time is over."""
    store = opened(busy_timeout_ms=100)
    greedy = sqlite3.connect(path, isolation_level=None)
    greedy.execute("BEGIN IMMEDIATE")
    refused: list[Exception] = []

    def write() -> None:
        try:
            store.enqueue(fresh("job"))
        except Unavailable as error:
            refused.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    took = time.monotonic() - begun
    greedy.close()

    assert len(refused) == 8
    assert took < 5


@pytest.mark.parametrize(
    ("share", "call"),
    [
        (1 / 2, lambda store, _: store.scheduler.claim(Lanes(names=("due",)), "me", 500, fresh("claim"))),
        (1 / 2, lambda store, _: store.leases.claim(("thing", "new"), "me", 500, fresh("claim"))),
        (1 / 3, lambda store, held: store.leases.renew(held.lease, 500)),
    ],
    ids=["a job", "a lease", "a renewal"],
)
def test_nobody_waits_for_a_lease_as_long_as_it_lasts(
    path: Path, store: Store, share: float, call: Callable[[Store, Claim], object]
) -> None:
    """Another program keeps the write lock: a claim and a renewal are refused in a part of their time to live."""
    held = store.held()
    store.enqueue("j2", lane="due")
    greedy = sqlite3.connect(path, isolation_level=None)
    greedy.execute("BEGIN IMMEDIATE")

    begun = time.monotonic()
    with pytest.raises(Unavailable, match="try again"):
        call(store, held)
    took = time.monotonic() - begun
    greedy.execute("ROLLBACK")
    greedy.close()

    assert 0.5 * share <= took < 0.5
    call(store, held)


def test_nobody_waits_for_another_thread_as_long_as_a_lease_lasts(store: Store) -> None:
    """A thread of the same process is at work: the claim takes its place in the queue back, and takes nothing."""
    store.enqueue("j1")
    begins, ends = threading.Event(), threading.Event()

    def slow(_: sqlite3.Connection) -> None:
        begins.set()
        ends.wait(30)

    leader = threading.Thread(target=store.connection.database.write, args=(slow,))
    leader.start()
    begins.wait(30)
    begun = time.monotonic()
    try:
        with pytest.raises(Unavailable, match="longer than a lease may wait"):
            store.claim(ttl_ms=300)
        took = time.monotonic() - begun
    finally:
        ends.set()
        leader.join(30)

    assert took < 0.3
    assert store.claim().job.header.attempts == 1


def test_who_gives_up_leaves_the_others_in_the_queue(store: Store) -> None:
    """However often a thread gives up just when its turn comes, each atom is performed or refused, and nobody hangs."""
    database = store.connection.database
    refused = [0] * 8

    def work(number: int) -> None:
        for _ in range(60):
            try:
                database.write(lambda c: c.execute(INSERT, (number,)), within=0.0003)
            except Unavailable:
                refused[number] += 1

    database.write(lambda c: c.execute("CREATE TABLE done (by INTEGER)"))
    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert not any(thread.is_alive() for thread in threads)
    ((done,),) = database.read(lambda c: c.execute("SELECT count(*) FROM done").fetchall())
    assert done + sum(refused) == 8 * 60
    store.enqueue("j2")


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_forked_child_goes_on_with_the_store(store: Store, *, is_busy: bool) -> None:
    """After a fork parent and child both use what the parent opened, also when threads were at work."""
    claim = store.held("parent")
    stop = threading.Event()
    done = [0, 0, 0]

    def work(number: int) -> None:
        while not stop.is_set():
            store.transactions.commit(step(claim, f"{number} {done[number]}"))
            store.jobs.get("parent")
            done[number] += 1

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)] if is_busy else []
    for thread in threads:
        thread.start()
    context = multiprocessing.get_context("fork")
    try:
        for _ in range(3):
            mine, theirs = context.Pipe()
            child = context.Process(target=_child, args=(store, theirs))
            child.start()
            assert mine.poll(60), "the child says nothing"
            assert mine.recv() == list(range(1, 21))
            child.join(30)
            assert child.exitcode == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)
    store.transactions.commit(step(claim, "last"))

    recorded = store.journal.read(steps_of("parent"), Seq(0), 100_000).items
    assert len(recorded) == sum(done) + 1
    with closing(sqlite3.connect(store.path)) as other:
        assert other.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _child(store: Store, told: multiprocessing.connection.Connection) -> None:
    name = f"child {os.getpid()}"
    claim = store.held(name)
    told.send([store.transactions.commit(step(claim, str(i))).seqs[0] for i in range(20)])


def test_a_fork_closes_and_reopens(store: Store) -> None:
    """No connection crosses a fork: the child finds none, the parent opens new ones."""
    store.enqueue("j1")
    store.jobs.get("j1")
    database = store.connection.database
    assert database._known

    if (child := os.fork()) == 0:
        is_clean = not database._known and store.jobs.get("j1") is not None
        os._exit(0 if is_clean else 1)
    _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 0
    assert store.jobs.get("j1") is not None


FORKED_BEHIND_OUR_BACK = """
import ctypes, os, sys
from pathlib import Path
from sqlite_lab import open_store

store = open_store(Path(sys.argv[1]))
store.enqueue("j1")
store.jobs.get("j1")
child = ctypes.CDLL(None).fork()
if child == 0:
    ok = store.jobs.get("j1") is not None
    store.enqueue("j2")
    os._exit(0 if ok else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert store.jobs.get("j2") is not None
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library's name differs")
def test_a_fork_that_python_does_not_see(path: Path) -> None:
    """A process that was forked by foreign code notices by its id, and leaves the parent's connections alone."""
    finished(run_python(FORKED_BEHIND_OUR_BACK, path))


NEVER_CLOSED = """
import sys, threading
from pathlib import Path
from sqlite_lab import open_store
from nodeagent import Topic

store = open_store(Path(sys.argv[1]))
store.enqueue("j1")
subscription = store.wakeups.subscribe([Topic("a")], print)
threading.Thread(target=store.jobs.get, args=("j1",)).start()
print("end", flush=True)
"""


def test_a_process_ends_without_closing(path: Path) -> None:
    """Nobody has to close anything: the process ends by itself, and the file is whole."""
    process = run_python(NEVER_CLOSED, path)
    assert process.stdout is not None
    process.stdout.readline()
    begun = time.monotonic()
    finished(process)

    assert time.monotonic() - begun < 1
    store = open_store(path)
    assert store.jobs.get("j1") is not None
    store.connection.close()
