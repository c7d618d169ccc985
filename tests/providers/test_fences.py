"""Fences: who lost a lease writes nothing, and time alone takes nothing away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from nodeagent import (
    Claim,
    Commit,
    Fence,
    Fenced,
    Held,
    LeaseLost,
    Put,
    Release,
    Require,
    Revision,
    Revoke,
    Token,
    Version,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

TTL = 30_000


def _refused(lab: Lab, claim: Claim) -> Fenced:
    """Try to write under a lost lease; nothing may come of it."""
    scope = Held(claim.job.owner, "steps")
    before = lab.rows(scope), lab.one.jobs.get(claim.job.id)
    with pytest.raises(Fenced) as caught:
        lab.fenced(claim, lab.step(claim.job, lab.new("late")))
    assert (lab.rows(scope), lab.one.jobs.get(claim.job.id)) == before
    return caught.value


def test_the_holder_writes(lab: Lab) -> None:
    """A fence that holds is answered with True."""
    claim = lab.running()

    assert lab.fenced(claim, lab.step(claim.job)).fence_holds is True


def test_an_unfenced_commit_has_no_fence_to_hold(lab: Lab) -> None:
    """It is answered with None."""
    assert lab.commit(Put(None, lab.job())).fence_holds is None


def test_a_lease_that_expired_untaken_still_holds(lab: Lab) -> None:
    """Safety never depends on a clock: until somebody claims, the holder goes on."""
    claim = lab.running()
    lab.clock.advance(10 * TTL)

    assert lab.fenced(claim, lab.step(claim.job)).fence_holds is True
    assert lab.one.leases.get(claim.job.owner) == claim.lease


def test_a_later_claim_fences_the_first_holder(lab: Lab) -> None:
    """*taken*, with the resource, the refused token and the successor's as the mark."""
    old = lab.running()
    lab.clock.advance(TTL)
    new = lab.claim("lane of job")

    error = _refused(lab, old)

    assert (error.resource, error.token, error.mark) == (
        ("job", "job"),
        old.lease.token,
        new.lease.token,
    )
    assert error.reason == "taken"
    assert lab.fenced(new, lab.step(new.job)).fence_holds is True


def test_a_released_fence_is_refused(lab: Lab) -> None:
    """*released*: the token equals the mark, and that is not enough."""
    claim = lab.running()
    lab.leave(claim, "queued", run_after=None)

    error = _refused(lab, claim)

    assert (error.mark, error.reason) == (claim.lease.token, "released")


def test_a_revoked_fence_is_refused(lab: Lab) -> None:
    """*revoked*: the mark is above the token."""
    claim = lab.running()
    lab.cancel(claim.job)

    error = _refused(lab, claim)

    assert error.reason == "revoked"
    assert error.mark is not None
    assert error.mark > claim.lease.token


def test_a_fence_nobody_ever_had_is_refused(lab: Lab) -> None:
    """*unknown*, without a mark, when nothing is known of the resource."""
    job = lab.enqueue()
    fence = Fence(job.owner, Token(1), "invented")

    with pytest.raises(Fenced) as caught:
        lab.one.transactions.commit(Commit.fenced(lab.new(), fence, lab.step(job)))

    assert (caught.value.mark, caught.value.reason) == (None, "unknown")


def test_a_token_above_the_mark_is_refused(lab: Lab) -> None:
    """*unknown*: a store that lost its tail has not made that lease."""
    claim = lab.running()
    fence = evolve(claim.lease, token=claim.lease.token + 5).fence  # type: ignore[arg-type]

    with pytest.raises(Fenced) as caught:
        lab.one.transactions.commit(Commit.fenced(lab.new(), fence, lab.step(claim.job)))

    assert caught.value.reason == "unknown"


def test_the_right_token_of_another_claim_is_refused(lab: Lab) -> None:
    """The lease is the one that the claim made; a repeated number of another history is not."""
    claim = lab.running()
    fence = evolve(claim.lease, claim_id="another time line").fence

    with pytest.raises(Fenced):
        lab.one.transactions.commit(Commit.fenced(lab.new(), fence, lab.step(claim.job)))

    assert lab.fenced(claim, lab.step(claim.job)).seqs == (1,)


def test_the_fence_of_another_namespace_is_refused(lab: Lab) -> None:
    """The same resource elsewhere is another one."""
    claim = lab.running()
    other = lab.open("elsewhere of " + lab.namespace)

    with pytest.raises(Fenced) as caught:
        other.transactions.commit(Commit.fenced("c", claim.lease.fence, lab.step(claim.job)))

    assert caught.value.reason == "unknown"


def test_a_refusal_consumes_no_number(lab: Lab) -> None:
    """After any number of refused writes the next entry has the next place."""
    old = lab.running()
    lab.fenced(old, lab.step(old.job, "first"))
    lab.clock.advance(TTL)
    new = lab.claim("lane of job")
    for _ in range(5):
        _refused(lab, old)

    assert lab.fenced(new, lab.step(new.job, "second")).seqs == (2,)


