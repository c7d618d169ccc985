"""Hints to look again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from nodeagent.records.wake import Wake


class Subscription(Protocol):
    """A running subscription."""

    def close(self) -> None:
        """End it; when this returns, the callback is not running and will not be called again."""
        ...


class Wakeups(Protocol):
    """Sends hints, and calls back on them. Correctness never depends on one."""

    def notify(self, wakes: Sequence[Wake]) -> None:
        """Send hints. A hint that gets lost never raises."""
        ...

    def subscribe(self, wakes: Sequence[Wake], wake: Callable[[Wake], None]) -> Subscription:
        """Call ``wake`` on a thread of the provider's for each hint that arrives; it must return soon.

        A ``Work`` hint reaches at least one subscriber of its lane, a ``Topic`` hint all of them.
        """
        ...
