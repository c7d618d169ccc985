"""Waiting for other processes, fairly.

SQLite's own busy handler backs off so regularly that a process that commits in a loop starves another one for
seconds. A random pause of at most 5 ms is fair: everybody gets the lock within moments.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from typing import Final, TypeVar

from nodeagent_sqlite.faults import is_busy

T = TypeVar("T")

SHORTEST_PAUSE: Final = 0.0001
LONGEST_PAUSE: Final = 0.005


def patiently(action: Callable[[], T], deadline: float) -> T:
    """Return what ``action`` returns, repeated while the database is locked, until the monotonic ``deadline``.

    Real time, never a given clock: a manual clock controls what is stored, not how long a process waits.
    """
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() >= deadline:
                raise
        time.sleep(random.uniform(SHORTEST_PAUSE, LONGEST_PAUSE))  # noqa: S311 - no secret
