"""The manual clock: time passes when told, and whoever waits for it wakes up."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from nodeagent import Clock
from nodeagent.testing import ManualClock

LONG = 30.0


def _thread(body: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=body)
    thread.start()
    return thread


def test_time_stands_still() -> None:
    """Until it is advanced."""
    clock: Clock = ManualClock(start=5)

    assert [clock.now() for _ in range(3)] == [5, 5, 5]
    assert clock.monotonic() == 0


def test_advancing_moves_both_times() -> None:
    """The wall clock in milliseconds, the monotonic one in seconds."""
    clock = ManualClock(start=1_000)

    assert clock.advance(1_500) == 2_500
    assert (clock.now(), clock.monotonic()) == (2_500, 1.5)


def test_setting_moves_the_wall_clock_alone() -> None:
    """As when somebody corrects a computer's clock, also backwards."""
    clock = ManualClock()
    clock.advance(1_000)

    clock.set(17)

    assert (clock.now(), clock.monotonic()) == (17, 1.0)


def test_time_does_not_pass_backwards() -> None:
    """That is what setting is for."""
    with pytest.raises(ValueError, match="forwards"):
        ManualClock().advance(-1)


def test_a_skewed_clock_moves_along() -> None:
    """Its wall clock is off, its durations are not."""
    clock = ManualClock(start=10_000)
    ahead: Clock = clock.skewed(3_600_000)
    clock.advance(500)

    assert ahead.now() == clock.now() + 3_600_000
    assert ahead.monotonic() == clock.monotonic()


def test_a_waiter_wakes_when_its_time_has_come() -> None:
    """And not before."""
    clock, woken = ManualClock(), threading.Event()

    def wait() -> None:
        clock.wait(threading.Event(), 10)
        woken.set()

    thread = _thread(wait)
    clock.until_waiting()
    clock.advance(9_999)
    assert not woken.wait(0.02)
    clock.advance(1)
    thread.join(LONG)

    assert woken.is_set()
    assert clock.waiting == 0


def test_a_waiter_wakes_when_its_event_is_set() -> None:
    """Without any time passing, with a deadline or without; on a skewed clock too."""
    clock = ManualClock()

    for seconds in (None, 3_600.0):
        for waited in (clock, clock.skewed(5)):
            event = threading.Event()
            thread = _thread(lambda w=waited, e=event, s=seconds: w.wait(e, s))  # type: ignore[misc]
            clock.until_waiting()
            event.set()
            thread.join(LONG)
            assert not thread.is_alive()


def test_a_time_that_has_come_is_not_waited_for() -> None:
    """Nor one in the past."""
    clock = ManualClock()

    clock.wait(threading.Event(), 0)
    clock.wait(threading.Event(), -1)

    assert clock.waiting == 0


def test_a_caller_that_looks_again_ends() -> None:
    """Sums of floats never leave it waiting for a hair of a second."""
    clock = ManualClock()
    clock.advance(100)
    deadline = clock.monotonic() + 0.2

    def wait() -> None:
        while clock.monotonic() < deadline:
            clock.wait(threading.Event(), deadline - clock.monotonic())

    thread = _thread(wait)
    clock.until_waiting()
    clock.advance(200)
    thread.join(LONG)

    assert not thread.is_alive()


def test_waiting_for_waiters_is_bounded() -> None:
    """A test that expects a waiter which never comes fails, with a sentence."""
    with pytest.raises(TimeoutError, match="expected 1 threads to wait"):
        ManualClock().until_waiting(within=0.01)
