"""The subject: an application on an open backend, through the public API alone."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measuring import Sample, repeat, watch
from nodeagent import (
    Answer,
    App,
    AsyncFrameContext,
    Backend,
    Evidence,
    FrameContext,
    FrameRequest,
    Runtime,
    Statement,
    WorkerOptions,
    open_provider,
)

RESULT = "x" * 198
"""A step's result: 200 bytes of JSON, as many as the payload of a floor's row."""
GROUNDED = Answer(
    confidence="high",
    statements=(Statement(text="It is so.", citations=("e1",)),),
    evidence=(Evidence(id="e1", source="notes.md", quote="it is so", line=1),),
)
UNSURE = Answer(confidence="low")
"""An answer that ends a frame as *blocked*, so that it can be given another round."""
LEASE_MS = 600_000
"""No renewal falls into a measurement."""


def open_sqlite(path: Path) -> Backend:
    """Open a new or existing file."""
    return open_provider("sqlite", {"path": str(path)})


def request(runner: str, **changes: object) -> FrameRequest:
    """Ask for a frame of a runner."""
    return FrameRequest(goal="Is it so?", runner=runner, **changes)  # type: ignore[arg-type]


def runtime(app: App, backend: Backend, concurrency: int = 1) -> Runtime:
    """Return a runtime whose workers run ``concurrency`` frames at once."""
    options = WorkerOptions(concurrency=concurrency, lease_ms=LEASE_MS, grace_ms=1_000)
    return Runtime(app, backend, options=options)


def steps_by_one_thread(backend: Backend, seconds: float) -> Sample:
    """Run one frame whose plain runner records steps, one after the other, until time is over.

    What is measured begins after the frame's first step and ends before the frame does: no claim,
    no receipt.
    """
    samples: list[Sample] = []

    def steps(context: FrameContext) -> Answer:
        context.step("first", _result)
        samples.append(repeat(lambda i: context.step("step", _result, index=i), seconds))
        return UNSURE

    return _only(samples, _run_frames(backend, steps, 1))


def steps_by_threads(backend: Backend, threads: int, seconds: float) -> Sample:
    """Run as many frames at once, each in a thread that records steps one after the other."""
    samples: list[Sample] = []
    counts: list[int] = []
    start = threading.Barrier(threads)
    end = threading.Barrier(threads)

    def steps(context: FrameContext) -> Answer:
        context.step("first", _result)
        start.wait(timeout=60)
        with watch() as taken:
            mine = repeat(lambda i: context.step("step", _result, index=i), seconds)
            counts.append(mine.count)
            place = end.wait(timeout=60)
        if place == 0:
            samples.append(taken.sample(sum(counts)))
        return UNSURE

    return _only(samples, _run_frames(backend, steps, threads))


def steps_by_tasks(backend: Backend, tasks: int, seconds: float) -> Sample:
    """Run one frame whose ``async def`` runner gathers tasks that each record steps in turn."""
    samples: list[Sample] = []

    async def steps(context: AsyncFrameContext) -> Answer:
        await context.step("first", _result_later)

        async def one(task: int, until: float) -> int:
            count = 0
            while time.perf_counter() < until:
                await context.step(f"task-{task}", _result_later, index=count)
                count += 1
            return count

        with watch() as taken:
            until = time.perf_counter() + seconds
            counts = await asyncio.gather(*(one(task, until) for task in range(tasks)))
        samples.append(taken.sample(sum(counts)))
        return UNSURE

    return _only(samples, _run_frames(backend, steps, 1))


def _result() -> str:
    return RESULT


async def _result_later() -> str:
    return RESULT


def _run_frames(backend: Backend, runner: Callable[..., object], count: int) -> str:
    """Run ``count`` new frames at once; return why one failed, if one did."""
    app = App()
    app.add_runner("bench", runner)  # type: ignore[arg-type]
    opened = runtime(app, backend, concurrency=count)
    jobs = [f"bench-{time.time_ns()}-{number}" for number in range(count)]
    opened.enqueue_many([(job, request("bench", max_attempts=1)) for job in jobs])
    opened.worker().run(until_idle=True, max_wait_ms=0)
    headers = [opened.job(job).header for job in jobs]
    failed = [header for header in headers if header.status != "blocked"]
    return f"job {failed[0].id} is {failed[0].status}" if failed else ""


def _only(samples: list[Sample], failure: str) -> Sample:
    if failure or len(samples) != 1:
        raise RuntimeError(f"a frame of the benchmark did not end as it should: {failure}")
    return samples[0]
