"""Replay of a long journal, against reading the same payloads from a bare table."""

from __future__ import annotations

import functools
import json
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
    repeat,
    take_turns,
    time_ratio,
    time_row,
    watch,
)
from nodeagent import Answer, App, Backend, FrameContext, Runtime


def replay(bench: Bench) -> Iterator[Row]:
    """A frame that has recorded 10,000 steps runs again and gets them all from its journal.

    The floor reads as many rows with one SELECT and parses each payload as JSON. The same is done
    with a tenth of the steps: the time of a step must not grow with the journal.
    """
    many = bench.of(10_000, 2_000)
    few = many // 10
    payload = json.dumps(subject.RESULT).encode()
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "replay.db") as backend,
    ):
        raw.fill([payload] * many)
        bench.tell(f"replay: recording {many:,} steps")
        frames = {size: _Recorded(backend, size) for size in (many, few)}
        bench.tell("replay: measuring")
        samples = take_turns(
            bench.of(15, 2),
            {
                "raw": functools.partial(_read_raw, raw, many),
                "many": frames[many].run_again,
                "few": lambda: _together([frames[few].run_again() for _ in range(3)]),
            },
        )
    floor = (f"raw SELECT and json.loads of {many:,} rows", samples["raw"])
    yield time_row("replay", f"replay of {many:,} steps, a step", samples["many"], floor)
    yield Row(
        case="replay",
        what=f"replay of {many:,} steps, all",
        value=Spread.of(1e3 * sample.seconds for sample in samples["many"]),
        unit="ms",
    )
    yield Row(
        case="replay",
        what=f"a step of {many:,} to a step of {few:,}",
        value=Spread.of(sample.micros for sample in samples["many"]),
        unit="µs",
        floor=f"a step of {few:,}",
        floor_value=Spread.of(sample.micros for sample in samples["few"]),
        ratio=time_ratio(samples["many"], samples["few"]),
        aim=Aim("ratio", "≤", 1.5),
    )


class _Recorded:
    """A blocked frame with a recorded journal; every further round replays it."""

    def __init__(self, backend: Backend, steps: int) -> None:
        self._steps = steps
        self._bodies = 0
        self._seconds: list[Sample] = []
        self._runtime: Runtime = subject.runtime(self._app(), backend)
        self._job = f"replay-{steps}"
        self._runtime.run(subject.request("bench"), job_id=self._job)

    def _app(self) -> App:
        app = App()

        @app.runner("bench")
        def bench(context: FrameContext) -> Answer:
            with watch() as taken:
                for index in range(self._steps):
                    context.step("step", self._body, index=index)
            self._seconds.append(taken.sample(self._steps))
            return subject.UNSURE

        return app

    def _body(self) -> str:
        self._bodies += 1
        return subject.RESULT

    def run_again(self) -> Sample:
        """Give the frame another round; return what its steps took."""
        self._runtime.unblock(self._job)
        self._runtime.run(subject.request("bench"), job_id=self._job)
        if self._bodies != self._steps:
            raise RuntimeError("a replay of the benchmark has run a body again")
        return self._seconds[-1]


def _read_raw(raw: RawFile, rows: int) -> Sample:
    taken = repeat(lambda _: [json.loads(payload) for payload in raw.read_all()], 0.05)
    return Sample(taken.count * rows, taken.seconds, taken.cpu)


def _together(samples: list[Sample]) -> Sample:
    return Sample(sum(s.count for s in samples), sum(s.seconds for s in samples), sum(s.cpu for s in samples))
