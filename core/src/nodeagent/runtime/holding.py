"""A lease while it is held: how long it is safe, who is working under it, and how it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Literal, TypeVar

from nodeagent.clock import Clock
from nodeagent.errors import OutcomeUnknown, Unavailable
from nodeagent.records.lease import Claim, Lease
from nodeagent.runtime.failures import Suspended
from nodeagent.runtime.insist import insist

T = TypeVar("T")

Fate = Literal["leaving", "shutdown", "expired", "timeout", "lost"]
"""Why no new body may start: the frame leaves, the worker stops, the local deadline has passed, the attempt
took too long, the lease is gone for sure."""


class Holding:
    """One claim in the hands of a worker.

    The local deadline counts on the monotonic clock from *before* the request that set it was sent. A
    failed renewal is unknown until then and a loss after it. A *body* runs from its start until the
    store has answered for its result; the frame leaves only when none is running.
    """

    def __init__(self, claim: Claim, clock: Clock, *, asked_at: float, ttl_ms: int) -> None:
        self.claim = claim
        self.ttl_ms = ttl_ms
        self.lease = claim.lease
        self.timeout_at: float | None = None
        self._clock = clock
        self._deadline = asked_at + ttl_ms / 1000
        self._renewed_at = asked_at
        self._bodies = 0
        self._fate: Fate | None = None
        self._changed = threading.Condition()
        self._on_stop: list[Callable[[], None]] = []

    @property
    def fate(self) -> Fate | None:
        """Why no new body may start, None while one may."""
        now = self._clock.monotonic()
        if self.timeout_at is not None and now >= self.timeout_at:
            self.stop("timeout")
        elif self._fate in (None, "shutdown") and now >= self._deadline:
            self.stop("expired")
        return self._fate

    @property
    def deadline(self) -> float:
        """The monotonic time until which the lease is surely unexpired."""
        return self._deadline

    @property
    def renew_at(self) -> float:
        """The monotonic time of the next renewal: after a third of the time to live."""
        return self._renewed_at + self.ttl_ms / 3000

    def renewed(self, lease: Lease, asked_at: float) -> None:
        """Note a successful renewal that was asked for at ``asked_at``."""
        self.lease = lease
        self._renewed_at = asked_at
        self._deadline = max(self._deadline, asked_at + self.ttl_ms / 1000)

    def put_off(self, seconds: float) -> None:
        """Note that a renewal failed, and try again in ``seconds``."""
        self._renewed_at = self._clock.monotonic() + seconds - self.ttl_ms / 3000

    def stop(self, fate: Fate) -> None:
        """Refuse new bodies from now on; the gravest reason stays."""
        with self._changed:
            if self._fate is not None and _GRAVITY.index(fate) <= _GRAVITY.index(self._fate):
                return
            self._fate = fate
            callbacks = list(self._on_stop) if fate != "leaving" else []
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once the frame is stopped from outside (at once if it is already)."""
        with self._changed:
            if self._fate is None or self._fate == "leaving":
                self._on_stop.append(callback)
                return
        callback()

    def start_body(self) -> None:
        """Begin a body. Raises :class:`Suspended` if none may start."""
        if self.fate is not None:
            raise Suspended
        with self._changed:
            if self._fate is not None:
                raise Suspended
            self._bodies += 1

    def end_body(self) -> None:
        """End a body, after the store has answered for its result."""
        with self._changed:
            self._bodies -= 1
            if not self._bodies:
                self._changed.notify_all()

    def may_record(self) -> bool:
        """Say whether the result of a running body may still be written: not after cancellation or loss.

        After the local deadline it may: the fence decides, and refuses it only if somebody else has claimed.
        """
        return self.fate not in ("timeout", "lost")

    def insist(self, ask: Callable[[], T]) -> T:
        """Ask the store, again and again until the local deadline, and at least once.

        Raises:
            Suspended: it did not answer in time, so the lease counts as lost.

        """
        try:
            return insist(ask, self._clock, self._deadline)
        except (OutcomeUnknown, Unavailable) as error:
            self.stop("lost")
            raise Suspended from error

    def drained(self) -> bool:
        """Wait until no body runs, and return True; or return False when the lease ran out before."""
        with self._changed:
            while self._bodies:
                if self._fate == "lost" or self._clock.monotonic() >= self._deadline:
                    return False
                # Bounded, because a manual clock may pass the deadline without a notification.
                self._changed.wait(0.1)
        return True


_GRAVITY: Final[tuple[Fate, ...]] = ("leaving", "shutdown", "expired", "timeout", "lost")
