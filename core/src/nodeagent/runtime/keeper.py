"""Heartbeats: one thread that renews every lease a worker holds."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Final

from nodeagent.clock import Clock
from nodeagent.errors import LeaseLost
from nodeagent.runtime.events import Observers
from nodeagent.runtime.holding import Holding

if TYPE_CHECKING:
    from nodeagent.backend import Backend

RETRY_SHARE: Final = 10
"""After a failed renewal the next one follows within this part of the time to live."""


class Keeper:
    """Renews at a third of the time to live, and enforces the timeout of attempts.

    It writes leases only. It runs in a thread of its own, so that a body that blocks an event loop or the
    worker's loop does not lose its lease unnoticed.
    """

    def __init__(self, backend: Backend, clock: Clock, observers: Observers) -> None:
        self._backend = backend
        self._clock = clock
        self._observers = observers
        self._held: set[Holding] = set()
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_at = math.inf
        """When the thread looks again by itself."""

    def hold(self, holding: Holding) -> None:
        """Renew this lease until it is dropped or lost."""
        with self._lock:
            self._held.add(holding)
            # A thread that a fork has left behind is not alive.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="nodeagent-keeper", daemon=True)
                self._thread.start()
            is_next = holding.renew_at < self._next_at
        if is_next:
            self._changed.set()

    def begin(self, holding: Holding, timeout_ms: int | None) -> None:
        """Let the attempt's timeout run from now."""
        if timeout_ms is not None:
            holding.timeout_at = self._clock.monotonic() + timeout_ms / 1000
            self._changed.set()

    def drop(self, holding: Holding) -> None:
        """Renew this lease no more."""
        with self._lock:
            self._held.discard(holding)

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._held.clear()
        self._changed.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._thread is not threading.current_thread():
                    return
                held = list(self._held)
            now = self._clock.monotonic()
            self._changed.clear()
            next_at = min((self._tend(holding, now) for holding in held), default=math.inf)
            with self._lock:
                is_stale = self._thread is not threading.current_thread() or set(held) ^ self._held
                self._next_at = next_at
            if not is_stale:
                left = None if next_at == math.inf else max(next_at - self._clock.monotonic(), 0.0)
                self._clock.wait(self._changed, left)

    def _tend(self, holding: Holding, now: float) -> float:
        """Do what is due for one lease, and return when to look at it next."""
        if holding.fate in ("timeout", "expired", "lost") or now >= holding.deadline:
            self.drop(holding)
            return math.inf
        if now >= holding.renew_at:
            self.renew(holding)
        times_out_at = math.inf if holding.timeout_at is None else holding.timeout_at
        return min(holding.renew_at, times_out_at, holding.deadline)

    def renew(self, holding: Holding) -> bool:
        """Renew one lease now, and return whether that is known to have worked."""
        asked_at = self._clock.monotonic()
        try:
            holding.renewed(self._backend.leases.renew(holding.lease, holding.ttl_ms), asked_at)
        except LeaseLost:
            holding.stop("lost")
            return False
        except Exception:  # noqa: BLE001 - whatever it was, the other leases must go on being renewed
            self._observers.emit("store.unavailable", holding.claim.job.id)
            holding.put_off(holding.ttl_ms / 1000 / RETRY_SHARE)
            return False
        return True
