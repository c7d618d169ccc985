"""Workers on a store that fails, forgets to answer and dawdles, with leases that are over too soon."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import (
    Answer,
    AsyncFrameContext,
    Backend,
    FrameContext,
    HostClock,
    Json,
    OutcomeUnknown,
    Unavailable,
    open_provider,
)
from nodeagent.rules.specs import lane_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tests.runtime.conftest import Lab

LEASE = 100
STEPS = 6


class Trouble:
    """Makes calls fail before or after they took effect, or take longer than a lease lasts."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self._lock = threading.Lock()
        self.is_over = False

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make the call, or not, or not at once."""
        with self._lock:
            luck = 1.0 if self.is_over else self._chance.random()
        if luck < 0.05:
            raise Unavailable("away")
        if luck < 0.08:
            threading.Event().wait(luck * 2)
        answer = call(*arguments)
        if 0.08 <= luck < 0.13:
            raise OutcomeUnknown("the connection broke")
        if 0.13 <= luck < 0.15:
            threading.Event().wait(luck)
        return answer

    def around(self, lab: Lab, backend: Backend) -> Backend:
        """Return the backend in trouble."""
        lab.backend = backend
        calls = ("transactions_commit", "scheduler_claim", "leases_renew", "journal_read", "artifacts_put", "now")
        return lab.tap(**dict.fromkeys(calls, self))


class Ledger:
    """The effects in the world outside, with the token under which each was done."""

    def __init__(self) -> None:
        self.effects: list[tuple[str, str, int]] = []

    def effect(self, context: FrameContext | AsyncFrameContext, index: int) -> Json:
        """Do what a step does."""
        recorder: Any = context._recorder
        self.effects.append((context.job_id, str(index), recorder.holding.lease.token))
        return [index, context.attempt]

    def register(self, lab: Lab) -> None:
        """Register a plain runner with threads and an async one with tasks."""

        def ask(context: FrameContext, index: int) -> None:
            context.step("n", lambda: self.effect(context, index), index=index)

        @lab.app.runner("threads")
        def threads(context: FrameContext) -> Answer:
            with ThreadPoolExecutor(3) as pool:
                list(pool.map(lambda index: ask(context, index), range(STEPS)))
            return lab.answer()

        @lab.app.runner("tasks")
        async def tasks(context: AsyncFrameContext) -> Answer:
            async def body(index: int) -> Json:
                await asyncio.sleep(0.001)
                return self.effect(context, index)

            asks = [context.step("n", lambda index=index: body(index), index=index) for index in range(STEPS)]
            await asyncio.gather(*map(asyncio.create_task, asks))
            return lab.answer()

        @lab.app.runner("plain")
        def plain(context: FrameContext) -> Answer:
            for index in range(STEPS):
                ask(context, index)
            return lab.answer()


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_store_does_each_job_ends_once(lab: Lab, seed: int) -> None:
    """One receipt, no step twice under one claim or after it was recorded, nothing stuck, nobody hangs."""
    trouble, ledger = Trouble(seed), Ledger()
    ledger.register(lab)
    backend = trouble.around(lab, open_provider("memory", {"store": f"chaos {seed}"}))
    names = [f"{runner}-{number}" for number in range(20) for runner in ("threads", "tasks", "plain")]
    requests = [lab.request(runner=name.partition("-")[0], max_attempts=1_000, retry=lab.at_once) for name in names]
    lab.runtime().enqueue_many(zip(names, requests, strict=True))
    lanes = [lane_of("default", name) for name in lab.app.runners]
    options: dict[str, Any] = {"lease_ms": LEASE, "poll_ms": 20, "concurrency": 3, "grace_ms": 0}
    workers = [lab.worker(backend, lanes=lanes, clock=HostClock(), **options) for _ in range(3)]
    running = [lab.thread(worker.run) for worker in workers]
    for count in range(10, 51, 10):  # stop and replace one of them now and then
        lab.until("job.finished", count=count)
        workers.pop(0).stop()
        running.pop(0).result(20)
        workers.append(lab.worker(backend, lanes=lanes, clock=HostClock(), **options))
        running.append(lab.thread(workers[-1].run))
    trouble.is_over = True
    for worker, done in zip(workers, running, strict=True):
        worker.stop()
        done.result(20)
    lab.worker(lanes=lanes, clock=HostClock(), lease_ms=1_000).run(until_idle=True)

    assert max(Counter(ledger.effects).values()) == 1
    for name in names:
        assert lab.header(name).status == "completed"
        assert len(lab.receipts(name)) == 1
        recorded = {entry.key[1]: entry.token for entry in lab.steps(name)}
        assert sorted(recorded) == [str(index) for index in range(STEPS)]
        late = [e for e in ledger.effects if e[0] == name and e[2] > recorded[e[1]]]
        assert late == []
        assert lab.audit(name).count("finish") == 1
        assert lab.backend.leases.get(("job", name)) is None
