"""Waiting for a job, running one to its end, and the asynchronous face of both."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from nodeagent import Answer, At, FrameContext, Ms, NotFound, OneJob
from nodeagent.runtime.aio import AsyncRuntime

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def test_wait_returns_when_the_job_has_ended(lab: Lab) -> None:
    """Woken by a hint, without any time passing."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    waiting = lab.thread(lambda: lab.runtime().wait(job))
    lab.clock.until_waiting()
    lab.drain()

    assert waiting.result(20).status == "completed"


def test_wait_returns_what_there_is_after_its_timeout(lab: Lab) -> None:
    """The job as it stands."""
    job = lab.enqueue()
    waiting = lab.thread(lambda: lab.runtime().wait(job, timeout=5))
    lab.fast_forward(waiting, 100)

    assert waiting.result().status == "queued"
    assert lab.clock.monotonic() >= 5
    assert lab.runtime().wait(job, timeout=0).status == "queued"
    with pytest.raises(NotFound):
        lab.runtime().wait("nobody")


def test_wait_finds_the_end_though_its_hint_was_lost(lab: Lab) -> None:
    """By looking again."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()

    class Deaf:
        @staticmethod
        def close() -> None:
            """End nothing."""

    waiting = lab.thread(lambda: lab.runtime(lab.tap(wakeups_subscribe=lambda *_: Deaf())).wait(job))
    lab.clock.until_waiting()
    lab.drain()
    lab.clock.until_waiting()
    lab.clock.advance(1_000)

    assert waiting.result(20).status == "completed"


def test_run_works_until_the_job_has_ended(lab: Lab) -> None:
    """Retries included, each when it is due."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        if context.attempt < 3:
            raise OSError
        return lab.answer()

    done = lab.thread(lambda: lab.runtime().run(lab.request()))
    lab.fast_forward(done, 10)

    assert done.result().status == "completed"
    assert done.result().job.attempts == 3


def test_run_waits_for_whoever_holds_the_job(lab: Lab) -> None:
    """And takes over when that one is dead."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    lab.backend.scheduler.claim(OneJob(job), "dead peer", 60_000, "c")
    lab.clock.advance(57_000)
    done = lab.thread(lambda: lab.runtime().finish(job))
    lab.fast_forward(done, 10)

    assert done.result().status == "completed"
    assert lab.clock.monotonic() >= 60


def test_run_replays_a_job_that_is_finished(lab: Lab) -> None:
    """An equal request under its id executes nothing."""
    lab.app.add_runner("work", lambda _: lab.answer())
    runtime = lab.runtime()
    first = runtime.run(lab.request(), job_id="j")
    second = runtime.run(lab.request(), job_id="j")

    assert (first.status, second.status) == ("completed", "replayed")
    assert first.receipt == second.receipt
    runtime.close()


def test_the_asynchronous_face_does_the_same(lab: Lab) -> None:
    """Verb by verb."""
    lab.app.add_runner("work", lambda _: lab.answer(confidence="low"))

    async def main() -> list[object]:
        async with AsyncRuntime(lab.runtime()) as runtime:
            enqueued = await runtime.enqueue(lab.request(), job_id="a")
            again = await runtime.enqueue_many([("a", lab.request()), ("b", lab.request(input=float("nan")))])
            outcome = await runtime.run(lab.request(), job_id="a")
            header = await runtime.wait("a")
            receipt = await runtime.receipt("a", round=1)
            unblocked = await runtime.unblock("a", round=1)
            canceled = await runtime.cancel("a")
            with pytest.raises(NotFound):
                await runtime.retry("nobody")
            return [
                enqueued.duplicate,
                len(again),
                outcome.status,
                header.status,
                receipt == outcome.receipt,
                unblocked.round,
                canceled.status,
            ]

    assert asyncio.run(main()) == [False, 2, "blocked", "blocked", True, 2, "canceled"]


def test_many_waits_keep_out_nobody(lab: Lab) -> None:
    """More waits than any pool has threads, and what they wait for still gets its turn."""
    lab.app.add_runner("work", lambda _: lab.answer())

    async def main() -> set[str]:
        runtime = AsyncRuntime(lab.runtime())
        for number in range(80):
            await runtime.enqueue(lab.request(), job_id=f"j{number}")
        waits = [asyncio.create_task(runtime.wait(f"j{number}")) for number in range(80)]
        await asyncio.sleep(0)
        for number in range(80):
            await runtime.run(lab.request(), job_id=f"j{number}")
        await runtime.close()
        return {header.status for header in await asyncio.gather(*waits)}

    assert asyncio.run(main()) == {"completed"}


def test_canceling_the_caller_does_not_cancel_the_call(lab: Lab) -> None:
    """The job goes on, and whoever asks again finds it."""
    begun, go_on = threading.Event(), threading.Event()

    @lab.runner
    def work(_: FrameContext) -> Answer:
        begun.set()
        assert go_on.wait(20)
        return lab.answer()

    async def main() -> str:
        runtime = AsyncRuntime(lab.runtime())
        caller = asyncio.create_task(runtime.run(lab.request(), job_id="j"))
        await asyncio.to_thread(begun.wait, 20)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        go_on.set()
        return (await runtime.wait("j")).status

    assert asyncio.run(main()) == "completed"


def test_a_job_of_the_future_is_waited_for(lab: Lab) -> None:
    """In bounded pieces, to the millisecond."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue(run_after=At(Ms(lab.clock.now() + 3_500)))
    done = lab.thread(lambda: lab.runtime().finish(job))
    lab.fast_forward(done, 20)

    assert done.result().status == "completed"
    assert (lab.header(job).ended_at or 0) >= lab.header(job).created_at + 3_500
