"""Leases of anything but jobs: exclusive, expiring, with tokens that rise for ever."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from nodeagent import (
    Commit,
    Lease,
    LeaseLost,
    Page,
    Put,
    Revoke,
    Unsupported,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

TTL = 30_000
RUN = ("run", "r")


def _take(lab: Lab, *resource: str, ttl: int = TTL, holder: str = "w", claim_id: str = "") -> Lease:
    lease = lab.one.leases.claim(resource or RUN, holder, ttl, claim_id or lab.new("claim"))
    assert lease is not None
    return lease


def _revoke(lab: Lab, lease: Lease) -> None:
    lab.commit(Put(None, lab.job(lab.new("job"))), Revoke(lease.resource))


def test_a_claim_makes_a_lease(lab: Lab) -> None:
    """It says whose it is, by which claim, since when and until when."""
    now = lab.clock.now()

    lease = _take(lab, holder="worker 1", claim_id="c")

    assert (lease.resource, lease.holder, lease.claim_id) == (RUN, "worker 1", "c")
    assert (lease.acquired_at, lease.expires_at) == (now, now + TTL)
    assert lease.token >= 1
    assert lab.one.leases.get(RUN) == lease


def test_an_unexpired_lease_keeps_others_out(lab: Lab) -> None:
    """Until the very millisecond in which it expires, a claim gets None."""
    _take(lab)
    lab.clock.advance(TTL - 1)

    assert lab.one.leases.claim(RUN, "other", TTL, "c2") is None
    lab.clock.advance(1)
    assert lab.one.leases.claim(RUN, "other", TTL, "c3") is not None


def test_the_holder_is_a_label(lab: Lab) -> None:
    """The same name claims no better than another one."""
    _take(lab, holder="same")

    assert lab.one.leases.claim(RUN, "same", TTL, "another claim") is None


def test_a_repeated_claim_gets_the_same_lease(lab: Lab) -> None:
    """As it is stored: renewals stay, and expiry changes nothing while nobody else claimed."""
    lease = _take(lab, claim_id="c")
    renewed = lab.one.leases.renew(lease, 2 * TTL)

    assert _take(lab, claim_id="c") == renewed
    lab.clock.advance(10 * TTL)
    assert _take(lab, claim_id="c") == renewed


def test_a_repeated_claim_that_was_lost_is_a_new_claim(lab: Lab) -> None:
    """Released, revoked or taken: the same id claims anew, with a higher token, if it can."""
    first = _take(lab, claim_id="c")
    lab.one.leases.release(first)
    second = _take(lab, claim_id="c")
    _revoke(lab, second)
    third = _take(lab, claim_id="c")
    lab.clock.advance(TTL)
    _take(lab, claim_id="other")

    assert lab.one.leases.claim(RUN, "w", TTL, "c") is None
    assert first.token < second.token < third.token


def test_the_old_token_of_a_repeated_claim_is_lost(lab: Lab) -> None:
    """The claim's id alone does not make a lease current."""
    first = _take(lab, claim_id="c")
    lab.one.leases.release(first)
    second = _take(lab, claim_id="c")

    with pytest.raises(LeaseLost):
        lab.one.leases.renew(first, TTL)
    assert lab.one.leases.release(first) is False
    assert lab.one.leases.get(RUN) == second


def test_a_renewal_counts_from_the_stores_now(lab: Lab) -> None:
    """Only the expiry changes; it may also come nearer."""
    lease = _take(lab)
    lab.clock.advance(10_000)

    longer = lab.one.leases.renew(lease, TTL)
    shorter = lab.one.leases.renew(lease, 1)

    assert longer == evolve(lease, expires_at=lab.clock.now() + TTL)  # type: ignore[arg-type]
    assert shorter == evolve(lease, expires_at=lab.clock.now() + 1)  # type: ignore[arg-type]
    assert lab.one.leases.get(RUN) == shorter


