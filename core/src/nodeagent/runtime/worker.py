"""The worker: claims jobs of its lanes in batches and works on N of them at once."""

from __future__ import annotations

import _thread
import logging
import math
import os
import queue
import socket
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from nodeagent.clock import Clock, HostClock
from nodeagent.errors import BackendError, Invalid, OutcomeUnknown, Unavailable
from nodeagent.records.lease import MAX_LANES, Claims, Lanes, OneJob, Want
from nodeagent.records.wake import Work
from nodeagent.runtime.events import Observers
from nodeagent.runtime.execution import Execution
from nodeagent.runtime.hints import listen
from nodeagent.runtime.holding import Holding
from nodeagent.runtime.ids import new_id
from nodeagent.runtime.insist import insist
from nodeagent.runtime.keeper import Keeper
from nodeagent.runtime.outcome import Outcome
from nodeagent.runtime.runners import Runner, refuse_nested_loop

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nodeagent.backend import Backend

_LOG: Final = logging.getLogger("nodeagent")


@frozen(kw_only=True)
class WorkerOptions:
    """How a worker works. A lease is renewed at a third of ``lease_ms``; ``poll_ms`` bounds an idle sleep."""

    concurrency: int = 4
    lease_ms: int = 60_000
    poll_ms: int = 1_000
    grace_ms: int = 10_000
    holder: str = field(factory=lambda: f"{socket.gethostname()}/{os.getpid()}/{new_id()[:8]}")

    def __attrs_post_init__(self) -> None:
        """Refuse numbers that cannot work."""
        for name, low in (("concurrency", 1), ("lease_ms", 100), ("poll_ms", 1), ("grace_ms", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < low:
                raise Invalid(name, f"must be an integer of at least {low}, but is {value!r}")


class Worker:
    """Claims, runs and leaves. Every name it claims under is random, so a restart never looks like its predecessor."""

    def __init__(
        self,
        backend: Backend,
        runners: Mapping[str, Runner],
        *,
        lanes: Sequence[str] = (),
        options: WorkerOptions | None = None,
        clock: Clock | None = None,
        observers: Observers | None = None,
    ) -> None:
        self.backend = backend
        self._runners = runners
        self.options = options or WorkerOptions()
        self._clock = clock or HostClock()
        self._observers = observers or Observers()
        self._lanes = list(dict.fromkeys(lanes))
        self._keeper = Keeper(backend, self._clock, self._observers)
        self._execution = Execution(backend, runners, self._keeper, self._observers)
        self._wake = threading.Event()
        self._is_stopped = False
        self._is_closing = False
        self._is_out_of_grace = False
        self._held: set[Holding] = set()
        self._begun: set[Holding] = set()
        self._lock = threading.Lock()
        self._ready: queue.SimpleQueue[Holding | None] = queue.SimpleQueue()

    # -- one job -------------------------------------------------------------------------------------

    def run_job(self, job_id: str) -> Outcome | None:
        """Claim this job and work on it here; None if it cannot be claimed now.

        Raises:
            Invalid: a runner is ``async`` and this thread runs an event loop already.

        """
        refuse_nested_loop(self._runners)
        holdings, _ = self._claim(OneJob(job_id), 1)
        for holding in holdings:
            with self._lock:
                self._held.add(holding)
            if self._is_stopped:
                try:
                    return self._execution.give_back(holding)
                finally:
                    self._forget(holding)
            return self._work(holding)
        return None

    def interrupt(self) -> None:
        """Begin nothing more in :meth:`run_job`; what has begun starts no further step and is given back.

        Takes no lock that the working thread might hold, so a signal handler in that thread may call it.
        """
        self._is_stopped = self._is_out_of_grace = True
        for holding in list(self._begun):
            holding.stop("shutdown")

    def close(self) -> None:
        """End the heartbeats."""
        self._keeper.close()

    # -- the loop ------------------------------------------------------------------------------------

    def run(self, *, until_idle: bool = False, max_wait_ms: int | None = None) -> None:
        """Work until :meth:`stop`, or (``until_idle``) until nothing becomes due within ``max_wait_ms``.

        The default wait is twice the lease, so that it outlasts the leases of peers that died.
        """
        if not self._lanes:
            raise Invalid("a worker's lanes", "must name at least one, but there is none; register a runner first")
        max_wait = 2 * self.options.lease_ms if max_wait_ms is None else max_wait_ms
        threads = [
            threading.Thread(target=self._slot, name=f"nodeagent-frame-{n}", daemon=True)
            for n in range(self.options.concurrency)
        ]
        subscription = listen(self.backend, [Work(name) for name in self._lanes], self._wake.set)
        for thread in threads:
            thread.start()
        try:
            self._loop(max_wait if until_idle else None)
        finally:
            self._wind_down(threads)
            if subscription is not None:
                subscription.close()
            self._keeper.close()
            self._is_closing = self._is_out_of_grace = False

    def stop(self) -> None:
        """Claim nothing more, give back what has not begun, and let frames finish within the grace time.

        Safe to call from a signal handler.
        """
        self._is_stopped = True
        # In a thread: a handler that interrupts whoever is inside the event would wait for its lock for ever.
        _thread.start_new_thread(self._wake.set, ())

    @property
    def _is_ending(self) -> bool:
        return self._is_stopped or self._is_closing

    def _loop(self, max_wait: int | None) -> None:
        poll = self.options.poll_ms
        while not self._is_ending:
            self._wake.clear()
            if (free := self.options.concurrency - len(self._held)) <= 0:
                self._clock.wait(self._wake, poll / 1000)
                continue
            # Looked at before the claim: a frame that ends meanwhile may have enqueued what the claim did not see.
            is_busy = bool(self._held)
            found, wait_ms = self._claim_round(free)
            if found or self._is_ending:
                continue
            if max_wait is not None and not is_busy and wait_ms > max_wait:
                return
            self._observers.emit("worker.idle", wait_ms=None if wait_ms == math.inf else wait_ms)
            self._clock.wait(self._wake, max(min(wait_ms, poll), 1) / 1000)

    def _claim_round(self, free: int) -> tuple[int, float]:
        """Claim from each group of lanes in turn; return how many were claimed, and in how many ms the next is due."""
        wait_ms, found = math.inf, 0
        for at in range(0, len(self._lanes), MAX_LANES):
            holdings, claims = self._claim(Lanes(names=tuple(self._lanes[at : at + MAX_LANES])), free - found)
            for holding in holdings:
                with self._lock:
                    self._held.add(holding)
                self._ready.put(holding)
            found += len(holdings)
            wait_ms = min(wait_ms, _ms_until_due(claims))
            if found >= free:
                break
        # A claim prefers the lane that it names first: everyone's turn comes, so no lane starves another.
        self._lanes = [*self._lanes[1:], *self._lanes[:1]]
        return found, wait_ms

    def _claim(self, want: Want, limit: int) -> tuple[list[Holding], Claims | None]:
        claim_id, ttl = new_id(), self.options.lease_ms
        asked_at = self._clock.monotonic()
        try:
            claims = insist(
                lambda: self.backend.scheduler.claim(want, self.options.holder, ttl, claim_id, limit),
                self._clock,
                asked_at + ttl / 1000,
                unless=lambda: self._is_stopped,
            )
        except (Unavailable, OutcomeUnknown):
            self._observers.emit("store.unavailable")
            if isinstance(want, OneJob):
                raise
            return [], None
        except BackendError as error:
            if isinstance(want, OneJob):
                raise
            self._observers.emit("store.unavailable", error=type(error).__name__)
            self._clock.wait(self._wake, self.options.poll_ms / 1000)
            return [], None
        holdings = []
        for claim in claims.claims:
            holding = Holding(claim, self._clock, asked_at=asked_at, ttl_ms=ttl)
            # A repeated claim may answer with a lease that has run out: it is renewed before any body.
            if claim.lease.expires_at > claims.now or self._keeper.renew(holding):
                self._keeper.hold(holding)
                holdings.append(holding)
        return holdings, claims

    # -- slots ---------------------------------------------------------------------------------------

    def _slot(self) -> None:
        while (holding := self._ready.get()) is not None:
            try:
                if self._is_ending:
                    self._execution.give_back(holding)
                else:
                    self._work(holding)
            except BaseException as error:  # noqa: BLE001 - a slot outlives whatever happens in it
                # The lease runs out, and the next claim goes on from what is recorded.
                name = type(error).__name__
                _LOG.error("job %s could not be left: %s", holding.claim.job.id, name)
                _LOG.debug("what kept the job from being left", exc_info=error)
                self._observers.emit("job.abandoned", holding.claim.job.id, error=name)
            finally:
                self._forget(holding)

    def _work(self, holding: Holding) -> Outcome:
        with self._lock:
            self._begun.add(holding)
            is_late = self._is_out_of_grace
        if is_late:
            holding.stop("shutdown")
        try:
            return self._execution.run(holding)
        finally:
            self._forget(holding)

    def _forget(self, holding: Holding) -> None:
        with self._lock:
            self._held.discard(holding)
            self._begun.discard(holding)
        self._wake.set()

    def _wind_down(self, threads: list[threading.Thread]) -> None:
        self._is_closing = True
        self._observers.emit("worker.stopping", held=len(self._held))
        for _ in threads:
            self._ready.put(None)
        until = self._clock.monotonic() + self.options.grace_ms / 1000
        while self._held and self._clock.monotonic() < until:
            self._wake.clear()
            if self._held:
                self._clock.wait(self._wake, until - self._clock.monotonic())
        with self._lock:
            self._is_out_of_grace = True
            begun = list(self._begun)
        for holding in begun:
            holding.stop("shutdown")
        for thread in threads:
            thread.join()


def _ms_until_due(claims: Claims | None) -> float:
    if claims is None:  # the store did not answer, so there may be work now
        return 0
    return math.inf if claims.next_due is None else claims.next_due - claims.now
