"""What a worker keeps, and what it asks the store for, as the work grows."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import Answer, AsyncFrameContext, FrameContext
from nodeagent.runtime.holding import Holding
from nodeagent.runtime.steps import Steps
from nodeagent.testing import CrashAt

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def _kept() -> int:
    """Count what is alive of frames that were worked on."""
    gc.collect()
    return sum(isinstance(one, Holding | Steps) for one in gc.get_objects())


def test_finished_work_leaves_nothing_behind(lab: Lab) -> None:
    """After 5,000 jobs a worker holds no lease, no frame and no thread more than after the first."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: context.job_id)
        return lab.answer()

    worker = lab.worker(concurrency=4)
    lab.enqueue()
    worker.run(until_idle=True, max_wait_ms=0)
    threads, kept = threading.active_count(), _kept()
    for _ in range(10):
        lab.runtime().enqueue_many([(None, lab.request()) for _ in range(500)])
        worker.run(until_idle=True, max_wait_ms=0)

    assert lab.seen("job.finished") == 5_001
    assert _kept() <= kept + 8
    assert (worker._held, worker._begun, worker._keeper._held) == (set(), set(), set())
    assert threading.active_count() <= threads + 1  # the pool that commits may have grown


@pytest.mark.parametrize("steps", [100, 3_000])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_replay_reads_in_bulk(lab: Lab, steps: int, is_async: bool) -> None:  # noqa: FBT001 - a parameter
    """A page of a thousand at a time, and nothing per step."""

    def work(context: FrameContext) -> Answer:
        for number in range(steps):
            context.step("n", lambda number=number: number, index=number)  # type: ignore[misc]
        if context.attempt == 1:
            raise OSError
        return lab.answer()

    async def work_async(context: AsyncFrameContext) -> Answer:
        for number in range(steps):
            await context.step("n", lambda number=number: number, index=number)
        if context.attempt == 1:
            raise OSError
        return lab.answer()

    lab.app.add_runner("work", work_async if is_async else work)
    job = lab.enqueue(retry=lab.at_once)
    lab.run(job)
    counting: Any = CrashAt()
    outcome = lab.run(job, lab.worker(counting.wrap(lab.backend)))
    calls = Counter(call.partition("#")[0] for call in counting.calls)

    assert outcome.status == "completed"
    assert len(lab.steps(job)) == steps
    assert calls["journal.read"] == -(-steps // 1_000)
    assert calls["transactions.commit"] == 1
    assert calls["journal.get"] == 0


def test_a_first_attempt_reads_no_journal(lab: Lab) -> None:
    """Nobody can have recorded anything before; each step is one commit."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        for name in "abc":
            context.step(name, lambda: 1)
        return lab.answer()

    job = lab.enqueue()
    counting: Any = CrashAt()
    lab.run(job, lab.worker(counting.wrap(lab.backend)))
    calls = Counter(call.partition("#")[0] for call in counting.calls)

    assert calls["journal.read"] == calls["journal.get"] == 0
    assert calls["transactions.commit"] == 4
