"""Concurrent callers of one step: one execution, one record, one result for all."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from nodeagent import Aborted, Answer, AsyncFrameContext, FrameContext, Invalid, Json

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def test_threads_share_one_execution(lab: Lab) -> None:
    """Whoever comes while the body runs waits for it, and gets a value of its own."""
    ran: list[int] = []
    everybody_asks = threading.Barrier(4)
    results: list[Json] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        askers = context._recorder.steps._asked

        def body() -> Json:
            while len(askers[("a",)]) < 4:  # until everybody shares this execution
                time.sleep(0.001)
            ran.append(1)
            return {"n": [1]}

        def ask(_: int) -> Json:
            everybody_asks.wait(20)
            return context.step("a", body)

        with ThreadPoolExecutor(4) as pool:
            results.extend(pool.map(ask, range(4)))
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert ran == [1]
    assert results == [{"n": [1]}] * 4
    assert len({id(one) for one in results}) == 4
    assert lab.keys(job) == ["a"]


def test_threads_share_an_error_too(lab: Lab) -> None:
    """All get it, nothing is recorded, and the step can be asked for again."""
    inside, errors = threading.Event(), []

    def body() -> Json:
        inside.wait(20)
        raise OSError("gone")

    @lab.runner
    def work(context: FrameContext) -> Answer:
        def ask() -> None:
            try:
                context.step("a", body)
            except OSError as error:
                errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        inside.set()
        for thread in threads:
            thread.join()
        assert context.step("a", lambda: "well") == "well"
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert [str(error) for error in errors] == ["gone"] * 3
    assert lab.header(job).status == "completed"


def test_turns_of_a_loop_need_an_index_whoever_asks(lab: Lab) -> None:
    """A thread for each turn does not hide the loop: the second one gets an error, not the first one's result."""
    errors: list[str] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        def ask() -> None:
            try:
                context.step("a", lambda: 1)
            except Invalid as error:
                errors.append(str(error))

        for _ in range(3):
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
        return lab.answer()

    lab.enqueue()
    lab.drain()

    assert len(errors) == 2
    assert "index=" in errors[0]


@pytest.mark.parametrize("kind", ["wait_for", "gather", "group"])
def test_tasks_that_turn_a_loop_need_an_index(lab: Lab, kind: str) -> None:
    """However each turn becomes a task of its own."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        for turn in range(3):

            async def body(turn: int = turn) -> Json:
                return turn

            if kind == "wait_for":
                await asyncio.wait_for(context.step("a", body), 20)
            elif kind == "gather":
                await asyncio.gather(context.step("a", body))
            else:
                async with asyncio.TaskGroup() as group:
                    group.create_task(context.step("a", body))
        return lab.answer()

    job = lab.enqueue(max_attempts=1)
    lab.drain()

    assert lab.header(job).status == "failed"
    assert "index=" in lab.receipt(job)["reason"]


def test_a_step_that_is_never_awaited_fails_the_attempt(lab: Lab) -> None:
    """It did not run, so the frame must not look as if it had."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        await context.step("a", lambda: 1)
        context.step("forgotten", lambda: 2)  # type: ignore[unused-coroutine]
        return lab.answer()

    job = lab.enqueue(max_attempts=1)
    lab.drain()

    assert lab.header(job).status == "failed"
    assert "never awaited" in lab.receipt(job)["reason"]


def test_tasks_share_one_execution(lab: Lab) -> None:
    """As threads do."""
    ran: list[int] = []
    results: list[Json] = []

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        async def body() -> Json:
            ran.append(1)
            await asyncio.sleep(0)
            return [1]

        results.extend(await asyncio.gather(*(asyncio.create_task(context.step("a", body)) for _ in range(5))))
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert ran == [1]
    assert results == [[1]] * 5
    assert lab.keys(job) == ["a"]


def test_one_task_asks_once(lab: Lab) -> None:
    """Two awaits in one task are a loop, not two callers."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        await context.step("a", lambda: 1)
        await context.step("a", lambda: 1)
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert "index=" in lab.receipt(job)["reason"]


@pytest.mark.parametrize("leader", [True, False], ids=["leader", "follower"])
def test_canceling_one_caller_cancels_nobody_else(lab: Lab, leader: bool) -> None:  # noqa: FBT001 - a parameter
    """Neither the body nor its sibling, whoever of them came first; and the result is recorded."""
    results: list[Json] = []

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def body() -> Json:
            begun.set()
            await go_on.wait()
            return "done"

        first, second = (asyncio.create_task(context.step("a", body)) for _ in range(2))
        await begun.wait()
        canceled, other = (first, second) if leader else (second, first)
        canceled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await canceled
        go_on.set()
        results.append(await other)
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert results == ["done"]
    assert lab.keys(job) == ["a"]
    assert lab.header(job).status == "completed"


def test_a_body_whose_only_caller_was_canceled_is_recorded(lab: Lab) -> None:
    """The frame does not end before it: what has begun may have had its effect."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        begun = asyncio.Event()

        async def body() -> Json:
            begun.set()
            await asyncio.sleep(0.01)
            return "done"

        caller = asyncio.create_task(context.step("a", body))
        await begun.wait()
        caller.cancel()
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert lab.keys(job) == ["a"]
    assert lab.header(job).status == "completed"


def test_a_body_that_cancels_itself_is_aborted(lab: Lab) -> None:
    """Its callers are told, and may go on: the frame was not stopped."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        async def body() -> Json:
            raise asyncio.CancelledError

        with pytest.raises(Aborted, match="'a'"):
            await context.step("a", body)
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert lab.header(job).status == "completed"
    assert lab.steps(job) == ()


def test_a_runner_that_is_canceled_from_inside_has_failed(lab: Lab) -> None:
    """The attempt counts, the lease is released, and the next attempt may do better."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        if context.attempt == 1:
            raise asyncio.CancelledError
        return lab.answer()

    job = lab.enqueue(retry=lab.at_once)
    outcome = lab.run(job)

    assert outcome.status == "rescheduled"
    assert lab.backend.leases.get(("job", job)) is None
    assert lab.run(job).status == "completed"


def test_plain_and_async_bodies_serve_an_async_runner(lab: Lab) -> None:
    """A plain one runs in a thread, and an object whose call returns an awaitable is awaited."""
    loops: list[int] = []

    class Callable:
        async def __call__(self) -> Json:
            return 3

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        def plain() -> Json:
            loops.append(threading.get_ident())
            return 1

        async def coroutine() -> Json:
            return 2

        results = await asyncio.gather(
            context.step("plain", plain), context.step("async", coroutine), context.step("object", Callable())
        )
        assert list(results) == [1, 2, 3]
        assert loops != [threading.get_ident()]
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert sorted(lab.keys(job)) == ["async", "object", "plain"]
    assert lab.header(job).status == "completed"


def test_a_step_that_is_asked_for_when_the_runner_is_over_never_begins(lab: Lab) -> None:
    """A task that the runner left behind is told that the frame is suspended, and keeps nothing waiting."""
    told: list[BaseException] = []
    left: list[asyncio.Task[None]] = []

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        async def left_behind() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                try:
                    await context.step("late", lambda: 1)
                except BaseException as error:  # noqa: BLE001 - looked at below
                    told.append(error)

        left.append(asyncio.create_task(left_behind()))
        await asyncio.sleep(0)
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert [type(error).__name__ for error in told] == ["Suspended"]
    assert lab.steps(job) == ()
    assert lab.header(job).status == "completed"
