"""A worker is killed at every call that it makes at a port, and another one goes on."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.crash.conftest import Stage

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")

JOB = "job"
CALLS = (
    "transactions.commit_many#1",  # enqueue
    "wakeups.subscribe#1",
    "scheduler.claim#1",
    "transactions.commit#1",  # step a
    "artifacts.put#1",  # the large result of step b
    "transactions.commit#2",
    "transactions.commit#3",
    "artifacts.put#2",  # the receipt
    "transactions.commit#4",  # finish
    "scheduler.claim#2",  # nothing more to do
)


@pytest.mark.parametrize("runner", ["plain", "async"])
def test_the_sweep_covers_every_call_that_a_worker_makes(stage: Stage, runner: str) -> None:
    """Should it come to make others, they belong into the list."""
    code = stage.end_of(stage.start(job=JOB, runner=runner))
    (ended,) = stage.lines("ended")
    # How often a worker looks for more depends on which of its threads is faster.
    made = [call for call in ended[1:] if not call.startswith("scheduler.claim#") or call in CALLS]

    assert (code, stage.errors) == (0, "")
    assert sorted(made) == sorted(CALLS)
    stage.check(JOB)


@pytest.mark.parametrize(("mode", "runner"), [("before", "plain"), ("after", "plain"), ("after", "async")])
@pytest.mark.parametrize("call", CALLS)
def test_another_worker_goes_on_where_one_was_killed(stage: Stage, call: str, mode: str, runner: str) -> None:
    """One receipt, rising tokens, no recorded step repeated, at most the effect in flight done twice."""
    code = stage.end_of(stage.start(job=JOB, runner=runner, call=call, mode=mode))
    recorded = len(stage.steps(JOB))
    done = len(stage.lines("effects"))
    stage.enqueue(JOB, runner=runner)  # whoever was killed before it was stored is asked again
    stage.go_on()
    again = [words[1] for words in stage.lines("effects")[done:]]

    assert code == -signal.SIGKILL
    assert again == list(stage.program.STEPS[recorded:])
    assert len(stage.lines("effects")) <= len(stage.program.STEPS) + 1
    stage.check(JOB)


@pytest.mark.parametrize("step", ["a", "b", "c"])
def test_a_worker_that_is_killed_in_a_body_has_done_its_effect_at_most_twice(stage: Stage, step: str) -> None:
    """Between the effect and its record, which is the one window there is."""
    code = stage.end_of(stage.start(job=JOB, app={"dies_in": step}))
    stage.go_on()
    effects = [words[1] for words in stage.lines("effects")]

    assert code == -signal.SIGKILL
    assert effects == sorted([*stage.program.STEPS, step])
    stage.check(JOB)


def test_a_job_that_kills_each_of_its_workers_fails_in_the_end(stage: Stage) -> None:
    """The last attempt is used up by a dead worker: the next claim stores the receipt and runs nothing."""
    code = stage.end_of(stage.start(job=JOB, app={"dies_in": "b"}, max_attempts=1))
    stage.go_on()
    job = stage.job(JOB)

    assert code == -signal.SIGKILL
    assert job is not None
    assert (job.header.status, job.header.token, job.header.run_after) == ("failed", 2, None)
    assert [words[1] for words in stage.lines("effects")] == ["a", "b"]
    assert stage.look(lambda backend: backend.leases.get(("job", JOB))) is None


def test_a_chain_of_crashes_advances_a_step_at_a_time(stage: Stage) -> None:
    """Every worker dies one record further on, and none stands still between two of them."""
    stage.enqueue(JOB)
    for number in range(3):
        code = stage.end_of(
            stage.start(call="transactions.commit#1", mode="after", worker={"lease_ms": 100}, until_idle=False)
        )

        assert code == -signal.SIGKILL
        assert len(stage.steps(JOB)) == number + 1
    stage.go_on()

    assert [words[1] for words in stage.lines("effects")] == list(stage.program.STEPS)
    stage.check(JOB)
