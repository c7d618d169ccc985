"""Asking a store again, with the same id, when its answer did not come."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import TypeVar

from nodeagent.clock import Clock
from nodeagent.errors import OutcomeUnknown, Unavailable

T = TypeVar("T")
LONGEST_PAUSE = 1.0


def _never() -> bool:
    return False


def insist(ask: Callable[[], T], clock: Clock, until: float, *, unless: Callable[[], bool] = _never) -> T:
    """Return what ``ask`` returns, asking again until the monotonic time ``until``, or until ``unless`` is true.

    ``ask`` must carry its own commit id or claim id, so that a repeat is recognised. The first repeat
    is immediate; later ones wait longer, with jitter. The last error is raised when time is up.
    """
    pause = 0.0
    while True:
        try:
            return ask()
        except (Unavailable, OutcomeUnknown):
            if unless() or clock.monotonic() + pause >= until:
                raise
        if pause:
            clock.wait(threading.Event(), pause * (0.5 + random.random() / 2))  # noqa: S311
        pause = min(pause * 2 or 0.02, LONGEST_PAUSE)
