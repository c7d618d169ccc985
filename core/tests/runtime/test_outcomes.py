"""Each outcome of working on one job, and the replay of one that is finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nodeagent import Answer, At, FrameContext, HostClock, Ms, NotFound, OneJob, OutcomeUnknown

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def test_a_finished_job_is_replayed_byte_for_byte_and_executes_nothing(lab: Lab) -> None:
    """By the same worker, another one, and any number of times."""
    ran: list[int] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        ran.append(context.attempt)
        context.step("a", lambda: ran.append(0))
        return lab.answer()

    job = lab.enqueue()
    first = lab.run(job)
    calls = list(ran)
    again = [lab.run(job) for _ in range(3)]

    assert (first.status, first.replayed) == ("completed", False)
    assert {(one.status, one.replayed, one.receipt) for one in again} == {("replayed", True, first.receipt)}
    assert ran == calls
    assert lab.header(job).token == 1
    assert again[0].frame == lab.backend.frames.get(job)


@pytest.mark.parametrize("error", [None, "no"])
def test_a_blocked_or_failed_job_is_replayed_too(lab: Lab, error: str | None) -> None:
    """It is over until somebody gives it another round."""
    lab.app.add_runner("work", lambda _: lab.answer(error=error, statements=()))
    job = lab.enqueue()
    first = lab.run(job)
    second = lab.run(job)

    assert first.status == ("blocked" if error is None else "failed")
    assert (second.status, second.receipt) == ("replayed", first.receipt)
    assert first.status in (second.reason or "")


def test_a_job_that_somebody_holds_is_leased(lab: Lab) -> None:
    """The outcome says by whom."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    lab.steal(job)
    outcome = lab.run(job)

    assert outcome.status == "leased"
    assert "thief" in (outcome.reason or "")


def test_a_job_whose_time_has_not_come_is_not_due(lab: Lab) -> None:
    """It runs in the millisecond in which it is due."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue(run_after=At(Ms(lab.clock.now() + 10)))
    lab.clock.advance(9)
    early = lab.run(job)
    lab.clock.advance(1)

    assert early.status == "not_due"
    assert lab.run(job).status == "completed"


def test_an_unknown_job_is_not_found(lab: Lab) -> None:
    """It may have been purged."""
    with pytest.raises(NotFound, match="nobody"):
        lab.run("nobody")


def test_a_job_whose_runner_is_not_registered_is_given_back(lab: Lab) -> None:
    """With the reason, and without using up an attempt."""
    job = lab.enqueue(runner="elsewhere")
    outcome = lab.run(job)

    assert outcome.status == "suspended"
    assert "'elsewhere'" in (outcome.reason or "")
    assert (lab.header(job).status, lab.header(job).attempts) == ("queued", 0)


def test_a_job_that_was_taken_is_fenced(lab: Lab) -> None:
    """Nothing of its work is left but what was recorded in time."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        lab.steal(context.job_id)
        return lab.answer()

    job = lab.enqueue()
    outcome = lab.run(job)

    assert outcome.status == "fenced"
    assert outcome.job.token == 2
    assert (lab.keys(job), lab.receipts(job)) == (["a"], ())


def test_a_failed_attempt_is_rescheduled(lab: Lab) -> None:
    """Its error is told, and no receipt is stored."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        raise OSError("gone")

    outcome = lab.run(lab.enqueue())

    assert (outcome.status, outcome.receipt) == ("rescheduled", None)
    assert outcome.reason == "gone"


def test_a_lease_that_is_returned_again_but_has_run_out_is_renewed_before_any_body(lab: Lab) -> None:
    """The answer to the first claim came so late that its lease was over."""
    renewals: list[int] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        assert len(renewals) == 1
        context.step("a", lambda: 1)
        return lab.answer()

    def claim(call: object, *arguments: object) -> object:
        answer = call(*arguments)  # type: ignore[operator]
        if not lab.clock.monotonic():
            lab.clock.advance(60_000)
            return call(*arguments)  # type: ignore[operator]
        return answer

    def renew(call: object, *arguments: object) -> object:
        renewals.append(1)
        return call(*arguments)  # type: ignore[operator]

    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(scheduler_claim=claim, leases_renew=renew)))

    assert outcome.status == "completed"
    assert lab.header(job).token == 1


def test_a_claim_whose_answer_comes_after_its_lease_begins_nothing(lab: Lab) -> None:
    """A store that answers after a minute has handed out what may be somebody else's by now."""
    ran: list[int] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        ran.append(context.attempt)
        return lab.answer()

    def claim(call: object, *arguments: object) -> object:
        answer = call(*arguments)  # type: ignore[operator]
        lab.clock.advance(60_000)
        return answer

    job = lab.enqueue(max_attempts=1)
    outcome = lab.run(job, lab.worker(lab.tap(scheduler_claim=claim)))

    assert outcome.status == "suspended"
    assert ran == []
    assert lab.run(job).status == "completed"


def test_a_claim_whose_answer_was_lost_is_repeated_with_its_id(lab: Lab) -> None:
    """It returns the same lease, so no attempt is used up by a broken connection."""
    ids: list[object] = []

    def claim(call: object, *arguments: object) -> object:
        answer = call(*arguments)  # type: ignore[operator]
        ids.append(arguments[3])
        if len(ids) < 4:
            raise OutcomeUnknown("the connection broke")
        return answer

    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(scheduler_claim=claim), clock=HostClock()))

    assert outcome.status == "completed"
    assert len(set(ids)) == 1
    assert (lab.header(job).token, lab.header(job).attempts) == (1, 1)
    assert not lab.backend.scheduler.peek(OneJob(job)).jobs