def test_the_fence_is_judged_before_the_preconditions(lab: Lab) -> None:
    """Who lost the lease hears of that, and not of a conflict that is none of its business."""
    claim = lab.running()
    lab.fenced(claim, lab.step(claim.job, "taken"))
    lab.cancel(claim.job)
    stale = Version(Revision(9), "x")

    with pytest.raises(Fenced):
        lab.fenced(
            claim,
            Require("frame", claim.frame.id, stale),
            lab.step(claim.job, "taken"),
            Put(claim.job, claim.job),
        )


def test_release_ends_the_lease_with_its_commit(lab: Lab) -> None:
    """The lease is there until the commit, and gone with it."""
    claim = lab.running()

    answer = lab.fenced(claim, lab.step(claim.job), Release())

    assert answer.fence_holds is False
    assert lab.one.leases.get(claim.job.owner) is None


def test_a_refused_release_releases_nothing(lab: Lab) -> None:
    """A late leaver does not take the lease from its successor."""
    old = lab.running()
    lab.clock.advance(TTL)
    new = lab.claim("lane of job")

    with pytest.raises(Fenced):
        lab.fenced(old, lab.step(old.job), Release())

    assert lab.one.leases.get(old.job.owner) == new.lease


def test_a_revoke_of_what_was_never_claimed_raises_the_mark(lab: Lab) -> None:
    """There is no lease to end, but the next token is above what it would have been."""
    control = lab.running("control")
    job = lab.enqueue(lane="a")

    lab.commit(lab.audit(job), Put(job, job), Revoke(job.owner))

    assert lab.one.leases.get(job.owner) is None
    assert lab.claim("a").lease.token > control.lease.token


def test_a_revoke_lets_the_job_be_claimed_at_once(lab: Lab) -> None:
    """The lease is gone though it had not expired."""
    claim = lab.running()
    job = lab.cancel(claim.job)
    assert lab.one.leases.get(job.owner) is None
    again = evolve(job, header=evolve(job.header, status="queued", run_after=claim.job.header.run_after))
    lab.commit(lab.audit(job), Put(job, again))

    assert lab.claim("lane of job").lease.token > claim.lease.token


def test_two_jobs_do_not_fence_one_another(lab: Lab) -> None:
    """A fence is about its own resource alone."""
    one, two = lab.running("one"), lab.running("two")

    lab.cancel(one.job)

    assert lab.fenced(two, lab.step(two.job)).fence_holds is True


def test_tokens_rise_over_everything(lab: Lab) -> None:
    """Release, expiry, revoke, reopening and a restored back-up: the next token is always higher."""
    lab.enqueue()
    tokens = []
    for round_ in range(3):
        claim = lab.claim()
        tokens.append(claim.lease.token)
        lab.leave(claim, "queued", run_after=claim.job.header.run_after)
        claim = lab.claim()
        tokens.append(claim.lease.token)
        lab.clock.advance(TTL)
        claim = lab.claim()
        tokens.append(claim.lease.token)
        job = lab.cancel(claim.job)
        header = evolve(job.header, status="queued", run_after=claim.job.header.run_after)
        lab.commit(lab.audit(job), Put(job, evolve(job, header=header)))
        if round_ == 1:
            lab.one.maintenance.restored()
        lab.close()

    assert tokens == sorted(set(tokens))
    assert min(tokens) > 0


def test_the_token_rises_over_a_purge(lab: Lab) -> None:
    """A resource that comes back under the same id gets no token again that was given out."""
    tokens = []
    for _ in range(3):
        claim = lab.running()
        tokens.append(claim.lease.token)
        lab.leave(claim)
        lab.clock.advance(1)
        assert lab.one.maintenance.purge(lab.clock.now(), 10).jobs == 1

    assert tokens == sorted(set(tokens))


def test_a_holder_that_was_purged_is_refused(lab: Lab) -> None:
    """After the job came back under the same id, the old holder still writes nothing."""
    old = lab.running()
    lab.leave(old)
    lab.clock.advance(1)
    lab.one.maintenance.purge(lab.clock.now(), 10)
    new = lab.running()

    with pytest.raises(Fenced):
        lab.fenced(old, lab.step(old.job))
    with pytest.raises(LeaseLost):
        lab.one.leases.renew(old.lease, TTL)
    assert lab.fenced(new, lab.step(new.job)).fence_holds is True


def test_a_revoke_in_an_enqueue_is_legal(lab: Lab) -> None:
    """A Revoke stands beside any unfenced write, whatever it names."""
    job = lab.job()

    lab.commit(Put(None, job), Put(None, lab.frame(job)), Revoke(("machine", "a")))

    assert lab.one.leases.get(("machine", "a")) is None
    assert lab.claim().lease.token > 0
