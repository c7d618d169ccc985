"""Artifacts of 64 KB, against rows of a bare table with a BLOB of that size."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing

from benchmarks import subject
from benchmarks.floors import RawFile
from benchmarks.measuring import Bench, Row, Sample, rate_row, repeat, take_turns
from nodeagent import ArtifactRef, Backend

SIZE = 64 * 1024
KEPT = 200


def artifacts(bench: Bench) -> Iterator[Row]:
    """Puts of new bytes and gets of old ones, against an INSERT and a SELECT of as many bytes.

    An artifact is named by the sha256 of its bytes, so a put digests them and looks whether they
    are there, and a get digests them again.
    """
    chance = random.Random(64)  # noqa: S311 - any bytes will do, as long as they differ
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "artifacts.db") as backend,
    ):
        raw.fill([chance.randbytes(SIZE) for _ in range(KEPT)])
        kept = [backend.artifacts.put(chance.randbytes(SIZE), "text/plain") for _ in range(KEPT)]
        samples = take_turns(
            bench.rounds,
            {
                "raw put": lambda: _raw_puts(raw, chance, bench.seconds / 2),
                "put": lambda: _puts(backend, chance, bench.seconds / 2),
                "raw get": lambda: repeat(lambda i: raw.read(1 + i % KEPT), bench.seconds / 2),
                "get": lambda: _gets(backend, kept, bench.seconds / 2),
            },
        )
    floor = ("raw INSERT of 64 KB", samples["raw put"])
    yield rate_row("artifacts", "artifact put, 64 KB", "puts/s", samples["put"], floor)
    floor = ("raw SELECT of 64 KB", samples["raw get"])
    yield rate_row("artifacts", "artifact get, 64 KB", "gets/s", samples["get"], floor)


def _raw_puts(raw: RawFile, chance: random.Random, seconds: float) -> Sample:
    return raw.commits(seconds, chance.randbytes(SIZE))


def _puts(backend: Backend, chance: random.Random, seconds: float) -> Sample:
    body = chance.randbytes(SIZE - 8)

    def put(number: int) -> None:
        backend.artifacts.put(body + number.to_bytes(8, "big"), "text/plain")

    return repeat(put, seconds)


def _gets(backend: Backend, kept: list[ArtifactRef], seconds: float) -> Sample:
    return repeat(lambda i: backend.artifacts.get(kept[i % KEPT]), seconds)
