"""Claims of jobs: when a job is claimable, what a claim writes, what a repeat gets, when to look again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from nodeagent import (
    After,
    At,
    Claim,
    Claims,
    Lanes,
    Ms,
    OneJob,
    Put,
    Revision,
    Revoke,
    Version,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

TTL = 30_000


def _ids(claims: Claims) -> list[str]:
    return [claim.job.id for claim in claims.claims]


def _one(lab: Lab, name: str = "job", claim_id: str = "", ttl: int = TTL) -> Claims:
    return lab.one.scheduler.claim(OneJob(name), "w", ttl, claim_id or lab.new("claim"))


def _in(lab: Lab, ms: int) -> At:
    return At(Ms(lab.clock.now() + ms))


# --- what a claim writes ------------------------------------------------------------------------


def test_a_claim_leases_the_job_and_writes_it(lab: Lab) -> None:
    """Status, token, attempts and version change in the claim's atom; all else stays."""
    job = lab.enqueue(attempts=2, spec=b"\x00s", state=b"\xfft", priority=3)

    claim = lab.claim(claim_id="c")

    header = evolve(
        job.header,
        status="running",
        token=claim.lease.token,
        attempts=3,
        version=Version(Revision(2), "c"),
    )
    assert claim.job == evolve(job, header=header)
    assert lab.stored() == claim.job
    assert claim.frame == lab.one.frames.get(job.header.frame_id)


def test_the_lease_of_a_claim(lab: Lab) -> None:
    """It is the job's, for the time asked, by the store's clock."""
    lab.enqueue()
    lab.clock.advance(3)

    claims = lab.ask(ttl=1234, claim_id="c", holder="worker 7")

    lease = claims.claims[0].lease
    now = lab.clock.now()
    assert (lease.resource, lease.holder, lease.claim_id) == (("job", "job"), "worker 7", "c")
    assert (lease.acquired_at, lease.expires_at, claims.now) == (now, now + 1234, now)
    assert lab.one.leases.get(("job", "job")) == lease


def test_a_claim_leaves_run_after_as_it_is(lab: Lab) -> None:
    """So a crash leaves the job claimable as soon as the lease has expired."""
    job = lab.enqueue()
    lab.clock.advance(500)

    assert lab.claim().job.header.run_after == job.header.run_after


def test_each_claim_counts_as_an_attempt(lab: Lab) -> None:
    """A job that kills its worker counts, far beyond any maximum: a claim knows of none."""
    lab.enqueue()

    attempts = []
    for _ in range(12):
        attempts.append(lab.claim().job.header.attempts)
        lab.clock.advance(TTL)

    assert attempts == list(range(1, 13))


def test_the_holder_may_rewrite_what_the_claim_returned(lab: Lab) -> None:
    """The record that a claim returned is right until the holder leaves."""
    claim = lab.running()

    lab.fenced(claim, lab.step(claim.job), Put(claim.job, evolve(claim.job, state=b"mine")))

    assert lab.stored().header.version.revision == 3


# --- when a job is claimable --------------------------------------------------------------------


def test_a_job_is_due_from_its_very_millisecond(lab: Lab) -> None:
    """Not one before."""
    lab.enqueue(run_after=_in(lab, 1_000))
    lab.clock.advance(999)

    assert lab.ask().claims == ()
    lab.clock.advance(1)
    assert _ids(lab.ask()) == ["job"]


def test_a_delay_is_kept(lab: Lab) -> None:
    """A job that was enqueued with ``After`` is claimable so much later."""
    lab.enqueue(run_after=After(Ms(1_000)))
    lab.clock.advance(999)

    assert lab.ask().claims == ()
    lab.clock.advance(1)
    assert _ids(lab.ask()) == ["job"]


def test_a_job_without_a_due_time_is_never_claimed(lab: Lab) -> None:
    """Parked or finished: only a write makes it claimable."""
    job = lab.enqueue(run_after=None)
    lab.clock.advance(10**9)
    assert lab.ask().claims == ()
    assert _one(lab).claims == ()

    due = evolve(job, header=evolve(job.header, run_after=After(Ms(0))))
    lab.commit(lab.audit(job), Put(job, due))

    assert _ids(lab.ask()) == ["job"]


def test_a_leased_job_is_not_claimed(lab: Lab) -> None:
    """Neither from its lane nor by its name, until the millisecond of expiry."""
    lab.running()
    lab.clock.advance(TTL - 1)

    assert lab.ask("lane of job").claims == ()
    assert _one(lab).claims == ()
    lab.clock.advance(1)
    assert _ids(lab.ask("lane of job")) == ["job"]