def test_an_expired_lease_that_nobody_took_is_renewed(lab: Lab) -> None:
    """Expiry alone takes nothing away."""
    lease = _take(lab)
    lab.clock.advance(100 * TTL)

    renewed = lab.one.leases.renew(lease, TTL)

    assert renewed.token == lease.token
    assert lab.one.leases.claim(RUN, "other", TTL, "c2") is None


def test_a_lost_lease_is_not_renewed(lab: Lab) -> None:
    """The error says of what, which token, and how it was lost."""
    released, revoked, taken = (_take(lab, "run", name) for name in "abc")
    lab.one.leases.release(released)
    _revoke(lab, revoked)
    lab.clock.advance(TTL)
    _take(lab, "run", "c")
    unknown = evolve(taken, resource=("run", "never"))

    for lease, reason in (
        (released, "released"),
        (revoked, "revoked"),
        (taken, "taken"),
        (unknown, "unknown"),
    ):
        with pytest.raises(LeaseLost) as caught:
            lab.one.leases.renew(lease, TTL)
        assert caught.value.reason == reason
        assert (caught.value.resource, caught.value.token) == (lease.resource, lease.token)


def test_a_refused_renewal_changes_nothing(lab: Lab) -> None:
    """The successor's lease is as it was."""
    old = _take(lab)
    lab.clock.advance(TTL)
    new = _take(lab)

    with pytest.raises(LeaseLost):
        lab.one.leases.renew(old, 100 * TTL)
    assert lab.one.leases.get(RUN) == new


def test_a_release_answers_whether_it_did(lab: Lab) -> None:
    """True once; repeated it answers False."""
    lease = _take(lab)

    assert [lab.one.leases.release(lease) for _ in range(3)] == [True, False, False]
    assert lab.one.leases.get(RUN) is None


def test_a_late_release_leaves_the_successor_alone(lab: Lab) -> None:
    """Who lost the lease releases nothing."""
    old = _take(lab)
    lab.clock.advance(TTL)
    new = _take(lab)

    assert lab.one.leases.release(old) is False
    assert lab.one.leases.get(RUN) == new


def test_an_expired_lease_is_released_by_its_holder(lab: Lab) -> None:
    """It was current until then."""
    lease = _take(lab)
    lab.clock.advance(TTL)

    assert lab.one.leases.release(lease) is True


def test_a_released_resource_is_claimed_at_once(lab: Lab) -> None:
    """Its token is higher."""
    first = _take(lab)
    lab.one.leases.release(first)

    assert _take(lab).token > first.token


def test_get_shows_the_expired_and_hides_the_ended(lab: Lab) -> None:
    """Current is what has not ended; time plays no part."""
    assert lab.one.leases.get(RUN) is None
    lease = _take(lab)
    lab.clock.advance(TTL)
    assert lab.one.leases.get(RUN) == lease
    _revoke(lab, lease)
    assert lab.one.leases.get(RUN) is None


def test_the_lease_of_a_job_belongs_to_the_scheduler(lab: Lab) -> None:
    """Claim and release of it are unsupported here; renew and get work."""
    claim = lab.running()
    lab.clock.advance(5)

    with pytest.raises(Unsupported):
        lab.one.leases.claim(("job", "job"), "w", TTL, "c")
    with pytest.raises(Unsupported):
        lab.one.leases.claim(("job", "other"), "w", TTL, "c")
    with pytest.raises(Unsupported):
        lab.one.leases.release(claim.lease)
    renewed = lab.one.leases.renew(claim.lease, TTL)
    assert renewed.expires_at == lab.clock.now() + TTL
    assert lab.one.leases.get(("job", "job")) == renewed


def test_a_renewal_writes_the_lease_and_nothing_else(lab: Lab) -> None:
    """The job's record is byte for byte what the claim returned."""
    claim = lab.running()

    for _ in range(5):
        lab.clock.advance(1_000)
        lab.one.leases.renew(claim.lease, TTL)

    assert lab.stored() == claim.job


