"""Hints to look again: they arrive, they are not mixed up, and they end when told."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

import pytest

from nodeagent import Commit, Conflict, Put, Topic, Wake, Work

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

LONG = 30.0


class Ear:
    """A callback that remembers what it was called with."""

    def __init__(self) -> None:
        self.heard: queue.Queue[Wake] = queue.Queue()

    def __call__(self, wake: Wake) -> None:
        """Hear a hint."""
        self.heard.put(wake)

    def next(self) -> Wake:
        """Wait for the next hint."""
        return self.heard.get(timeout=LONG)

    def until(self, wake: Wake) -> list[Wake]:
        """Wait for this hint; return what came before it."""
        found: list[Wake] = []
        while (heard := self.next()) != wake:
            found.append(heard)
        return found


@pytest.mark.parametrize("wake", [Work("lane"), Topic("name"), Topic("é\0 ,:"), Work("x" * 512)])
def test_a_hint_arrives(bell: Lab, wake: Wake) -> None:
    """On a thread of the provider's."""
    threads: queue.Queue[threading.Thread] = queue.Queue()
    bell.one.wakeups.subscribe([wake], lambda _: threads.put(threading.current_thread()))

    bell.one.wakeups.notify([wake])

    assert threads.get(timeout=LONG) is not threading.current_thread()


def test_a_topic_reaches_every_subscriber(bell: Lab) -> None:
    """Of every handle."""
    ears = [Ear() for _ in range(3)]
    for ear in ears:
        bell.open().wakeups.subscribe([Topic("t")], ear)

    bell.one.wakeups.notify([Topic("t")])

    assert [ear.next() for ear in ears] == [Topic("t")] * 3


def test_work_reaches_a_subscriber(bell: Lab) -> None:
    """At least one of those who asked for the lane."""
    heard = Ear()
    for _ in range(3):
        bell.open().wakeups.subscribe([Work("lane")], heard)

    bell.one.wakeups.notify([Work("lane")])

    assert heard.next() == Work("lane")


def test_only_what_was_asked_for_arrives(bell: Lab) -> None:
    """Another lane, another name, and the same name of the other kind are not it."""
    ear = Ear()
    bell.one.wakeups.subscribe([Work("a"), Topic("end")], ear)

    bell.one.wakeups.notify([Work("b"), Topic("a"), Work("A"), Topic("b"), Work("end")])
    bell.one.wakeups.notify([Topic("end")])

    assert ear.until(Topic("end")) == []


def test_a_subscriber_hears_all_that_it_named(bell: Lab) -> None:
    """Each hint says which one it is."""
    ear = Ear()
    bell.one.wakeups.subscribe([Work("a"), Topic("a"), Work("b")], ear)

    bell.one.wakeups.notify([Work("a"), Topic("a"), Work("b")])

    assert {ear.next() for _ in range(3)} == {Work("a"), Topic("a"), Work("b")}


def test_namespaces_do_not_wake_one_another(bell: Lab) -> None:
    """The same name elsewhere is another one."""
    ear = Ear()
    bell.one.wakeups.subscribe([Topic("t"), Topic("end")], ear)

    bell.open("elsewhere of " + bell.namespace).wakeups.notify([Topic("t")])
    bell.one.wakeups.notify([Topic("end")])

    assert ear.until(Topic("end")) == []


def test_a_closed_subscription_is_silent(bell: Lab) -> None:
    """When close returns, nothing further is called; closing again does no harm."""
    closed, other = Ear(), Ear()
    subscription = bell.one.wakeups.subscribe([Topic("t")], closed)
    bell.one.wakeups.subscribe([Topic("t")], other)
    bell.one.wakeups.notify([Topic("t")])
    assert closed.next() == Topic("t")

    subscription.close()
    subscription.close()
    bell.one.wakeups.notify([Topic("t")])
    other.next()
    other.next()

    assert closed.heard.empty()


def test_closing_waits_for_a_running_callback(bell: Lab) -> None:
    """So that what the callback uses can be taken away."""
    entered, leave = threading.Event(), threading.Event()
    finished: list[str] = []

    def slow(_: Wake) -> None:
        entered.set()
        leave.wait(LONG)
        finished.append("callback")

    subscription = bell.one.wakeups.subscribe([Topic("t")], slow)
    bell.one.wakeups.notify([Topic("t")])
    assert entered.wait(LONG)

    def close() -> None:
        subscription.close()
        finished.append("close")

    closer = threading.Thread(target=close)
    closer.start()
    leave.set()
    closer.join(LONG)

    assert finished == ["callback", "close"]


def test_a_callback_may_close_its_own_subscription(bell: Lab) -> None:
    """It would wait for itself otherwise."""
    done = threading.Event()
    subscriptions: queue.Queue[object] = queue.Queue()

    def once(_: Wake) -> None:
        subscription = subscriptions.get(timeout=LONG)
        subscription.close()  # type: ignore[attr-defined]
        done.set()

    subscriptions.put(bell.one.wakeups.subscribe([Topic("t")], once))
    bell.one.wakeups.notify([Topic("t")])

    assert done.wait(LONG)


def test_a_callback_that_raises_disturbs_nobody(bell: Lab) -> None:
    """The others are called, and it is called again."""
    calls = threading.Semaphore(0)
    ear = Ear()

    def broken(_: Wake) -> None:
        calls.release()
        raise RuntimeError

    bell.one.wakeups.subscribe([Topic("t")], broken)
    bell.one.wakeups.subscribe([Topic("t")], ear)
    for _ in range(2):
        bell.one.wakeups.notify([Topic("t")])
        assert calls.acquire(timeout=LONG)
        assert ear.next() == Topic("t")


def test_a_hint_that_nobody_waits_for_is_lost(bell: Lab) -> None:
    """That is no error, and no hints are no error either."""
    bell.one.wakeups.notify([Work("nobody"), Topic("nobody")])
    bell.one.wakeups.notify([])

    bell.one.wakeups.notify([Topic("nobody")])


def test_a_commit_sends_its_hints(lab: Lab) -> None:
    """Where declared, the ledger sends them itself, after the write can be seen."""
    if not lab.one.capabilities.wakes_in_commit:
        return
    found: queue.Queue[object] = queue.Queue()
    lab.one.wakeups.subscribe([Work("lane")], lambda _: found.put(lab.one.jobs.get("job")))

    lab.enqueue(wake=(Work("lane"),))

    assert found.get(timeout=LONG) == lab.stored()


def test_many_commits_send_their_hints(lab: Lab) -> None:
    """Those that were applied; a refused commit sends none."""
    if not lab.one.capabilities.wakes_in_commit:
        return
    ear = Ear()
    lab.one.wakeups.subscribe([Topic("good"), Topic("bad")], ear)
    commits = [
        Commit.unfenced("1", Put(None, lab.job("a")), wake=(Topic("bad"),)),
        Commit.unfenced("2", Put(None, lab.job("b")), wake=(Topic("good"),)),
    ]
    lab.enqueue("a")

    refused, _ = lab.one.transactions.commit_many(commits)

    assert isinstance(refused, Conflict)
    assert ear.next() == Topic("good")


def test_a_closed_handle_calls_nobody(bell: Lab) -> None:
    """Closing the connection ends its subscriptions."""
    handle, ear, other = bell.open(), Ear(), Ear()
    handle.wakeups.subscribe([Topic("t")], ear)
    bell.one.wakeups.subscribe([Topic("t")], other)

    handle.close()
    bell.one.wakeups.notify([Topic("t")])
    other.next()

    assert ear.heard.empty()