def test_a_renewed_job_is_not_claimed(lab: Lab) -> None:
    """A heartbeat moves the time at which a successor may come."""
    claim = lab.running()
    lab.clock.advance(TTL - 1)
    lab.one.leases.renew(claim.lease, TTL)
    lab.clock.advance(TTL - 1)

    assert lab.ask("lane of job").claims == ()
    lab.clock.advance(1)
    assert _ids(lab.ask("lane of job")) == ["job"]


def test_a_running_job_without_a_lease_is_claimed(lab: Lab) -> None:
    """A revoke or a restored back-up left it so; its status does not matter."""
    claim = lab.running()
    lab.commit(lab.audit(claim.job), Put(claim.job, claim.job), Revoke(claim.job.owner))
    assert lab.stored().header.status == "running"

    again = lab.claim("lane of job")

    assert again.job.id == "job"
    assert again.lease.token > claim.lease.token


@pytest.mark.parametrize("status", ["completed", "blocked", "failed", "canceled"])
def test_a_job_that_left_is_not_claimed(lab: Lab, status: str) -> None:
    """Its due time was cleared, whatever its status."""
    lab.leave(lab.running(), status)
    lab.clock.advance(10**9)

    assert lab.ask("lane of job") == Claims(claims=(), next_due=None, now=lab.clock.now())


def test_a_job_that_was_put_back_is_claimed_when_due(lab: Lab) -> None:
    """Rescheduled with a delay: not before."""
    lab.leave(lab.running(), "queued", run_after=After(Ms(5_000)))

    early = lab.ask("lane of job")
    lab.clock.advance(5_000)
    late = lab.ask("lane of job")

    assert (early.claims, early.next_due) == ((), early.now + 5_000)
    assert _ids(late) == ["job"]
    assert late.claims[0].job.header.attempts == 2


def test_other_lanes_are_left_alone(lab: Lab) -> None:
    """A claim takes from the lanes it names; names are compared whole."""
    for lane in ("a", "A", "a ", "ab", "a\0b"):
        lab.enqueue(f"job {lane}", lane=lane)

    assert _ids(lab.ask("a", limit=10)) == ["job a"]
    assert lab.ask("b").claims == ()


def test_a_claim_of_nothing(lab: Lab) -> None:
    """No jobs, no due time, the store's time."""
    assert lab.ask() == Claims(claims=(), next_due=None, now=lab.clock.now())
    assert _one(lab, "absent") == Claims(claims=(), next_due=None, now=lab.clock.now())


def test_a_job_can_be_claimed_by_its_name(lab: Lab) -> None:
    """That job and no other, from whatever lane."""
    for name in ("a", "b", "c"):
        lab.enqueue(name, lane=f"lane {name}")

    claims = lab.one.scheduler.claim(OneJob("b"), "w", TTL, "c", limit=5)

    assert _ids(claims) == ["b"]
    assert lab.stored("b").header.status == "running"
    assert lab.stored("a").header.status == "queued"


def test_equal_jobs_are_claimed_by_id_bytewise(lab: Lab) -> None:
    """As their UTF-8 bytes sort, and not as people, locales or UTF-16 would have it."""
    names = ["a", "B", "Z", "_", "10", "9", "é", "e\u0301", "\uffff", "\U0001f600", "aa", "a\0", "\0"]
    for name in names:
        lab.enqueue(name)

    assert _ids(lab.ask(limit=20)) == sorted(names, key=str.encode)


# --- repeats ------------------------------------------------------------------------------------


def test_a_repeated_claim_gets_the_same_leases(lab: Lab) -> None:
    """An answer that got lost is asked for again; no attempt is counted, no token raised."""
    for name in ("a", "b", "c"):
        lab.enqueue(name)
    first = lab.ask(limit=2, claim_id="c")

    again = lab.ask(limit=2, claim_id="c")

    assert again.claims == first.claims
    assert _ids(again) == ["a", "b"]


def test_a_repeat_returns_what_is_stored_now(lab: Lab) -> None:
    """The job as its holder has written it meanwhile, the lease as renewed."""
    claim = lab.running()
    renewed = lab.one.leases.renew(claim.lease, 2 * TTL)
    lab.fenced(claim, lab.step(claim.job), Put(claim.job, evolve(claim.job, state=b"new")))

    (again,) = lab.ask("lane of job", claim_id=claim.lease.claim_id).claims

    assert again == Claim(lease=renewed, job=lab.stored(), frame=claim.frame)


def test_a_repeat_returns_expired_leases_too(lab: Lab) -> None:
    """Nobody took them; the caller renews before any body."""
    lab.enqueue()
    first = lab.ask(claim_id="c")
    lab.clock.advance(10 * TTL)

    again = lab.ask(claim_id="c")

    assert again.claims == first.claims


