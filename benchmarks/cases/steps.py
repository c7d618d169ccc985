"""Durable steps against raw commits of one row of the same size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from benchmarks import subject
from benchmarks.floors import RawFile
from benchmarks.measuring import (
    Aim,
    Bench,
    Row,
    Sample,
    Spread,
    rate_row,
    take_turns,
)
from nodeagent import open_provider

ONE_RAW = "raw commits, one connection"


def one_thread(bench: Bench) -> Iterator[Row]:
    """Steps by one frame in one thread, against raw commits by one connection in one thread.

    Both wait for one sync of the disk each. What the step adds is Python, the check of the fence
    and one unique index.
    """
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "steps.db") as backend,
    ):
        samples = take_turns(
            bench.rounds,
            {
                "raw": lambda: raw.commits(bench.seconds),
                "steps": lambda: subject.steps_by_one_thread(backend, bench.seconds),
            },
        )
    yield rate_row(
        "steps",
        "durable steps, 1 thread",
        "steps/s",
        samples["steps"],
        (ONE_RAW, samples["raw"]),
        aim=Aim("ratio", "≥", 0.6),
    )


def many_threads(bench: Bench) -> Iterator[Row]:
    """Steps by eight frames in eight threads of one worker, against two floors.

    The aim is about raw commits by *one* connection: what one program without group commit gets
    from the disk. Raw commits by eight threads with a connection each are shown as well; they get
    no more out of it than one does, and lose some to waiting for the lock.
    """
    threads = 8
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        closing(RawFile(bench.folder / "contended.db")) as contended,
        subject.open_sqlite(bench.folder / "steps.db") as backend,
    ):
        samples = take_turns(
            bench.rounds,
            {
                "raw": lambda: raw.commits(bench.seconds),
                "contended": lambda: contended.contended_commits(threads, bench.seconds),
                "steps": lambda: subject.steps_by_threads(backend, threads, bench.seconds),
            },
        )
    what = f"durable steps, {threads} threads"
    one, many = samples["raw"], samples["contended"]
    aim = Aim("ratio", "≥", 1.0)
    yield rate_row("steps", what, "steps/s", samples["steps"], (ONE_RAW, one), aim=aim)
    yield rate_row("steps", what, "steps/s", samples["steps"], (f"raw commits, {threads} connections", many))


def many_tasks(bench: Bench) -> Iterator[Row]:
    """Steps by 32 tasks of one ``async def`` frame, against raw commits by one connection."""
    tasks = 32
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "steps.db") as backend,
    ):
        samples = take_turns(
            bench.rounds,
            {
                "raw": lambda: raw.commits(bench.seconds),
                "steps": lambda: subject.steps_by_tasks(backend, tasks, bench.seconds),
            },
        )
    yield rate_row(
        "steps",
        f"durable steps, {tasks} tasks of one frame",
        "steps/s",
        samples["steps"],
        (ONE_RAW, samples["raw"]),
        aim=Aim("ratio", "≥", 1.5),
    )


def processor_time(bench: Bench) -> Iterator[Row]:
    """Microseconds of CPU that a step costs beyond what a raw commit costs.

    On SQLite: the process's CPU for a step less that for a raw commit (the system's part of the
    sync is in both). On the provider *memory*: everything, as there is no floor below it.
    """
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "steps.db") as sqlite,
        open_provider("memory") as memory,
    ):
        samples = take_turns(
            bench.rounds,
            {
                "raw": lambda: raw.commits(bench.seconds),
                "sqlite": lambda: subject.steps_by_one_thread(sqlite, bench.seconds),
                "memory": lambda: subject.steps_by_one_thread(memory, bench.seconds),
            },
        )
    yield Row(
        case="cpu",
        what="CPU of a step on SQLite, less that of a raw commit",
        value=_difference(samples["sqlite"], samples["raw"]),
        unit="µs",
        floor="CPU of a raw commit",
        floor_value=Spread.of(sample.cpu_micros for sample in samples["raw"]),
    )
    yield Row(
        case="cpu",
        what="CPU of a step on memory",
        value=Spread.of(sample.cpu_micros for sample in samples["memory"]),
        unit="µs",
    )


def _difference(subject: list[Sample], floor: list[Sample]) -> Spread:
    return Spread.of(s.cpu_micros - f.cpu_micros for s, f in zip(subject, floor, strict=True))
