"""Time, as something that can be given: the host's clock here, a manual one in tests."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NewType, Protocol

if TYPE_CHECKING:
    import threading

Ms = NewType("Ms", int)
"""Milliseconds: since the epoch for a point in time, else a duration."""


class Clock(Protocol):
    """A wall clock for stored times, a monotonic one for durations, and the one way to wait."""

    def now(self) -> Ms:
        """Return the wall-clock time in milliseconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go backwards; only differences mean anything."""
        ...

    def wait(self, event: threading.Event, seconds: float | None) -> None:
        """Return when ``event`` is set or the time has passed (None: never); may return early.

        A caller looks at the world again afterwards instead of trusting the reason.
        """
        ...


class HostClock:
    """The clock of this computer."""

    def now(self) -> Ms:
        """Return the wall-clock time in milliseconds since the epoch."""
        return Ms(time.time_ns() // 1_000_000)

    def monotonic(self) -> float:
        """Return :func:`time.monotonic`."""
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float | None) -> None:
        """Wait in bounded pieces, because the operating system bounds a single wait."""
        event.wait(None if seconds is None else min(seconds, 86_400.0))