def test_a_renewal_works_from_an_old_copy(lab: Lab) -> None:
    """It is idempotent by token: what the caller's copy says of times does not matter."""
    lease = _take(lab)
    lab.one.leases.renew(lease, 2 * TTL)
    old = evolve(lease, expires_at=1, acquired_at=0, holder="renamed")  # type: ignore[arg-type]

    renewed = lab.one.leases.renew(old, TTL)

    assert renewed == lease


def test_expired_leases_are_listed_longest_expired_first(lab: Lab) -> None:
    """Only current ones, only of the kind, only expired: also in the millisecond of expiry."""
    for name, ttl in (("c", 30), ("a", 10), ("b", 20), ("d", 40)):
        _take(lab, "run", name, ttl=ttl)
    _take(lab, "machine", "m", ttl=1)
    _take(lab, "runner", "x", ttl=1)
    lab.one.leases.release(_take(lab, "run", "released", ttl=1))
    lab.clock.advance(30)

    found = lab.walk(lambda after: lab.one.leases.expired("run", after, 2))

    assert [lease.resource[1] for lease in found] == ["a", "b", "c"]
    assert found[0] == lab.one.leases.get(("run", "a"))


def test_expired_leases_of_jobs_are_listed(lab: Lab) -> None:
    """This is how stuck work is found."""
    claim = lab.running()
    lab.clock.advance(TTL)

    assert lab.one.leases.expired("job", None, 10) == Page(items=(claim.lease,))


def test_a_page_of_expired_leases_skips_none_of_equal_age(lab: Lab) -> None:
    """Many that expired together appear once each, however the pages fall."""
    names = {f"n{number}" for number in range(7)}
    for name in names:
        _take(lab, "run", name, ttl=5)
    lab.clock.advance(5)

    for limit in (1, 2, 3, 100):
        found = lab.walk(partial(lab.one.leases.expired, "run", limit=limit))
        assert sorted(lease.resource[1] for lease in found) == sorted(names)


def test_tokens_of_one_resource_rise_over_two_handles(lab: Lab) -> None:
    """Two connections count together, also after both were closed and opened again."""
    tokens = []
    for _ in range(3):
        for handle in (lab.open(), lab.open()):
            lease = handle.leases.claim(RUN, "w", TTL, lab.new())
            assert lease is not None
            tokens.append(lease.token)
            handle.leases.release(lease)
        lab.close()

    assert tokens == sorted(set(tokens))


def test_a_resource_may_have_one_part_or_eight(lab: Lab) -> None:
    """A resource is any tuple of ids."""
    short, long = _take(lab, "x"), _take(lab, *"abcdefgh")

    assert lab.one.leases.get(("x",)) == short
    assert lab.one.leases.get(tuple("abcdefgh")) == long


def test_one_of_many_threads_gets_the_lease(lab: Lab) -> None:
    """Exactly one, and the others None."""
    handles = [lab.open() for _ in range(4)]
    claims = [lambda n=n: handles[n % 4].leases.claim(RUN, "w", TTL, f"claim {n}") for n in range(12)]

    answers = lab.race(claims)

    (winner,) = [each for each in answers if each is not None]
    assert lab.one.leases.get(RUN) == winner


def test_many_threads_repeat_one_claim(lab: Lab) -> None:
    """One id gets one lease, however often it is sent at once."""
    answers = lab.race([lambda: lab.one.leases.claim(RUN, "w", TTL, "c")] * 8)

    assert len({each.token for each in answers if isinstance(each, Lease)}) == 1
    assert all(isinstance(each, Lease) for each in answers)


def test_a_holder_of_a_run_writes_under_its_lease(lab: Lab) -> None:
    """A run outside any job is fenced by a lease of its own."""
    run = lab.start_run("r")
    lease = _take(lab)
    commit = Commit.fenced("c", lease.fence, lab.step(run), Put(run, evolve(run, state=b"new")))

    assert lab.one.transactions.commit(commit).fence_holds is True
    found = lab.one.runs.get("r")
    assert found is not None
    assert found.state == b"new"
