"""The worker's loop: what it claims, how long it sleeps, and when it calls it a day."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import Answer, At, Claims, FrameContext, Invalid, Ms, OneJob, Unavailable, WorkerOptions
from nodeagent.rules.specs import lane_of

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

LEASE = 60_000
WEEK = 7 * 24 * 3_600_000


def _register(lab: Lab, *names: str) -> list[str]:
    """Register runners that note which jobs they ran."""
    ran: list[str] = []

    def work(context: FrameContext) -> Answer:
        ran.append(context.job_id)
        return lab.answer()

    for name in names or ("work",):
        lab.app.add_runner(name, work)
    return ran


def _claims(lab: Lab) -> tuple[list[tuple[Any, int, int]], Any]:
    """Return a list of claims to come (lanes, limit, found), and a backend that fills it."""
    seen: list[tuple[Any, int, int]] = []

    def tamper(claim: Callable[..., Claims], *arguments: Any) -> Claims:
        answer = claim(*arguments)
        seen.append((arguments[0], arguments[4], len(answer.claims)))
        return answer

    return seen, lab.tap(scheduler_claim=tamper)


def test_a_worker_claims_by_priority_and_age(lab: Lab) -> None:
    """Among the lanes of its runners, in the order in which they are named."""
    ran = _register(lab)
    for name, priority in (("low", 1), ("high", 9), ("middle", 5)):
        lab.enqueue(name, priority=priority)
    lab.drain()

    assert ran == ["high", "middle", "low"]


def test_a_worker_claims_only_the_lanes_of_its_runners(lab: Lab) -> None:
    """The job of another runner is left to those who have it."""
    ran = _register(lab)
    other = lab.enqueue(runner="elsewhere")
    mine = lab.enqueue()
    lab.drain()

    assert ran == [mine]
    assert (lab.header(other).status, lab.header(other).attempts) == ("queued", 0)


def test_a_worker_without_lanes_is_refused(lab: Lab) -> None:
    """It has no runners, so there is nothing that it could do, and it says so."""
    with pytest.raises(Invalid, match="lanes"):
        lab.worker(lanes=[]).run(until_idle=True)


def test_more_lanes_than_one_claim_names_are_served_in_turn(lab: Lab) -> None:
    """Forty runners take three claims a round, and none is left out though the first are always busy."""
    names = [f"runner-{number:02}" for number in range(40)]
    ran = _register(lab, *names)
    for name in names:
        lab.enqueue(name, runner=name)
    seen, backend = _claims(lab)
    lab.worker(backend).run(until_idle=True, max_wait_ms=0)

    assert sorted(ran) == names
    assert {len(want.names) for want, _, _ in seen} == {16, 8}


def test_jobs_are_claimed_in_batches(lab: Lab) -> None:
    """One claim for as many as there are free slots."""
    ran = _register(lab)
    for _ in range(8):
        lab.enqueue()
    seen, backend = _claims(lab)
    lab.worker(backend, concurrency=4).run(until_idle=True, max_wait_ms=0)

    assert len(ran) == 8
    assert seen[0][1:] == (4, 4)


def test_no_lane_starves_another(lab: Lab) -> None:
    """The lane that is preferred changes from claim to claim, however much there is in one."""
    ran = _register(lab)
    for _ in range(20):
        lab.enqueue()

    def other(_: FrameContext) -> Answer:
        ran.append("other")
        return lab.answer()

    lab.runner(other, "zz other")
    lab.enqueue(runner="zz other")
    lab.drain()

    assert ran.index("other") <= 2


def test_jobs_are_claimed_only_when_a_slot_is_free(lab: Lab) -> None:
    """So that another worker can take what this one would only keep waiting."""
    together = threading.Barrier(2)

    @lab.runner
    def work(_: FrameContext) -> Answer:
        together.wait(20)
        return lab.answer()

    for _ in range(4):
        lab.enqueue()
    seen, backend = _claims(lab)
    lab.worker(backend, concurrency=2).run(until_idle=True, max_wait_ms=0)

    assert seen[0][1:] == (2, 2)
    assert all(limit <= 2 for _, limit, _ in seen)


def test_an_idle_worker_sleeps_until_the_next_job_is_due(lab: Lab) -> None:
    """To the millisecond, and does not ask the store in between."""
    ran = _register(lab)
    job = lab.enqueue(run_after=At(Ms(lab.clock.now() + 3_000)))
    seen, backend = _claims(lab)
    with lab.working(lab.worker(backend, poll_ms=10_000)):
        lab.until("worker.idle")
        lab.clock.until_waiting()
        lab.clock.advance(2_999)
        lab.clock.until_waiting()
        looked_early = len(seen)
        lab.clock.advance(1)
        lab.until("job.finished")

    assert ran == [job]
    assert looked_early == 1


def test_an_idle_worker_polls_where_nothing_is_due(lab: Lab) -> None:
    """A hint may be lost; the poll is what finds the work then."""
    ran = _register(lab)

    class Deaf:
        @staticmethod
        def close() -> None:
            """End nothing."""

    deaf = lab.tap(wakeups_subscribe=lambda *_: Deaf())
    with lab.working(lab.worker(deaf, poll_ms=5_000)):
        lab.until("worker.idle")
        job = lab.enqueue()
        lab.clock.until_waiting()
        lab.clock.advance(5_000)
        lab.until("job.finished")

    assert ran == [job]


def test_a_hint_wakes_an_idle_worker(lab: Lab) -> None:
    """Without any time passing."""
    ran = _register(lab)
    with lab.working():
        lab.until("worker.idle")
        job = lab.enqueue()
        lab.until("job.finished")

    assert ran == [job]


def test_a_worker_outlives_a_store_that_is_away(lab: Lab) -> None:
    """It goes on asking, and works on when the store is back."""
    ran = _register(lab)
    job = lab.enqueue()
    away = threading.Event()
    asked = threading.Semaphore(0)

    def tamper(claim: Callable[..., Claims], *arguments: Any) -> Claims:
        asked.release()
        if not away.is_set():
            raise Unavailable("restarting")
        return claim(*arguments)

    with lab.working(lab.worker(lab.tap(scheduler_claim=tamper))):
        for _ in range(200):
            lab.clock.advance(1_000)
            if lab.seen("store.unavailable"):
                break
            asked.acquire(timeout=0.05)
        away.set()
        while not lab.seen("job.finished"):
            lab.clock.advance(100)

    assert lab.seen("store.unavailable") >= 1
    assert ran == [job]


def test_until_idle_does_not_take_an_outage_for_idleness(lab: Lab) -> None:
    """A store that did not answer has not said that there is nothing to do."""
    ran = _register(lab)
    job = lab.enqueue()
    answers = iter([Unavailable("restarting")] * 3)

    def tamper(claim: Callable[..., Claims], *arguments: Any) -> Claims:
        if (error := next(answers, None)) is not None:
            lab.clock.advance(LEASE)  # whoever insists has no time left
            raise error
        return claim(*arguments)

    done = lab.thread(lambda: lab.worker(lab.tap(scheduler_claim=tamper)).run(until_idle=True, max_wait_ms=0))
    lab.fast_forward(done, 1)

    assert ran == [job]


def test_until_idle_outlasts_the_lease_of_a_dead_peer(lab: Lab) -> None:
    """Its job becomes claimable within the time that is waited for."""
    ran = _register(lab)
    job = lab.enqueue()
    lab.backend.scheduler.claim(OneJob(job), "dead peer", LEASE, "c")
    done = lab.thread(lambda: lab.worker(poll_ms=LEASE).run(until_idle=True))
    lab.until("worker.idle")
    lab.clock.advance(LEASE)
    done.result(20)

    assert ran == [job]
    assert lab.header(job).attempts == 2


def test_until_idle_does_not_wait_for_a_job_of_next_week(lab: Lab) -> None:
    """Nor, with a wait of its own, for one of the next second."""
    ran = _register(lab)
    later = lab.enqueue(run_after=At(Ms(lab.clock.now() + WEEK)))
    lab.worker().run(until_idle=True)
    lab.worker().run(until_idle=True, max_wait_ms=WEEK - 1)

    assert ran == []
    assert lab.header(later).status == "queued"


def test_until_idle_sees_what_a_frame_enqueues_at_its_end(lab: Lab) -> None:
    """However the frame's end falls between the worker's looks."""
    ran: list[str] = []
    claimed = threading.Semaphore(0)

    @lab.runner
    def work(context: FrameContext) -> Answer:
        ran.append(context.job_id)
        if len(ran) < 5:
            assert claimed.acquire(timeout=20)  # the worker is inside a claim that finds nothing
            lab.enqueue(f"child-{len(ran)}")
        return lab.answer()

    def tamper(claim: Callable[..., Claims], *arguments: Any) -> Claims:
        answer = claim(*arguments)
        if worker._held and not answer.claims:
            claimed.release()
            lab.until("job.finished", count=lab.seen("job.finished") + 1)
            while worker._held:
                threading.Event().wait(0.001)
        return answer

    worker = lab.worker(lab.tap(scheduler_claim=tamper), concurrency=2)
    lab.enqueue("parent")
    worker.run(until_idle=True, max_wait_ms=0)

    assert ran == ["parent", "child-1", "child-2", "child-3", "child-4"]


def test_a_worker_that_became_idle_can_run_again(lab: Lab) -> None:
    """A second run is no silent nothing."""
    ran = _register(lab)
    worker = lab.worker()
    for name in "abc":
        lab.enqueue(name)
        worker.run(until_idle=True, max_wait_ms=0)

    assert ran == ["a", "b", "c"]


@pytest.mark.parametrize("lane", ["default", "other"])
def test_tenants_may_have_lanes_of_their_own(lab: Lab, lane: str) -> None:
    """A worker serves those that it names."""
    ran = _register(lab)
    runtime = lab.runtime()
    runtime._by_tenant = True
    job = runtime.enqueue(lab.request(tenant="other")).job
    lab.worker(lanes=[lane_of("default", "work", lane)]).run(until_idle=True, max_wait_ms=0)

    assert job.lane == lane_of("default", "work", "other")
    assert ran == ([job.id] if lane == "other" else [])


@pytest.mark.parametrize(
    "options", [{"concurrency": 0}, {"lease_ms": 99}, {"poll_ms": 0}, {"grace_ms": -1}, {"concurrency": True}], ids=str
)
def test_numbers_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    """With the name of the option."""
    with pytest.raises(Invalid, match=next(iter(options))):
        WorkerOptions(**options)
