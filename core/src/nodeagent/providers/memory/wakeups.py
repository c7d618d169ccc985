"""Hints to look again, delivered on one thread of this provider's.

A hint goes to every subscriber, also a ``Work`` hint: a subscriber that is busy would lose it, and
one that looks in vain loses nothing. What a callback raises is dropped: a hint is never a fact.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from attrs import define, field

from nodeagent import Subscription, Wake

if TYPE_CHECKING:
    from nodeagent.providers.memory.connection import MemoryConnection


@define(eq=False)
class MemorySubscription:
    """A callback, and the lock that it runs under so that :meth:`close` can wait for it."""

    wakes: frozenset[Wake]
    callback: Callable[[Wake], None]
    owner: object
    hub: Hub
    is_open: bool = True
    running: threading.RLock = field(factory=threading.RLock)

    def deliver(self, wake: Wake) -> None:
        """Call back, unless it was closed in the meantime."""
        with self.running, contextlib.suppress(Exception):
            if self.is_open:
                self.callback(wake)

    def close(self) -> None:
        """End it and wait for a running callback, which may itself close its subscription."""
        self.hub.remove(self)
        with self.running:
            self.is_open = False


@define(eq=False)
class Hub:
    """The subscriptions of one namespace."""

    _subscriptions: tuple[MemorySubscription, ...] = ()
    _lock: threading.Lock = field(factory=threading.Lock)

    def add(self, subscription: MemorySubscription) -> None:
        """Begin to deliver to it."""
        with self._lock:
            self._subscriptions += (subscription,)

    def remove(self, subscription: MemorySubscription) -> None:
        """Deliver nothing further to it."""
        with self._lock:
            self._subscriptions = tuple(s for s in self._subscriptions if s is not subscription)

    def leave(self, owner: object) -> None:
        """Close every subscription of one connection."""
        for subscription in self._subscriptions:
            if subscription.owner is owner:
                subscription.close()

    def send(self, wakes: Iterable[Wake]) -> None:
        """Hand the hints to the thread that delivers them."""
        subscriptions = self._subscriptions
        for wake in wakes:
            for subscription in subscriptions:
                if wake in subscription.wakes:
                    _postman.post(subscription, wake)


class _Postman:
    """The one thread that calls back; it starts with the first hint, also in a forked child."""

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._letters: queue.SimpleQueue[tuple[MemorySubscription, Wake]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def post(self, subscription: MemorySubscription, wake: Wake) -> None:
        with self._lock:
            if self._thread is None:
                name = "nodeagent-memory-wakeups"
                self._thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._thread.start()
        self._letters.put((subscription, wake))

    def _run(self) -> None:
        while True:
            subscription, wake = self._letters.get()
            subscription.deliver(wake)


_postman: Final = _Postman()


@define(eq=False)
class MemoryWakeups:
    """Sends hints and calls back on them, within this process."""

    _connection: MemoryConnection

    def notify(self, wakes: Sequence[Wake]) -> None:
        """Send hints."""
        self._connection.store.hub.send(wakes)

    def subscribe(self, wakes: Sequence[Wake], wake: Callable[[Wake], None]) -> Subscription:
        """Call ``wake`` for each hint that arrives from now on."""
        hub = self._connection.store.hub
        subscription = MemorySubscription(frozenset(wakes), wake, self._connection, hub)
        hub.add(subscription)
        return subscription
