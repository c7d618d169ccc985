"""Heartbeats and their absence: what a holder may still do, and what its successor is safe from."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import (
    Answer,
    AsyncFrameContext,
    Claims,
    FrameContext,
    Json,
    Lease,
    LeaseLost,
    Suspended,
    Unavailable,
)

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

LEASE = 60_000


class Beats:
    """Records renewals, and answers them as the test wants."""

    def __init__(self, lab: Lab, answer: Callable[[int], Exception | None] = lambda _: None) -> None:
        self.times: list[int] = []
        self._lab = lab
        self._answer = answer
        self._beaten = threading.Condition()

    def __call__(self, renew: Callable[[Lease, int], Lease], lease: Lease, ttl_ms: int) -> Lease:
        """Renew, or raise what the test wants."""
        try:
            if (error := self._answer(len(self.times) + 1)) is not None:
                raise error
            return renew(lease, ttl_ms)
        finally:
            with self._beaten:
                self.times.append(self._lab.clock.now())
                self._beaten.notify_all()

    def until(self, count: int) -> None:
        """Wait until there were so many."""
        with self._beaten:
            assert self._beaten.wait_for(lambda: len(self.times) >= count, 20)


def test_a_lease_is_renewed_at_a_third_of_its_time(lab: Lab) -> None:
    """For as long as the body runs, and no longer."""
    beats = Beats(lab)

    @lab.runner
    def work(context: FrameContext) -> Answer:
        for beat in range(5):
            lab.clock.until_waiting()
            lab.clock.advance(LEASE // 3)
            beats.until(beat + 1)
        context.step("a", lambda: 1)
        return lab.answer()

    started = lab.clock.now()
    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(leases_renew=beats)))
    lab.clock.advance(10 * LEASE)

    assert outcome.status == "completed"
    assert [at - started for at in beats.times] == [20_000, 40_000, 60_000, 80_000, 100_000]


def test_a_renewal_that_fails_is_tried_again_soon_and_is_no_loss_before_the_deadline(lab: Lab) -> None:
    """Nobody knows what became of it, so the body goes on."""
    beats = Beats(lab, lambda count: Unavailable("no route") if count < 4 else None)

    @lab.runner
    def work(context: FrameContext) -> Answer:
        lab.clock.advance(LEASE // 3)
        for beat in range(1, 4):
            beats.until(beat)
            lab.clock.until_waiting()
            lab.clock.advance(LEASE // 10)
        beats.until(4)
        lab.clock.advance(LEASE // 2)
        context.step("a", lambda: 1)
        return lab.answer()

    started = lab.clock.now()
    outcome = lab.run(lab.enqueue(), lab.worker(lab.tap(leases_renew=beats)))

    assert outcome.status == "completed"
    assert [at - started for at in beats.times[:4]] == [20_000, 26_000, 32_000, 38_000]


@pytest.mark.parametrize("error", [Unavailable("away"), RuntimeError("a bug in an adapter"), ValueError()], ids=repr)
def test_after_the_local_deadline_no_body_starts(lab: Lab, error: Exception) -> None:
    """A lease that may have run out counts as lost, whatever kept it from being renewed."""
    ran: list[int] = []
    told: list[BaseException] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        lab.clock.advance(LEASE)
        try:
            context.step("b", lambda: ran.append(1))
        except BaseException as refusal:
            told.append(refusal)
            raise
        return lab.answer()

    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(leases_renew=Beats(lab, lambda _: error))))

    assert ran == []
    assert [type(one) for one in told] == [Suspended]
    assert outcome.status == "rescheduled"
    assert lab.audit(job)[-1] == "reschedule"


def test_one_lease_that_cannot_be_renewed_takes_no_other_with_it(lab: Lab) -> None:
    """The heart goes on beating after an error that no store should raise."""
    both = threading.Barrier(2)
    renewed: dict[Any, int] = {}
    enough = threading.Event()

    def tamper(renew: Callable[[Lease, int], Lease], lease: Lease, ttl_ms: int) -> Lease:
        if lease.resource == ("job", "bad"):
            raise AssertionError
        answer = renew(lease, ttl_ms)
        renewed[lease.resource] = renewed.get(lease.resource, 0) + 1
        if renewed[lease.resource] == 4:
            enough.set()
        return answer

    @lab.runner
    def work(context: FrameContext) -> Answer:
        both.wait(20)
        while context.job_id == "good" and not enough.wait(0.005):
            lab.clock.advance(LEASE // 6)
        return lab.answer()

    lab.enqueue("bad")
    lab.enqueue("good")
    lab.worker(lab.tap(leases_renew=tamper), concurrency=2).run(until_idle=True, max_wait_ms=0)

    assert lab.header("good").status == "completed"
    assert renewed[("job", "good")] >= 4


def test_a_body_that_sleeps_past_its_lease_cannot_write_after_its_successor(lab: Lab) -> None:
    """Its late result is refused, it starts nothing more, and the successor's result stands."""
    later: list[Any] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        if context.attempt > 1:
            assert context.step("a", lambda: "successor") == "successor"
            return lab.answer("The successor's.")

        def body() -> Json:
            lab.clock.advance(LEASE)  # a blocked process: nobody renews
            later.append(lab.run(context.job_id, lab.worker()))
            return "zombie"

        try:
            context.step("a", body)
        finally:
            with pytest.raises(Suspended):
                context.step("b", lambda: 1)
        return lab.answer("The zombie's.")

    job = lab.enqueue()
    deaf = lab.tap(leases_renew=Beats(lab, lambda _: Unavailable("blocked")))
    outcome = lab.run(job, lab.worker(deaf))

    assert outcome.status == "fenced"
    assert [one.status for one in later] == ["completed"]
    assert lab.keys(job) == ["a"]
    assert lab.steps(job)[0].token == 2
    assert lab.receipt(job)["statements"][0]["text"] == "The successor's."
    assert len(lab.receipts(job)) == 1