def test_a_repeat_returns_only_what_is_still_current(lab: Lab) -> None:
    """One of the jobs left, one was revoked, one was taken: the others remain, and no new one."""
    for name in "abcde":
        lab.enqueue(name)
    a, b, c, d = lab.ask(limit=4, claim_id="c").claims
    lab.leave(a)
    lab.cancel(b.job)
    lab.clock.advance(TTL)
    assert _ids(lab.one.scheduler.claim(OneJob("c"), "other", TTL, "other")) == ["c"]

    again = lab.ask(limit=4, claim_id="c")

    assert [claim.lease for claim in again.claims] == [d.lease]
    assert c.lease.fence.resource == ("job", "c")
    assert lab.stored("e").header.status == "queued"


def test_a_repeat_of_which_nothing_is_left_is_a_new_claim(lab: Lab) -> None:
    """It takes what is due now, under a higher token."""
    lab.enqueue("a")
    first = lab.claim(claim_id="c")
    lab.leave(first)
    lab.enqueue("b")

    assert _ids(lab.ask(claim_id="c")) == ["b"]


def test_a_new_claim_with_an_old_id_has_a_new_fence(lab: Lab) -> None:
    """Taken by another and claimed back under the first id: the first lease stays lost."""
    lab.enqueue()
    first = lab.claim(claim_id="c")
    lab.clock.advance(TTL)
    lab.claim(claim_id="other")
    lab.clock.advance(TTL)

    third = lab.claim(claim_id="c")

    assert third.lease.token > first.lease.token
    assert third.job.header.attempts == 3


def test_a_repeat_by_name_gets_the_same_lease(lab: Lab) -> None:
    """OneJob repeats as lanes do."""
    lab.enqueue()
    first = _one(lab, claim_id="c")

    assert _one(lab, claim_id="c").claims == first.claims


def test_two_claim_ids_never_share_a_job(lab: Lab) -> None:
    """The holder's name does not matter."""
    lab.enqueue()
    lab.ask(claim_id="c1", holder="same")

    assert lab.ask(claim_id="c2", holder="same").claims == ()


# --- limit --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "found"), [(1, 1), (2, 2), (5, 5), (6, 5), (100, 5)])
def test_a_claim_takes_up_to_its_limit(lab: Lab, limit: int, found: int) -> None:
    """Each job under a lease of its own, all by the one claim id."""
    for name in "abcde":
        lab.enqueue(name)

    claims = lab.ask(limit=limit, claim_id="c").claims

    assert [claim.job.id for claim in claims] == list("abcde")[:found]
    assert {claim.lease.claim_id for claim in claims} == {"c"}
    assert [claim.lease.resource for claim in claims] == [("job", each) for each in "abcde"[:found]]


def test_limit_counts_over_lanes(lab: Lab) -> None:
    """A claim goes on to the next lane only when the one before is empty."""
    for name, lane in (("a1", "a"), ("b1", "b"), ("a2", "a"), ("b2", "b")):
        lab.enqueue(name, lane=lane)

    assert _ids(lab.ask("b", "a", limit=3)) == ["b1", "b2", "a1"]
    assert _ids(lab.ask("b", "a", limit=3)) == ["a2"]


def test_sixteen_lanes_can_be_named(lab: Lab) -> None:
    """In the order given."""
    names = [f"lane {number:02}" for number in range(16)]
    for name in sorted(names, reverse=True):
        lab.enqueue(name, lane=name)

    assert _ids(lab.ask(*names, limit=16)) == names


# --- when to look again -------------------------------------------------------------------------


def test_next_due_is_the_earliest_due_time(lab: Lab) -> None:
    """Exactly, of the wanted lanes alone."""
    lab.enqueue("late", run_after=_in(lab, 9_000))
    lab.enqueue("soon", run_after=_in(lab, 4_000), lane="b")
    lab.enqueue("other", run_after=_in(lab, 10), lane="c")

    claims = lab.ask("lane", "b")

    assert (claims.claims, claims.next_due) == ((), lab.clock.now() + 4_000)


def test_next_due_is_when_a_lease_expires(lab: Lab) -> None:
    """A leased job becomes claimable without a write when its holder is silent."""
    lab.running()
    lab.clock.advance(1_000)

    assert lab.ask("lane of job").next_due == lab.clock.now() + TTL - 1_000


def test_next_due_is_the_later_of_due_time_and_expiry(lab: Lab) -> None:
    """Both must have come."""
    claim = lab.running()
    later = evolve(claim.job.header, run_after=_in(lab, 2 * TTL))
    lab.fenced(claim, lab.step(claim.job), Put(claim.job, evolve(claim.job, header=later)))

    assert lab.ask("lane of job").next_due == lab.clock.now() + 2 * TTL


