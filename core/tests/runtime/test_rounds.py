"""The verbs of people: retry, unblock, cancel, and what each leaves as it was."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from nodeagent import Answer, AsyncFrameContext, Commit, Conflict, FrameContext, Invalid, Json, NotFound, Suspended

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tests.runtime.conftest import Lab


def _blocked_once(lab: Lab, ran: list[str]) -> None:
    """Register a runner whose first round is blocked, or fails if its input says so."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: ran.append(f"a{context.round}"))
        if context.round == 1:
            return lab.answer(
                confidence="high" if context.input else "low", error="no model" if context.input else None
            )
        context.step("b", lambda: ran.append(f"b{context.round}"))
        return lab.answer()


@pytest.mark.parametrize(("fails", "verb"), [(False, "unblock"), (True, "retry")])
def test_another_round_replays_what_is_recorded(lab: Lab, fails: bool, verb: str) -> None:  # noqa: FBT001 - a parameter
    """Keys carry neither attempt nor round; receipts carry the round, and old ones stay."""
    ran: list[str] = []
    _blocked_once(lab, ran)
    job = lab.enqueue(input={"fails": 1} if fails else {})
    lab.drain()
    first = lab.runtime().receipt(job, round=1)
    header = getattr(lab.runtime(), verb)(job, round=1)
    lab.drain()

    assert (header.status, header.round, header.attempts) == ("queued", 2, 0)
    assert lab.header(job).status == "completed"
    assert (lab.header(job).round, lab.header(job).attempts, lab.header(job).token) == (2, 1, 2)
    assert ran == ["a1", "b2"]
    assert [entry.key for entry in lab.receipts(job)] == [("1",), ("2",)]
    assert lab.runtime().receipt(job, round=1) == first
    assert lab.receipt(job)["round"] == 2
    assert lab.audit(job) == ["enqueue", "finish", verb, "finish"]


def test_a_verb_names_the_round_that_its_caller_has_seen(lab: Lab) -> None:
    """Two people who see the same failure give it one more round, not two."""
    lab.app.add_runner("work", lambda _: lab.answer(error="no"))
    job = lab.enqueue()
    lab.drain()
    lab.runtime().retry(job, round=1)
    lab.drain()

    with pytest.raises(Invalid, match="round 2, not 1"):
        lab.runtime().retry(job, round=1)
    assert lab.header(job).round == 2


def test_a_verb_without_a_round_acts_on_the_one_it_found(lab: Lab) -> None:
    """Also if somebody else acts, and the job fails again, between its look and its commit."""
    lab.app.add_runner("work", lambda _: lab.answer(error="no"))
    job = lab.enqueue()
    lab.drain()

    def tamper(send: Callable[[Commit], object], commit: Commit) -> object:
        if lab.header(job).round == 1:
            lab.runtime().retry(job)
            lab.drain()
        return send(commit)

    with pytest.raises(Invalid, match="round 2, not 1"):
        lab.runtime(lab.tap(transactions_commit=tamper)).retry(job)
    assert (lab.header(job).round, lab.header(job).status) == (2, "failed")


@pytest.mark.parametrize("verb", ["retry", "unblock", "cancel"])
def test_a_completed_job_takes_no_verb(lab: Lab, verb: str) -> None:
    """Its status is final."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    lab.drain()

    with pytest.raises(Invalid, match="completed"):
        getattr(lab.runtime(), verb)(job)
    with pytest.raises(NotFound):
        getattr(lab.runtime(), verb)("nobody")


def test_a_queued_job_is_canceled_for_good(lab: Lab) -> None:
    """It is not claimed any more, takes no other verb, and has no receipt."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    header = lab.runtime().cancel(job)
    lab.drain()

    assert header.status == lab.header(job).status == "canceled"
    assert lab.run(job).status == "canceled"
    assert lab.receipts(job) == ()
    for verb in (lab.runtime().cancel, lab.runtime().retry, lab.runtime().unblock):
        with pytest.raises(Invalid, match="canceled"):
            verb(job)


def test_a_running_job_that_is_canceled_is_suspended_at_its_next_call(lab: Lab) -> None:
    """What it recorded stays, it writes nothing more, and its outcome says canceled."""
    told: list[BaseException] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        lab.runtime().cancel(context.job_id)
        try:
            context.step("b", lambda: 1)
        except BaseException as refusal:
            told.append(refusal)
            raise
        return lab.answer()

    job = lab.enqueue()
    outcome = lab.run(job)

    assert outcome.status == "canceled"
    assert [type(one) for one in told] == [Suspended]
    assert lab.keys(job) == ["a"]
    assert lab.header(job).status == "canceled"
    assert lab.audit(job) == ["enqueue", "cancel"]


def test_a_runner_that_swallows_its_suspension_cannot_finish(lab: Lab) -> None:
    """The fence refuses its answer."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        lab.runtime().cancel(context.job_id)
        for name in "ab":
            with pytest.raises(Suspended):
                context.step(name, lambda: 1)
        return lab.answer()

    job = lab.enqueue()

    assert lab.run(job).status == "canceled"
    assert lab.receipts(job) == ()
    assert lab.steps(job) == ()


def test_an_async_job_that_is_canceled_ends_at_its_next_heartbeat(lab: Lab) -> None:
    """Though it waits for something that never comes."""
    begun = threading.Event()

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        async def forever() -> Json:
            begun.set()
            await asyncio.Event().wait()
            return 1

        await context.step("a", forever)
        return lab.answer()

    job = lab.enqueue()
    done = lab.thread(lambda: lab.run(job))
    assert begun.wait(20)
    lab.runtime().cancel(job)
    lab.clock.until_waiting()
    lab.clock.advance(20_000)

    assert done.result(20).status == "canceled"


def test_a_verb_that_meets_a_claim_looks_again(lab: Lab) -> None:
    """Whichever comes first, the job ends canceled."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    stolen: list[object] = []

    def tamper(send: Callable[[Commit], object], commit: Commit) -> object:
        if not stolen:
            stolen.append(lab.steal(job))
        return send(commit)

    assert lab.runtime(lab.tap(transactions_commit=tamper)).cancel(job).status == "canceled"
    assert lab.backend.leases.get(("job", job)) is None


def test_a_verb_gives_up_on_a_job_that_never_stands_still(lab: Lab) -> None:
    """It does not try for ever."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()

    def tamper(_: Callable[[Commit], object], __: Commit) -> object:
        raise Conflict("revision", job)

    with pytest.raises(Conflict):
        lab.runtime(lab.tap(transactions_commit=tamper)).cancel(job)