def test_a_late_result_is_recorded_while_nobody_has_taken_the_lease(lab: Lab) -> None:
    """Expiry takes nothing away: the fence holds, and the next attempt replays what was done."""
    ran: list[int] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        def body() -> Json:
            ran.append(1)
            lab.clock.advance(2 * LEASE)
            return "late"

        assert context.step("a", body) == "late"
        context.step("b", lambda: 1)
        return lab.answer()

    job = lab.enqueue(retry=lab.at_once)
    deaf = lab.tap(leases_renew=Beats(lab, lambda _: Unavailable("blocked")))
    first = lab.run(job, lab.worker(deaf))
    second = lab.run(job)

    assert (first.status, second.status) == ("rescheduled", "completed")
    assert ran == [1]
    assert lab.keys(job) == ["a", "b"]


def test_a_lost_lease_is_noticed_by_the_heartbeat(lab: Lab) -> None:
    """A body that asks for nothing for a long time is told at its next call."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        beats = lab.seen("job.abandoned")
        thief = lab.steal(context.job_id)
        assert thief.lease.token == 2
        context.step("a", lambda: beats)
        return lab.answer()

    job = lab.enqueue()
    deaf = lab.tap(leases_renew=Beats(lab, lambda _: LeaseLost(("job", job), 1, "taken")))
    outcome = lab.run(job, lab.worker(deaf))

    assert outcome.status == "fenced"
    assert lab.steps(job) == ()
    assert lab.header(job).status == "running"


def test_an_async_runner_is_canceled_when_its_lease_is_lost(lab: Lab) -> None:
    """It need not ask for anything to be told, and its bodies are canceled with it."""
    told: list[str] = []

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        async def body() -> Json:
            try:
                lab.clock.advance(LEASE // 3)
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                told.append("body")
                raise
            return 1

        try:
            await context.step("a", body)
        except asyncio.CancelledError:
            told.append("runner")
            raise
        return lab.answer()

    job = lab.enqueue()
    lost = lab.tap(leases_renew=Beats(lab, lambda _: LeaseLost(("job", job), 1, "revoked")))
    outcome = lab.run(job, lab.worker(lost))

    assert sorted(told) == ["body", "runner"]
    assert outcome.status == "fenced"
    assert lab.steps(job) == ()


def test_a_job_whose_lease_is_gone_before_it_began_writes_nothing(lab: Lab) -> None:
    """It was canceled between its claim and its turn: its first step is refused."""
    ran: list[str] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: ran.append("a"))
        ran.append("b")
        return lab.answer()

    def claim_and_cancel(call: Callable[..., Claims], *arguments: Any) -> Claims:
        claims = call(*arguments)
        if claims.claims:
            lab.runtime().cancel("first")
        return claims

    lab.enqueue("first")
    lab.worker(lab.tap(scheduler_claim=claim_and_cancel)).run(until_idle=True, max_wait_ms=0)

    assert "b" not in ran
    assert lab.keys("first") == []
    assert lab.header("first").status == "canceled"
