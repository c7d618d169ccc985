"""A clock that stands still until a test moves it."""

from __future__ import annotations

import threading
from typing import Final

from nodeagent.clock import Ms

START: Final = Ms(1_700_000_000_000)
"""Where a manual clock begins unless it is told otherwise: a day in November 2023."""
GLANCE: Final = 0.002
"""Real seconds between two looks of a waiter: one cannot wait for an event and a clock at once."""
_MS: Final = 1_000_000


class ManualClock:
    """A :class:`~nodeagent.Clock` whose time passes only by :meth:`advance`.

    Give it to a backend, a worker or both, and a test covers hours without sleeping::

        clock = ManualClock()
        backend = open_provider("memory", namespace="test", clock=clock)
        ...
        clock.advance(30_000)    # half a minute later

    Any number of threads may use it.
    """

    def __init__(self, start: int = START) -> None:
        self._now = start
        self._passed = 0  # nanoseconds
        self._waiting = 0
        self._changed = threading.Condition()

    def now(self) -> Ms:
        """Return the wall-clock time in milliseconds since the epoch."""
        with self._changed:
            return Ms(self._now)

    def monotonic(self) -> float:
        """Return the seconds by which this clock was advanced; setting it changes nothing here."""
        with self._changed:
            return self._passed / 1e9

    def wait(self, event: threading.Event, seconds: float | None) -> None:
        """Return when ``event`` is set or that time has passed on this clock (None: never).

        A wait also takes one nanosecond of this clock: a caller whose sum of floats ends a hair
        behind the time that a test advanced to would otherwise wait for that hair for ever.
        """
        with self._changed:
            deadline = None if seconds is None else self._passed + int(seconds * 1e9)
            self._waiting += 1
            self._changed.notify_all()
        try:
            while not event.is_set() and (deadline is None or self._passed < deadline):
                event.wait(GLANCE)
        finally:
            with self._changed:
                self._passed += 1
                self._waiting -= 1
                self._changed.notify_all()

    def advance(self, ms: int) -> Ms:
        """Let ``ms`` milliseconds pass; whoever waits for less wakes up. Return the new time."""
        if ms < 0:
            raise ValueError(f"time passes forwards, so advance by 0 ms or more, not by {ms}")
        with self._changed:
            self._now += ms
            self._passed += ms * _MS
            return Ms(self._now)

    def set(self, ms: int) -> None:
        """Set the wall clock, backwards or forwards, as an operator or a time server does."""
        with self._changed:
            self._now = ms

    def skewed(self, ms: int) -> SkewedClock:
        """Return the clock of another computer, whose wall clock is ``ms`` ahead (or behind)."""
        return SkewedClock(self, ms)

    @property
    def waiting(self) -> int:
        """How many threads wait on this clock now."""
        with self._changed:
            return self._waiting

    def until_waiting(self, count: int = 1, *, within: float = 30.0) -> None:
        """Return when at least ``count`` threads wait on this clock, so that it is time to advance.

        Raises :class:`TimeoutError` if they do not within that many real seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting >= count, timeout=within):
                found = self._waiting
                raise TimeoutError(f"expected {count} threads to wait on the clock, found {found}")


class SkewedClock:
    """A clock that moves with a :class:`ManualClock` and shows another wall-clock time."""

    def __init__(self, clock: ManualClock, ms: int) -> None:
        self._clock = clock
        self._ahead = ms

    def now(self) -> Ms:
        """Return the other clock's time and the skew."""
        return Ms(self._clock.now() + self._ahead)

    def monotonic(self) -> float:
        """Return the other clock's seconds."""
        return self._clock.monotonic()

    def wait(self, event: threading.Event, seconds: float | None) -> None:
        """Wait on the other clock."""
        self._clock.wait(event, seconds)
