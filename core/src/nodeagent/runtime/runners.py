"""Runners: the functions that work on frames, plain or ``async def``."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, cast

from nodeagent.errors import Invalid
from nodeagent.records.answer import Answer
from nodeagent.records.lease import Claim
from nodeagent.rules.specs import FrameSpec, JobSpec
from nodeagent.runtime.context import AsyncFrameContext, FrameContext, Recorder
from nodeagent.runtime.failures import Permanent, Suspended

Runner = Callable[[FrameContext], Answer] | Callable[[AsyncFrameContext], Awaitable[Answer]]


def call_runner(runner: Runner, claim: Claim, job: JobSpec, frame: FrameSpec, recorder: Recorder) -> Answer:
    """Run a runner on a claimed frame and return its answer; whatever it raises is raised."""
    if is_async(runner):
        answer: Any = _call_async(runner, AsyncFrameContext(claim, job, frame, recorder), recorder)
    else:
        answer = runner(cast("Any", FrameContext(claim, job, frame, recorder)))
    if inspect.iscoroutine(answer):
        answer.close()
    if not isinstance(answer, Answer):
        raise Permanent(f"the runner must return an Answer, but returned {type(answer).__name__}")
    return answer


def is_async(runner: Runner) -> bool:
    """Say whether a runner is ``async def``: itself, under its decorators, or as an object that is called."""
    innermost = inspect.unwrap(runner)
    return inspect.iscoroutinefunction(innermost) or inspect.iscoroutinefunction(getattr(innermost, "__call__", None))  # noqa: B004


def refuse_nested_loop(runners: Mapping[str, Runner]) -> None:
    """Raise :class:`Invalid` if an ``async`` runner would need a loop inside the one that this thread runs."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    if any(map(is_async, runners.values())):
        raise Invalid(
            "this thread", "runs an event loop already; from coroutines use nodeagent.runtime.aio.AsyncRuntime(runtime)"
        )


def _call_async(runner: Callable[..., Any], context: AsyncFrameContext, recorder: Recorder) -> Any:
    with asyncio.Runner() as loop:
        return loop.run(_guarded(runner, context, recorder))


async def _guarded(runner: Callable[..., Any], context: AsyncFrameContext, recorder: Recorder) -> Any:
    """Cancel the runner when its frame is stopped from outside, and leave no body behind."""
    loop = asyncio.get_running_loop()
    body = asyncio.ensure_future(runner(context))

    def stop() -> None:
        body.cancel()
        context.cancel_lost()

    def stop_soon() -> None:
        with suppress(RuntimeError):  # the loop is closed: there is nothing left to stop
            loop.call_soon_threadsafe(stop)

    recorder.holding.on_stop(stop_soon)
    try:
        answer = await body
        context.check_all_awaited()
        return answer  # noqa: TRY300 - what is checked belongs to the attempt
    except asyncio.CancelledError:
        if recorder.holding.fate is None:  # an interrupt, or a runner that cancels itself
            raise
        raise Suspended from None
    finally:
        context.cancel_lost()
        await context.bodies_done()
