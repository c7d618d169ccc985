"""What a claim costs in a full store, against the same claim in an empty one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from benchmarks import filling, subject
from benchmarks.measuring import Aim, Bench, Row, Sample, Side, take_turns, time_row, watch
from nodeagent import Answer, App, At, Backend, Enqueued, FrameContext, Lanes, Ms, OneJob, Runtime

DAY_MS = 24 * 3600 * 1000
SPREAD_OUT = {"priority": "clone.n % 10", "created_at": "row.created_at + clone.n % 1000"}
"""Clones use every priority, and come in no order of age."""
TURN = 20


def claims(bench: Bench) -> Iterator[Row]:
    """Claims and peeks in a store that holds a past, against the same in a store that holds none.

    Both stores have the same due jobs in one lane, and one job of each priority that is due
    tomorrow. The full one has in the same lane and priorities a million finished jobs, a hundred
    thousand parked (half without a time, half until tomorrow) and five thousand leased to others.
    The stores take turns, twenty calls each; the time of a claim includes its commit.
    """
    finished, parked, leased = bench.of(1_000_000, 20_000), bench.of(100_000, 2_000), 5_000
    due = bench.of(4_500, 1_300)
    paths = {"empty": bench.folder / "empty.db", "full": bench.folder / "full.db"}
    bench.tell(f"claims: filling a store with {finished + parked:,} jobs")
    _fill(paths["full"], finished, parked, bench.of(leased, 500))
    with (
        subject.open_sqlite(paths["empty"]) as empty,
        subject.open_sqlite(paths["full"]) as full,
    ):
        lanes = [_enqueue_due(store, due) for store in (empty, full)]
        bench.tell("claims: measuring")
        yield from _compared(bench.of(15, 3), (empty, full), lanes[0], f"{finished:,} + {parked:,}")


def _compared(rounds: int, stores: tuple[Backend, Backend], lane: Lanes, jobs: str) -> Iterator[Row]:
    aim = Aim("ratio", "≤", 1.5)
    claims_of = {limit: partial(_claims, want=lane, limit=limit) for limit in (1, 10)}
    what: dict[str, Callable[[Backend], Sample]] = {
        "claim of 1 job": claims_of[1],
        "claim of 10 jobs": claims_of[10],
        "peek": partial(_peeks, want=lane),
    }
    for name, call in what.items():
        yield _row(rounds, stores, f"{name} beside {jobs} jobs", call, aim)
    for store in stores:
        while _claim(store, lane, 500):
            pass
    yield _row(rounds, stores, f"claim of nothing beside {jobs} jobs", partial(_idle, want=lane), aim)


def _row(
    rounds: int,
    stores: tuple[Backend, Backend],
    what: str,
    call: Callable[[Backend], Sample],
    aim: Aim,
) -> Row:
    sides: dict[str, Side] = {
        "empty": partial(call, stores[0]),
        "full": partial(call, stores[1]),
    }
    samples = take_turns(rounds, sides)
    return time_row("claims", what, samples["full"], ("the same beside none", samples["empty"]), aim=aim)


# --- filling ------------------------------------------------------------------------------------


def _fill(path: Path, finished: int, parked: int, leased: int) -> None:
    with subject.open_sqlite(path) as backend:
        runtime = _runtime(backend)
        done, waiting, sleeping, running = (secrets.token_hex(16) for _ in range(4))
        tomorrow = At(Ms(backend.now() + DAY_MS))
        runtime.run(subject.request("bench"), job_id=done)
        runtime.enqueue(subject.request("bench", run_after=tomorrow), job_id=waiting)
        runtime.enqueue(subject.request("bench", run_after=tomorrow), job_id=sleeping)
        runtime.enqueue(subject.request("bench"), job_id=running)
        _claim(backend, OneJob(running), 1)
        runtime.close()
    ends: Mapping[str, str] = {"ended_at": "row.ended_at + clone.n % 1000"}
    for template, count, varied in (
        (done, finished, ends),
        (waiting, parked // 2, {"run_after": "NULL"}),
        (sleeping, parked - parked // 2, {"run_after": "row.run_after + clone.n"}),
        (running, leased, {}),
    ):
        filling.clone(path, template, count, {**SPREAD_OUT, **varied})


def _enqueue_due(backend: Backend, count: int) -> Lanes:
    """Store due jobs of every priority, and one of each that is due tomorrow; return their lane."""
    tomorrow = At(Ms(backend.now() + DAY_MS))
    requests = [subject.request("bench", priority=n % 10) for n in range(count)]
    requests += [subject.request("bench", priority=n, run_after=tomorrow) for n in range(10)]
    first = _runtime(backend).enqueue_many([(None, request) for request in requests])[0]
    if not isinstance(first, Enqueued):
        raise first
    return Lanes(names=(first.job.lane,))


def _runtime(backend: Backend) -> Runtime:
    app = App()

    @app.runner("bench")
    def bench(_: FrameContext) -> Answer:
        return subject.GROUNDED

    return subject.runtime(app, backend)


# --- measuring ----------------------------------------------------------------------------------


def _claim(backend: Backend, want: Lanes | OneJob, limit: int) -> int:
    """Claim, and return how many jobs were found."""
    claim_id = secrets.token_hex(16)
    found = backend.scheduler.claim(want, "bench", subject.LEASE_MS, claim_id, limit)
    return len(found.claims)


def _claims(backend: Backend, want: Lanes, limit: int) -> Sample:
    with watch() as taken:
        found = [_claim(backend, want, limit) for _ in range(TURN)]
    if found != [limit] * TURN:
        raise RuntimeError("the store of the benchmark has run out of due jobs")
    return taken.sample(TURN)


def _idle(backend: Backend, want: Lanes) -> Sample:
    with watch() as taken:
        found = [_claim(backend, want, 10) for _ in range(TURN)]
    if any(found):
        raise RuntimeError("the store of the benchmark should have had no due job, but had one")
    return taken.sample(TURN)


def _peeks(backend: Backend, want: Lanes) -> Sample:
    with watch() as taken:
        peeks = [backend.scheduler.peek(want, 1) for _ in range(TURN)]
    if not all(peek.jobs for peek in peeks):
        raise RuntimeError("the store of the benchmark has run out of due jobs")
    return taken.sample(TURN)
