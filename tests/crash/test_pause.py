"""A worker is stopped past its lease, another one finishes its job, and the first is continued."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.crash.conftest import Stage

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")

JOB = "job"
WORKER = {"lease_ms": 600, "concurrency": 1}
"""A file has one writer at a time, who blocks all others if it is stopped in the middle of a write: with one slot,
and before the next heartbeat, no other thread of the process is writing when one stops it."""
CALLS = (
    "transactions.commit_many#1",
    "wakeups.subscribe#1",
    "scheduler.claim#1",
    "transactions.commit#1",
    "artifacts.put#1",
    "transactions.commit#2",
    "transactions.commit#3",
    "artifacts.put#2",
    "transactions.commit#4",
)


def _outlast(stage: Stage) -> None:
    """Wait until the stopped worker's lease is over, by the clock that it goes by itself."""

    def is_over() -> bool:
        lease, now = stage.look(lambda backend: (backend.leases.get(("job", JOB)), backend.now()))
        return lease is None or lease.expires_at < now

    stage.until(is_over, "the lease to run out")


@pytest.mark.parametrize("call", CALLS)
def test_a_worker_that_was_stopped_at_a_call_does_nothing_more_for_the_job(stage: Stage, call: str) -> None:
    """It is refused by the fence or by its own clock, begins no step, and takes the next job."""
    first = stage.start(job=JOB, call=call, mode="pause", worker=WORKER)
    assert stage.stopped(first)
    _outlast(stage)
    stage.enqueue(JOB)
    stage.go_on(later_ms=0)
    done = stage.lines("effects")
    os.kill(first.pid, signal.SIGCONT)

    assert stage.end_of(first) == 0
    assert stage.lines("effects") == done
    assert len([words for words in done if int(words[3]) == first.pid]) <= len(stage.program.STEPS)
    stage.check(JOB)


@pytest.mark.parametrize("runner", ["plain", "async"])
@pytest.mark.parametrize("step", ["a", "b", "c"])
def test_a_worker_that_was_stopped_in_a_body_cannot_record_it(stage: Stage, step: str, runner: str) -> None:
    """Its successor did the step again, and the successor's result stands."""
    first = stage.start(job=JOB, runner=runner, app={"stops_in": step}, worker=WORKER)
    assert stage.stopped(first)
    _outlast(stage)
    stage.go_on(later_ms=0)
    done = stage.lines("effects")
    os.kill(first.pid, signal.SIGCONT)

    assert stage.end_of(first) == 0
    assert stage.lines("effects") == done
    assert [words[1] for words in done] == sorted([*stage.program.STEPS, step])
    assert [entry.token for entry in stage.steps(JOB) if entry.key == (step,)] == [2]
    stage.check(JOB)


def test_a_worker_that_was_stopped_and_not_replaced_goes_on(stage: Stage) -> None:
    """Nobody took its job, so what it did is recorded, and the next attempt replays it."""
    first = stage.start(job=JOB, app={"stops_in": "b"}, worker=WORKER)
    assert stage.stopped(first)
    _outlast(stage)
    os.kill(first.pid, signal.SIGCONT)

    assert stage.end_of(first) == 0
    assert [words[1] for words in stage.lines("effects")] == list(stage.program.STEPS)
    stage.check(JOB)
