"""Many independent commits in one call, against ``executemany`` in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing

from benchmarks import subject
from benchmarks.floors import PAYLOAD, RawFile
from benchmarks.measuring import Bench, Row, Sample, rate_row, repeat, take_turns, watch
from nodeagent import (
    App,
    Backend,
    BackendError,
    Claim,
    Commit,
    Committed,
    Entry,
    Held,
    Inline,
    OneJob,
    PortError,
    WriteOnce,
)

BATCH = 500


def commit_many(bench: Bench) -> Iterator[Row]:
    """Entries written by ``commit_many``, one fenced commit each, against rows of ``executemany``.

    Both put 500 payloads of 200 bytes into one transaction. The commits are built before the clock
    starts; the store checks every fence, answers every commit and could refuse any one alone.
    """
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "batches.db") as backend,
    ):
        claim = _claimed(backend)
        samples = take_turns(
            bench.rounds,
            {
                "raw": lambda: raw.batches(BATCH, bench.seconds / 2),
                "commits": lambda: _batch(backend, claim, bench.of(4, 2)),
            },
        )
    yield rate_row(
        "commit_many",
        f"commit_many, {BATCH} one-entry commits",
        "commits/s",
        samples["commits"],
        (f"raw executemany, {BATCH} rows", samples["raw"]),
    )


def enqueue_many(bench: Bench) -> Iterator[Row]:
    """Jobs stored by ``enqueue_many``, against rows of ``executemany``.

    A job is five rows (job, frame, two specs, an audit entry with its scope) and two JSON
    documents that are encoded here, against one row.
    """
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "batches.db") as backend,
    ):
        runtime = subject.runtime(App(), backend)
        requests = [(None, subject.request("bench"))] * BATCH
        samples = take_turns(
            bench.rounds,
            {
                "raw": lambda: raw.batches(BATCH, bench.seconds / 2),
                "jobs": lambda: _times(BATCH, repeat(lambda _: runtime.enqueue_many(requests), bench.seconds / 2)),
            },
        )
    yield rate_row(
        "commit_many",
        f"enqueue_many, {BATCH} jobs",
        "jobs/s",
        samples["jobs"],
        (f"raw executemany, {BATCH} rows", samples["raw"]),
    )


def enqueue_one(bench: Bench) -> Iterator[Row]:
    """Jobs stored one by one with ``enqueue``, against raw commits by one connection."""
    with (
        closing(RawFile(bench.folder / "raw.db")) as raw,
        subject.open_sqlite(bench.folder / "batches.db") as backend,
    ):
        runtime = subject.runtime(App(), backend)
        request = subject.request("bench")
        samples = take_turns(
            bench.rounds,
            {
                "raw": lambda: raw.commits(bench.seconds),
                "jobs": lambda: repeat(lambda _: runtime.enqueue(request), bench.seconds),
            },
        )
    yield rate_row(
        "enqueue",
        "enqueue, one job a call",
        "jobs/s",
        samples["jobs"],
        ("raw commits, one connection", samples["raw"]),
    )


def _claimed(backend: Backend) -> Claim:
    runtime = subject.runtime(App(), backend)
    job = runtime.enqueue(subject.request("bench")).job
    claims = backend.scheduler.claim(OneJob(job.id), "bench", subject.LEASE_MS, _random_id())
    return claims.claims[0]


def _batch(backend: Backend, claim: Claim, calls: int) -> Sample:
    batches = [[_one_entry(claim) for _ in range(BATCH)] for _ in range(calls)]
    with watch() as taken:
        answers = [backend.transactions.commit_many(batch) for batch in batches]
    for answer in answers:
        _check(answer)
    return taken.sample(calls * BATCH)


def _one_entry(claim: Claim) -> Commit:
    entry = Entry(key=(_random_id(),), kind="bench", value=Inline(PAYLOAD))
    write = WriteOnce(Held(claim.lease.resource[:2], "bench"), entry)  # type: ignore[arg-type]
    return Commit.fenced(_random_id(), claim.lease.fence, write)


def _check(answers: object) -> None:
    for answer in answers:  # type: ignore[attr-defined]
        if isinstance(answer, PortError | BackendError) or not isinstance(answer, Committed):
            raise TypeError(f"a commit of the benchmark was refused: {answer!r}")


def _times(number: int, sample: Sample) -> Sample:
    return Sample(sample.count * number, sample.seconds, sample.cpu)


def _random_id() -> str:
    return secrets.token_hex(16)
