"""Declared limits: what is too large is refused whole, and what just fits is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nodeagent import Commit, Held, Put, TooLarge, WriteOnce

if TYPE_CHECKING:
    from tests.providers.conftest import Lab


def test_a_value_over_the_limit_is_too_large(lab: Lab) -> None:
    """Nothing of its commit is written; one byte less is stored."""
    limit = lab.one.capabilities.max_value_bytes
    if limit is None or limit > 100_000_000:
        return
    claim = lab.running()

    with pytest.raises(TooLarge) as caught:
        lab.fenced(claim, lab.step(claim.job, "a"), lab.step(claim.job, "b", b"x" * (limit + 1)))

    assert (caught.value.size, caught.value.limit) == (limit + 1, limit)
    assert lab.rows(Held(claim.job.owner, "steps")) == ()
    assert lab.fenced(claim, lab.step(claim.job, "b", b"x" * limit)).seqs == (1,)


def test_a_state_over_the_limit_is_too_large(lab: Lab) -> None:
    """Records have the same limit as values."""
    limit = lab.one.capabilities.max_value_bytes
    if limit is None or limit > 100_000_000:
        return

    with pytest.raises(TooLarge):
        lab.commit(Put(None, lab.job(state=b"x" * (limit + 1))))

    assert lab.one.jobs.get("job") is None


def test_a_commit_of_too_many_writes_is_too_large(lab: Lab) -> None:
    """Refused before anything is written; exactly as many are stored."""
    limit = lab.one.capabilities.max_commit_writes
    if limit is None or limit > 20_000:
        return
    claim = lab.running()
    steps = [lab.step(claim.job, f"{number}") for number in range(limit + 1)]

    with pytest.raises(TooLarge):
        lab.fenced(claim, *steps)

    assert lab.rows(Held(claim.job.owner, "steps")) == ()
    assert len(lab.fenced(claim, *steps[:limit]).seqs) == limit


def test_a_key_over_the_limit_is_too_large(lab: Lab) -> None:
    """A provider that cannot keep the longest keys says so, and refuses them."""
    limit = lab.one.capabilities.max_key_bytes
    if limit is None:
        return
    claim = lab.running()
    key = tuple(letter * 512 for letter in "abcdefgh")
    if limit < 8 * 512:
        with pytest.raises(TooLarge):
            lab.fenced(claim, WriteOnce(Held(claim.job.owner, "x"), lab.entry(key)))
        assert lab.rows(Held(claim.job.owner, "x")) == ()


def test_a_time_to_live_over_the_limit_is_too_large(lab: Lab) -> None:
    """For claims of jobs, claims of leases and renewals."""
    limit = lab.one.capabilities.max_ttl_ms
    if limit is None:
        return
    claim = lab.running()
    lab.enqueue("other")

    with pytest.raises(TooLarge):
        lab.one.leases.renew(claim.lease, limit + 1)
    with pytest.raises(TooLarge):
        lab.one.leases.claim(("run", "r"), "w", limit + 1, "c")
    with pytest.raises(TooLarge):
        lab.ask(ttl=limit + 1)
    assert lab.one.leases.get(claim.job.owner) == claim.lease
    assert lab.one.leases.get(("run", "r")) is None
    assert lab.stored("other").header.status == "queued"


def test_a_refused_size_stands_in_its_place_among_many(lab: Lab) -> None:
    """One that is too large does not keep its neighbours from being applied."""
    limit = lab.one.capabilities.max_value_bytes
    if limit is None or limit > 100_000_000:
        return
    records = [lab.job("a"), lab.job("b", state=b"x" * (limit + 1)), lab.job("c")]
    commits = [Commit.unfenced(each.id, Put(None, each)) for each in records]

    answers = lab.one.transactions.commit_many(commits)

    assert [isinstance(each, TooLarge) for each in answers] == [False, True, False]
    assert [lab.one.jobs.get(name) is not None for name in "abc"] == [True, False, True]
