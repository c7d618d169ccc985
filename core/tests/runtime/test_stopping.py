"""Stopping a worker: what has not begun goes back, what runs may end, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import Answer, AsyncFrameContext, Claims, FrameContext, Json, Unavailable

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def test_jobs_that_were_claimed_and_not_begun_are_given_back(lab: Lab) -> None:
    """A worker that is stopped while its claim is answered begins nothing, and no attempt counts."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        raise AssertionError

    def claim_and_stop(call: Callable[..., Claims], *arguments: Any) -> Claims:
        claims = call(*arguments)
        worker._is_stopped = True
        return claims

    jobs = [lab.enqueue() for _ in range(4)]
    worker = lab.worker(lab.tap(scheduler_claim=claim_and_stop), concurrency=4)
    worker.run()

    assert [lab.header(job).status for job in jobs] == ["queued"] * 4
    assert [lab.header(job).attempts for job in jobs] == [0] * 4
    assert [lab.backend.leases.get(("job", job)) for job in jobs] == [None] * 4


@pytest.mark.parametrize("grace", [0, 10_000])
def test_a_frame_that_takes_longer_than_the_grace_is_suspended_at_its_next_call(lab: Lab, grace: int) -> None:
    """What it recorded stays, and it goes on elsewhere without having used up an attempt."""
    begun, stopped = threading.Event(), threading.Event()

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        begun.set()
        assert stopped.wait(20)
        lab.clock.advance(grace)
        for number in range(10_000):
            context.step("n", lambda: 1, index=number)
        return lab.answer()

    job = lab.enqueue()
    worker = lab.worker(grace_ms=grace)
    done = lab.thread(worker.run)
    assert begun.wait(20)
    worker.stop()
    lab.until("worker.stopping")
    stopped.set()
    done.result(20)

    assert (lab.header(job).status, lab.header(job).attempts) == ("queued", 0)
    assert lab.keys(job)[0] == "a"
    assert lab.audit(job)[-1] == "give-back"


def test_an_async_frame_is_canceled_after_the_grace_and_its_body_is_recorded(lab: Lab) -> None:
    """The runner is stopped wherever it waits; a body that runs may end, because its effect may be done."""
    begun = threading.Event()

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        canceled = asyncio.Event()

        async def body() -> Json:
            begun.set()
            await canceled.wait()
            return "done"

        try:
            await context.step("a", body)
        except asyncio.CancelledError:
            canceled.set()
            raise
        return lab.answer()

    job = lab.enqueue()
    worker = lab.worker(grace_ms=0)
    done = lab.thread(worker.run)
    assert begun.wait(20)
    worker.stop()
    done.result(20)

    assert lab.keys(job) == ["a"]
    assert (lab.header(job).status, lab.header(job).attempts) == ("queued", 0)


def test_a_frame_that_begins_as_the_grace_ends_is_stopped_too(lab: Lab) -> None:
    """However its first line falls between the stop and the last look at who has begun."""
    ran: list[int] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        ran.append(context.attempt)
        return lab.answer()

    job = lab.enqueue()
    worker = lab.worker(grace_ms=0)
    worker._is_out_of_grace = True  # as a slot sees it that took the job just before the stop
    outcome = lab.run(job, worker)

    assert outcome.status == "suspended"
    assert ran == []


def test_a_worker_that_was_stopped_before_it_ran_claims_nothing(lab: Lab) -> None:
    """A signal may come early."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    worker = lab.worker()
    worker.stop()
    worker.run()

    assert lab.header(job).attempts == 0


def test_a_worker_can_be_stopped_while_the_store_is_away(lab: Lab) -> None:
    """It does not insist until its lease would have ended."""
    asked = threading.Semaphore(0)

    def tamper(*_: Any) -> Claims:
        asked.release()
        raise Unavailable("restarting")

    lab.app.add_runner("work", lambda _: lab.answer())
    worker = lab.worker(lab.tap(scheduler_claim=tamper))
    done = lab.thread(worker.run)
    assert asked.acquire(timeout=20)
    worker.stop()
    lab.fast_forward(done, 1)

    assert lab.clock.monotonic() < 30


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_stop_is_safe_in_a_signal_handler(lab: Lab) -> None:
    """Also if the signal interrupts the worker inside the very event that stop sets."""
    lab.app.add_runner("work", lambda _: lab.answer())
    worker = lab.worker()
    handled = threading.Event()

    def handler(*_: object) -> None:
        worker.stop()
        handled.set()

    previous = signal.signal(signal.SIGUSR1, handler)
    try:
        with worker._wake._cond:  # type: ignore[attr-defined]
            os.kill(os.getpid(), signal.SIGUSR1)
            assert handled.wait(20)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    worker.run()

    assert lab.seen("worker.stopping") == 1


def test_an_error_of_the_claim_ends_the_worker_in_order(lab: Lab) -> None:
    """What runs is finished first."""
    begun, go_on = threading.Event(), threading.Event()

    @lab.runner
    def work(_: FrameContext) -> Answer:
        begun.set()
        assert go_on.wait(20)
        return lab.answer()

    def tamper(claim: Callable[..., Claims], *arguments: Any) -> Claims:
        if not lab.header(job).attempts:
            return claim(*arguments)
        assert begun.wait(20)
        go_on.set()
        raise ZeroDivisionError

    job = lab.enqueue()
    worker = lab.worker(lab.tap(scheduler_claim=tamper), concurrency=2)

    with pytest.raises(ZeroDivisionError):
        worker.run()
    assert lab.header(job).status == "completed"
