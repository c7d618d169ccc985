"""Whole jobs a second, from enqueue to receipt, against raw commits."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import closing

from benchmarks import subject
from benchmarks.floors import RawFile
from benchmarks.measuring import Aim, Bench, Row, Sample, Spread, Watch, rate_row, take_turns, watch
from nodeagent import Answer, App, Backend, FrameContext, JobIndex, Runtime

FLOOR = "raw commits, one connection"


def end_to_end(bench: Bench) -> Iterator[Row]:
    """Jobs worked on by one worker in one process, against raw commits by one connection.

    A job is claimed (in a batch), decoded, run, verified, and finished with a receipt: its bytes
    are stored first, then receipt, frame and job in one commit; a step is one commit more. So a job
    of one step cannot do better than a third of the floor without sharing commits. It is measured
    with one frame at a time and with eight, and with and without the enqueue (in one call) before.
    """
    for concurrency in (1, 8):
        for steps in (0, 1):
            bench.tell(f"jobs: {steps} steps, {concurrency} at once")
            yield from _measured(bench, concurrency, steps)


def _measured(bench: Bench, concurrency: int, steps: int) -> Iterator[Row]:
    folder = bench.folder / f"{concurrency}-{steps}"
    folder.mkdir()
    jobs = bench.of(400, 60)
    enqueued: list[Watch] = []
    with (
        closing(RawFile(folder / "raw.db")) as raw,
        subject.open_sqlite(folder / "jobs.db") as backend,
    ):
        runtime = subject.runtime(_app(steps), backend, concurrency)
        samples = take_turns(
            bench.of(8, 2),
            {
                "raw": lambda: raw.commits(bench.seconds),
                "jobs": functools.partial(_worked, runtime, jobs, enqueued),
            },
        )
        _check(backend)
    what = f"{_plural(steps)}, {concurrency} at once"
    worked, floor = samples["jobs"], (FLOOR, samples["raw"])
    aim = Aim("ratio", "≥", 0.2) if steps == 1 else None
    both = [Sample(w.count, w.seconds + e.seconds, w.cpu + e.cpu) for w, e in zip(worked, enqueued[1:], strict=True)]
    yield rate_row("jobs", f"jobs of {what}", "jobs/s", worked, floor, aim=aim)
    yield rate_row("jobs", f"jobs of {what}, enqueue_many included", "jobs/s", both, floor)
    yield Row(
        case="jobs",
        what=f"CPU of a job of {what}",
        value=Spread.of(sample.cpu_micros for sample in worked),
        unit="µs",
        floor="CPU of a raw commit",
        floor_value=Spread.of(sample.cpu_micros for sample in samples["raw"]),
    )


def _worked(runtime: Runtime, jobs: int, enqueued: list[Watch]) -> Sample:
    with watch() as taken:
        runtime.enqueue_many([(None, subject.request("bench"))] * jobs)
    enqueued.append(taken)
    worker = runtime.worker()
    with watch() as taken:
        worker.run(until_idle=True, max_wait_ms=0)
    return taken.sample(jobs)


def _app(steps: int) -> App:
    app = App()

    @app.runner("bench")
    def bench(context: FrameContext) -> Answer:
        for index in range(steps):
            context.step("step", lambda: subject.RESULT, index=index)
        return subject.GROUNDED

    return app


def _check(backend: Backend) -> None:
    for status in ("queued", "running", "failed", "blocked"):
        if backend.jobs.list(JobIndex.by_status(status), None, 1).items:
            raise RuntimeError(f"a job of the benchmark is {status}, but should be completed")


def _plural(steps: int) -> str:
    return "no step" if steps == 0 else "one step" if steps == 1 else f"{steps} steps"
