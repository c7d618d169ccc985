"""Samples, rounds in which the sides take turns, and the medians and ratios that come of them.

Absolute rates say more about a disk and its neighbours than about a program. So a subject never
runs alone: in every round each *side* (a floor or a subject) runs once, one right after the other,
in the same process and folder. A round gives one ratio, and what is reported is the median of the
rounds' ratios with its quartiles. A disturbance that is longer than a round hits both sides, a
shorter one spoils a round and not the median.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from attrs import field, frozen

Progress = Callable[[str], None]


@frozen
class Sample:
    """``count`` operations, the seconds they took, and the seconds of CPU the process spent."""

    count: int
    seconds: float
    cpu: float = 0.0

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.count / self.seconds

    @property
    def micros(self) -> float:
        """Microseconds for one operation."""
        return 1e6 * self.seconds / self.count

    @property
    def cpu_micros(self) -> float:
        """Microseconds of CPU for one operation."""
        return 1e6 * self.cpu / self.count


Side = Callable[[], Sample]


@frozen
class Spread:
    """The median of some numbers, between their quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, numbers: Iterable[float]) -> Spread:
        """Summarize numbers; one alone is its own spread."""
        known = list(numbers)
        if len(known) == 1:
            return cls(known[0], known[0], known[0])
        low, middle, high = statistics.quantiles(known, n=4, method="inclusive")
        return cls(middle, low, high)


@frozen
class Aim:
    """What a row should reach: its ``ratio`` or its ``value`` at least, or at most, a number."""

    of: Literal["ratio", "value"]
    relation: Literal["≥", "≤"]
    number: float

    def is_met(self, row: Row) -> bool:
        """Say whether the median reaches the aim."""
        reached = row.ratio if self.of == "ratio" else row.value
        if reached is None:
            return False
        if self.relation == "≥":
            return reached.median >= self.number
        return reached.median <= self.number


@frozen(kw_only=True)
class Row:
    """One line of the table: what was measured, against which floor, and what it should reach.

    ``ratio`` is subject to floor, of rates and of times alike.
    """

    case: str
    what: str
    value: Spread
    unit: str
    floor: str | None = None
    floor_value: Spread | None = None
    ratio: Spread | None = None
    aim: Aim | None = None


@frozen(kw_only=True)
class Bench:
    """What a case is given: an empty folder, how long to measure, and whom to tell."""

    folder: Path
    is_quick: bool
    tell: Progress = field(repr=False)

    @property
    def rounds(self) -> int:
        """How often the sides take turns."""
        return 3 if self.is_quick else 40

    @property
    def seconds(self) -> float:
        """How long one side of one round runs where time is what ends it."""
        return 0.15 if self.is_quick else 0.12

    def of(self, full: int, quick: int) -> int:
        """Choose a size: of a whole run, or of a quick one."""
        return quick if self.is_quick else full


Case = Callable[[Bench], Iterator[Row]]


def take_turns(rounds: int, sides: Mapping[str, Side]) -> dict[str, list[Sample]]:
    """Run every side once a round, in order, after one round that warms up and is not counted."""
    samples: dict[str, list[Sample]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, side in sides.items():
            gc.collect()
            sample = side()
            if number:
                samples[name].append(sample)
    return samples


class Watch:
    """Counts seconds and CPU from the start of a ``with`` block to its end."""

    seconds = 0.0
    cpu = 0.0

    def sample(self, count: int) -> Sample:
        """Say that the block performed ``count`` operations."""
        return Sample(count, self.seconds, self.cpu)


@contextmanager
def watch() -> Iterator[Watch]:
    """Time a block."""
    taken = Watch()
    cpu, started = time.process_time(), time.perf_counter()
    try:
        yield taken
    finally:
        taken.seconds = time.perf_counter() - started
        taken.cpu = time.process_time() - cpu


def repeat(action: Callable[[int], object], seconds: float) -> Sample:
    """Perform ``action(0)``, ``action(1)``, … until the time is over."""
    count = 0
    with watch() as taken:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            action(count)
            count += 1
    return taken.sample(count)


def rates(samples: Sequence[Sample]) -> Spread:
    """Summarize operations a second."""
    return Spread.of(sample.rate for sample in samples)


def times(samples: Sequence[Sample]) -> Spread:
    """Summarize microseconds an operation."""
    return Spread.of(sample.micros for sample in samples)


def rate_ratio(subject: Sequence[Sample], floor: Sequence[Sample]) -> Spread:
    """Compare rates, round by round; more is better."""
    return Spread.of(s.rate / f.rate for s, f in zip(subject, floor, strict=True))


def time_ratio(subject: Sequence[Sample], floor: Sequence[Sample]) -> Spread:
    """Compare times, round by round; less is better."""
    return Spread.of(s.micros / f.micros for s, f in zip(subject, floor, strict=True))


def rate_row(
    case: str,
    what: str,
    unit: str,
    subject: Sequence[Sample],
    floor: tuple[str, Sequence[Sample]],
    *,
    aim: Aim | None = None,
) -> Row:
    """Build the row of a rate and its floor's rate."""
    return Row(
        case=case,
        what=what,
        value=rates(subject),
        unit=unit,
        floor=floor[0],
        floor_value=rates(floor[1]),
        ratio=rate_ratio(subject, floor[1]),
        aim=aim,
    )


def time_row(
    case: str,
    what: str,
    subject: Sequence[Sample],
    floor: tuple[str, Sequence[Sample]],
    *,
    aim: Aim | None = None,
) -> Row:
    """Build the row of the microseconds of an operation and those of its floor."""
    return Row(
        case=case,
        what=what,
        value=times(subject),
        unit="µs",
        floor=floor[0],
        floor_value=times(floor[1]),
        ratio=time_ratio(subject, floor[1]),
        aim=aim,
    )