def test_next_due_counts_what_was_claimed_just_now(lab: Lab) -> None:
    """Should this very holder die, there is work when its lease expires."""
    lab.enqueue()

    claims = lab.ask(ttl=700)

    assert claims.next_due == claims.now + 700


def test_next_due_follows_a_renewal(lab: Lab) -> None:
    """It is computed from what is stored now."""
    claim = lab.running()
    lab.clock.advance(10_000)
    lab.one.leases.renew(claim.lease, TTL)

    assert lab.ask("lane of job").next_due == lab.clock.now() + TTL


def test_next_due_is_none_without_a_due_time(lab: Lab) -> None:
    """Only a write can bring work then."""
    lab.enqueue("parked", run_after=None)

    assert lab.ask().next_due is None


def test_next_due_says_that_more_is_due(lab: Lab) -> None:
    """After a claim that hit its limit it is not in the future."""
    for name in "abc":
        lab.enqueue(name)

    claims = lab.ask(limit=2)

    assert claims.next_due is not None
    assert claims.next_due <= claims.now


def test_next_due_of_one_job(lab: Lab) -> None:
    """When that job becomes claimable, whatever else is due."""
    lab.enqueue("other")
    lab.enqueue("job", run_after=_in(lab, 3_000))

    assert _one(lab).next_due == lab.clock.now() + 3_000
    lab.clock.advance(3_000)
    assert _one(lab, ttl=77).next_due == lab.clock.now() + 77
    assert _one(lab).next_due == lab.clock.now() + 77


def test_a_worker_that_sleeps_until_next_due_finds_work(lab: Lab) -> None:
    """Then exactly, and not a millisecond before."""
    lab.enqueue("a", run_after=_in(lab, 1_500))
    lab.enqueue("b", run_after=_in(lab, 400))

    found = []
    for _ in range(2):
        due = lab.ask().next_due
        assert due is not None
        lab.clock.set(due - 1)
        assert lab.ask().claims == ()
        lab.clock.set(due)
        found += _ids(lab.ask(ttl=10**6))

    assert found == ["b", "a"]


# --- peek ---------------------------------------------------------------------------------------


def test_peek_shows_what_a_claim_would_return(lab: Lab) -> None:
    """The headers in claim order, up to the limit, and it changes nothing."""
    lab.enqueue("low", priority=1)
    lab.enqueue("high", priority=9)
    lab.enqueue("later", run_after=_in(lab, 5))
    before = [lab.stored(name) for name in ("low", "high", "later")]

    peek = lab.one.scheduler.peek(Lanes(names=("lane",)), limit=10)

    assert peek.jobs == (before[1].header, before[0].header)
    assert (peek.next_due, peek.now) == (lab.clock.now() + 5, lab.clock.now())
    assert [lab.stored(name) for name in ("low", "high", "later")] == before
    assert _ids(lab.ask(limit=10)) == ["high", "low"]


def test_peek_at_one_job(lab: Lab) -> None:
    """Its header if it is claimable, else when it will be."""
    job = lab.enqueue()
    scheduler = lab.one.scheduler

    assert scheduler.peek(OneJob("job")).jobs == (job.header,)
    lab.claim()
    held = scheduler.peek(OneJob("job"))
    assert (held.jobs, held.next_due) == ((), lab.clock.now() + TTL)
    assert scheduler.peek(OneJob("absent")).next_due is None


def test_peek_says_that_more_is_due(lab: Lab) -> None:
    """A peek that hit its limit gives a due time that has come."""
    for name in "ab":
        lab.enqueue(name)

    peek = lab.one.scheduler.peek(Lanes(names=("lane",)), limit=1)

    assert len(peek.jobs) == 1
    assert peek.next_due is not None
    assert peek.next_due <= peek.now


# --- two computers ------------------------------------------------------------------------------


def test_handles_see_one_anothers_claims(lab: Lab) -> None:
    """What one handle claimed, the other does not."""
    other = lab.open()
    lab.enqueue()

    first = lab.ask()

    assert len(first.claims) == 1
    answer = other.scheduler.claim(Lanes(names=("lane",)), "w", TTL, lab.new())
    assert (answer.claims, answer.next_due) == ((), first.now + TTL)


def test_a_claim_survives_closing_and_opening(lab: Lab) -> None:
    """The same claim id still gets the same lease."""
    lab.enqueue()
    first = lab.ask(claim_id="c")
    lab.close()

    assert lab.ask(claim_id="c").claims == first.claims
