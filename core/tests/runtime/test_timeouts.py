"""The timeout of an attempt: no renewal beyond it, nothing recorded after it, and another attempt."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from nodeagent import Answer, AsyncFrameContext, FrameContext, Json, Lease, Suspended

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

LEASE = 60_000
TIMEOUT = 30_000


def test_an_attempt_that_takes_too_long_is_rescheduled(lab: Lab) -> None:
    """What it recorded before stays; its next call is refused."""
    refused = threading.Event()

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        if context.attempt == 1:
            lab.clock.advance(TIMEOUT)
            while True:
                try:
                    context.step("b", lambda: 1, index=0)
                except Suspended:
                    refused.set()
                    raise
        return lab.answer()

    job = lab.enqueue(timeout_ms=TIMEOUT)
    outcome = lab.run(job)

    assert refused.is_set()
    assert outcome.status == "rescheduled"
    assert "timeout" in (outcome.reason or "")
    assert lab.header(job).attempts == 1


def test_a_result_that_comes_after_the_timeout_is_not_recorded(lab: Lab) -> None:
    """Nothing is, after a cancellation; the next attempt does it again."""
    ran: list[int] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        def body() -> Json:
            ran.append(context.attempt)
            if context.attempt == 1:
                lab.clock.advance(TIMEOUT)
                lab.clock.until_waiting()
            return context.attempt

        assert context.step("a", body) == 2
        return lab.answer()

    job = lab.enqueue(timeout_ms=TIMEOUT, retry=lab.at_once)

    assert lab.run(job).status == "rescheduled"
    assert lab.steps(job) == ()
    assert lab.run(job).status == "completed"
    assert ran == [1, 2]


def test_an_attempt_that_timed_out_is_renewed_no_more(lab: Lab) -> None:
    """A body that ignores its cancellation loses the lease; the next worker is not kept waiting for it."""
    begun, timed_out, may_end = threading.Event(), threading.Event(), threading.Event()

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        async def stubborn() -> Json:
            begun.set()
            while not may_end.is_set():
                try:
                    await asyncio.sleep(0.001)
                except asyncio.CancelledError:
                    timed_out.set()
            return "zombie"

        if context.attempt == 1:
            await context.step("a", stubborn)
        await context.step("a", lambda: "fresh")
        return lab.answer()

    job = lab.enqueue(timeout_ms=TIMEOUT)
    first = lab.thread(lambda: lab.run(job))
    assert begun.wait(20)
    lab.clock.advance(LEASE // 3)  # time for a renewal, before the timeout
    lab.clock.advance(TIMEOUT - LEASE // 3)
    assert timed_out.wait(20)
    lease = lab.backend.leases.get(("job", job))
    lab.clock.advance(LEASE)
    second = lab.run(job)
    may_end.set()

    assert lease is not None
    assert lease.expires_at <= lab.clock.now()
    assert second.status == "completed"
    assert first.result(20).status == "fenced"
    assert [entry.token for entry in lab.steps(job)] == [2]


@pytest.mark.parametrize("where", ["runner", "body", "gather"])
def test_an_async_attempt_is_canceled_wherever_it_waits(lab: Lab, where: str) -> None:
    """In the runner, in a body, or in a body that nobody awaits any more: none keeps the frame from leaving."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        async def stuck() -> Json:
            begun.set()
            await asyncio.Event().wait()
            return 1

        if where == "runner":
            begun.set()
            await asyncio.Event().wait()
        elif where == "body":
            await context.step("a", stuck)
        caller = asyncio.create_task(context.step("a", stuck))
        await asyncio.sleep(0)
        caller.cancel()
        raise OSError  # the runner is over, and its body is not

    begun = threading.Event()
    job = lab.enqueue(timeout_ms=TIMEOUT)
    done = lab.thread(lambda: lab.run(job))
    assert begun.wait(20)
    lab.clock.advance(TIMEOUT)

    assert done.result(20).status == "rescheduled"
    assert lab.steps(job) == ()
    assert lab.backend.leases.get(("job", job)) is None


def test_a_body_that_is_canceled_before_its_first_line_has_ended(lab: Lab) -> None:
    """It was begun for whoever counts bodies, so it must end for them too."""
    canceled: list[bool] = []

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        caller = asyncio.create_task(context.step("a", lambda: 1))
        await asyncio.sleep(0)  # the caller has made the body's task, which has not had its turn
        (body,) = context._bodies
        canceled.append(body.cancel())
        await caller
        return lab.answer()

    job = lab.enqueue()
    outcome = lab.run(job)

    assert canceled == [True]
    assert outcome.status == "rescheduled"
    assert lab.backend.leases.get(("job", job)) is None


def test_the_last_attempt_that_times_out_fails_the_job(lab: Lab) -> None:
    """With the reason, and a receipt."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        lab.clock.advance(TIMEOUT)
        context.step("a", lambda: 1)
        return lab.answer()

    job = lab.enqueue(timeout_ms=TIMEOUT, max_attempts=1)
    outcome = lab.run(job)

    assert outcome.status == "failed"
    assert lab.receipt(job)["failure"]["type"] == "Timeout"


def test_an_attempt_within_its_timeout_is_left_alone(lab: Lab) -> None:
    """A lease is renewed as often as it takes."""
    renewed = threading.Semaphore(0)

    def tamper(renew: Callable[[Lease, int], Lease], lease: Lease, ttl_ms: int) -> Lease:
        try:
            return renew(lease, ttl_ms)
        finally:
            renewed.release()

    @lab.runner
    def work(context: FrameContext) -> Answer:
        for _ in range(8):
            lab.clock.until_waiting()
            lab.clock.advance(LEASE // 3)
            assert renewed.acquire(timeout=20)
        context.step("a", lambda: 1)
        return lab.answer()

    job = lab.enqueue(timeout_ms=LEASE * 3)

    assert lab.run(job, lab.worker(lab.tap(leases_renew=tamper))).status == "completed"
