"""The operator's verbs: schema, purge, drop, and what follows a restored back-up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from nodeagent import (
    ArtifactRef,
    Entry,
    Fenced,
    FrameIndex,
    Held,
    JobIndex,
    LeaseLost,
    Ms,
    NotFound,
    Purged,
    Put,
    RunIndex,
    Shared,
    Stored,
    WriteOnce,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

TTL = 30_000
GRACE = 24 * 60 * 60 * 1000
"""How long bytes are kept before anything refers to them."""


def _purge(lab: Lab, limit: int = 100, before: int | None = None) -> list[Purged]:
    """Purge batch by batch until nothing is left."""
    then = Ms(lab.clock.now() if before is None else before)
    batches = [lab.one.maintenance.purge(then, limit)]
    while batches[-1].more:
        batches.append(lab.one.maintenance.purge(then, limit))
        assert len(batches) < 100
    return batches


# --- schema -------------------------------------------------------------------------------------


def test_an_open_store_has_a_current_schema(lab: Lab) -> None:
    """Looking at it changes nothing, and migrating again neither."""
    job = lab.enqueue()
    status = lab.one.maintenance.schema()

    assert status.is_current
    assert lab.one.maintenance.schema() == status
    for phase in ("pre", "post", "pre", "post"):
        assert lab.one.maintenance.migrate(phase).is_current
    assert lab.stored() == job


def test_many_may_migrate_at_once(lab: Lab) -> None:
    """Every process does so when it starts."""
    handles = [lab.open() for _ in range(4)]

    answers = lab.race([lambda h=h: h.maintenance.migrate("pre") for h in handles])  # type: ignore[misc]

    assert not [each for each in answers if isinstance(each, Exception)]
    assert lab.one.maintenance.schema().is_current


# --- purge --------------------------------------------------------------------------------------


def test_a_purge_removes_a_job_with_all_it_owns(lab: Lab) -> None:
    """Frame, journal, runs, messages and lease go with it, and are counted."""
    claim = lab.running()
    run = lab.run("inside", owner=claim.job.owner)
    lab.fenced(claim, Put(None, run), Put(None, lab.message(run, 1)), lab.step(claim.job))
    lab.leave(claim)
    lab.clock.advance(1)

    (batch,) = _purge(lab)

    assert batch == Purged(jobs=1, runs=1, entries=2, artifacts=0, more=False)
    assert lab.one.jobs.get("job") is None
    assert lab.one.frames.get(claim.frame.id) is None
    assert lab.one.runs.get("inside") is None
    assert lab.one.runs.messages("conversation", None, 10).items == ()
    assert lab.rows(Held(claim.job.owner, "steps")) == ()
    assert lab.rows(Shared(claim.job.owner, "audit")) == ()
    assert lab.one.leases.get(claim.job.owner) is None
    assert lab.one.jobs.list(JobIndex.by_status("completed"), None, 10).items == ()
    assert lab.one.frames.list(FrameIndex.by_job("job"), None, 10).items == ()
    assert lab.one.runs.list(RunIndex.by_owner(claim.job.owner), None, 10).items == ()


def test_a_purge_removes_a_run_outside_any_job(lab: Lab) -> None:
    """With its messages, its log and its lease."""
    run = lab.start_run("old", ended_at=lab.clock.now(), status="done")
    lease = lab.one.leases.claim(run.owner, "w", TTL, "c")
    assert lease is not None
    lab.commit(Put(None, lab.message(run, 1)), lab.audit(run))
    lab.clock.advance(1)

    (batch,) = _purge(lab)

    assert (batch.jobs, batch.runs, batch.entries) == (0, 1, 1)
    assert lab.one.runs.get("old") is None
    assert lab.one.runs.messages("conversation", None, 10).items == ()
    assert lab.one.leases.get(run.owner) is None


def test_a_run_inside_a_job_goes_with_its_job_alone(lab: Lab) -> None:
    """It ended long ago, but its job did not."""
    claim = lab.running()
    run = lab.run("inside", owner=claim.job.owner, ended_at=lab.clock.now())
    lab.fenced(claim, Put(None, run))
    lab.clock.advance(1_000)

    assert _purge(lab) == [Purged()]
    assert lab.one.runs.get("inside") is not None


def test_what_has_not_ended_before_then_stays(lab: Lab) -> None:
    """Queued, running and parked jobs have not ended, and the very millisecond is not before."""
    lab.enqueue("queued")
    lab.enqueue("parked", run_after=None)
    lab.running("running")
    lab.start_run("going")
    lab.leave(lab.running("early"))
    lab.clock.advance(1)
    lab.leave(lab.running("late"))
    at = lab.clock.now()
    lab.clock.advance(10**6)

    (batch,) = _purge(lab, before=at)

    assert (batch.jobs, batch.runs) == (1, 0)
    assert lab.one.jobs.get("early") is None
    for name in ("queued", "parked", "running", "late"):
        assert lab.one.jobs.get(name) is not None
    assert lab.one.runs.get("going") is not None


def test_others_keep_all_that_is_theirs(lab: Lab) -> None:
    """A neighbour's frame, journal, runs and lease are untouched."""
    stays = lab.running("stays")
    lab.fenced(stays, lab.step(stays.job), Put(None, lab.run("its run", owner=stays.job.owner)))
    lab.leave(lab.running("goes"))
    lab.clock.advance(1)

    _purge(lab)

    assert lab.one.frames.get(stays.frame.id) == stays.frame
    assert lab.fenced(stays, lab.step(stays.job, "next")).seqs == (2,)
    assert lab.one.runs.get("its run") is not None


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_a_purge_works_in_bounded_batches(lab: Lab, limit: int) -> None:
    """No batch removes more than its limit, ``more`` says whether to go on, and all of it goes."""
    for number in range(4):
        lab.leave(lab.running(f"job {number}"))
        lab.start_run(f"run {number}", ended_at=lab.clock.now())
    lab.clock.advance(1)

    batches = _purge(lab, limit)

    assert max(batch.jobs + batch.runs for batch in batches) <= limit
    assert sum(batch.jobs for batch in batches) == 4
    assert sum(batch.runs for batch in batches) == 4
    assert _purge(lab, limit) == [Purged()]


def test_a_purge_of_nothing(lab: Lab) -> None:
    """Nothing is counted and nothing is left."""
    assert _purge(lab) == [Purged()]


def test_a_purged_scope_begins_anew(lab: Lab) -> None:
    """The same job may come again, with an empty journal whose places count from 1."""
    first = lab.running()
    lab.fenced(first, lab.step(first.job))
    lab.leave(first)
    lab.clock.advance(1)
    _purge(lab)

    second = lab.running()

    assert lab.fenced(second, lab.step(second.job)).seqs == (1,)
    assert second.lease.token > first.lease.token


def test_a_purged_run_gets_higher_tokens(lab: Lab) -> None:
    """Also a resource that the lease store hands out."""
    tokens = []
    for number in range(3):
        run = lab.start_run("r", ended_at=lab.clock.now())
        lease = lab.one.leases.claim(run.owner, "w", TTL, f"c{number}")
        assert lease is not None
        tokens.append(lease.token)
        lab.clock.advance(1)
        _purge(lab)
        with pytest.raises(LeaseLost):
            lab.one.leases.renew(lease, TTL)

    assert tokens == sorted(set(tokens))


# --- purge of artifacts -------------------------------------------------------------------------


def _refer(lab: Lab, ref: ArtifactRef) -> Stored:
    del lab
    return Stored(ref=ref.id, sha256=ref.sha256, size=1)


def test_a_purge_removes_what_nothing_refers_to(lab: Lab) -> None:
    """Artifacts of this store, put before then."""
    old = lab.one.artifacts.put(b"old", "text/plain")
    lab.clock.advance(10)
    then = lab.clock.now()
    new = lab.one.artifacts.put(b"new", "text/plain")
    lab.clock.advance(2 * GRACE)

    (batch,) = _purge(lab, before=then)

    assert batch.artifacts == 1
    with pytest.raises(NotFound):
        lab.one.artifacts.get(old)
    assert lab.one.artifacts.get(new) == b"new"


@pytest.mark.parametrize("ahead", [0, 1, 10 * GRACE])
def test_what_was_put_lately_is_no_garbage(lab: Lab, ahead: int) -> None:
    """The commit that will refer to it may be under way, whatever the purge was told."""
    receipt = lab.one.artifacts.put(b"receipt", "text/plain")
    lab.clock.advance(GRACE)

    assert _purge(lab, before=lab.clock.now() + ahead) == [Purged()]
    assert lab.one.artifacts.get(receipt) == b"receipt"
    claim = lab.running()
    after = evolve(claim.frame, header=evolve(claim.frame.header, receipt=receipt.id))
    lab.fenced(claim, lab.step(claim.job), Put(claim.frame, after))
    lab.clock.advance(GRACE)
    assert _purge(lab) == [Purged()]
    assert lab.one.artifacts.get(receipt) == b"receipt"


def test_what_was_put_and_never_referred_to_goes_after_a_day(lab: Lab) -> None:
    """And not a millisecond before."""
    lab.one.artifacts.put(b"forgotten", "text/plain")
    lab.clock.advance(GRACE)
    assert _purge(lab) == [Purged()]
    lab.clock.advance(1)

    assert _purge(lab) == [Purged(artifacts=1)]


def test_what_an_entry_or_a_frame_refers_to_stays(lab: Lab) -> None:
    """Until their job is purged; then it goes with it."""
    claim = lab.running()
    step, receipt = (lab.one.artifacts.put(data, "text/plain") for data in (b"step", b"receipt"))
    value = Entry(key=("k",), kind="step", value=_refer(lab, step))
    header = evolve(claim.frame.header, receipt=receipt.id)
    lab.fenced(
        claim,
        WriteOnce(Held(claim.job.owner, "steps"), value),
        Put(claim.frame, evolve(claim.frame, header=header)),
    )
    lab.clock.advance(2 * GRACE)

    assert _purge(lab) == [Purged()]
    assert lab.one.artifacts.get(step) == b"step"
    assert lab.one.artifacts.get(receipt) == b"receipt"
    lab.leave(claim)
    lab.clock.advance(10)
    assert sum(batch.artifacts for batch in _purge(lab)) == 2
    assert lab.one.artifacts.stat(step) is None
    assert lab.one.artifacts.stat(receipt) is None


def test_what_two_refer_to_stays_for_the_second(lab: Lab) -> None:
    """Equal bytes are one artifact."""
    ref = lab.one.artifacts.put(b"shared", "text/plain")
    first, second = lab.running("first"), lab.running("second")
    for claim in (first, second):
        entry = Entry(key=("k",), kind="step", value=_refer(lab, ref))
        lab.fenced(claim, WriteOnce(Held(claim.job.owner, "steps"), entry))
    lab.leave(first)
    lab.clock.advance(2 * GRACE)

    (batch,) = _purge(lab)

    assert (batch.jobs, batch.artifacts) == (1, 0)
    assert lab.one.artifacts.get(ref) == b"shared"


def test_putting_again_keeps_an_artifact_from_a_purge(lab: Lab) -> None:
    """Its age begins anew, so that a writer who found it there can still refer to it."""
    ref = lab.one.artifacts.put(b"data", "text/plain")
    lab.clock.advance(10)
    then = lab.clock.now()
    lab.one.artifacts.put(b"data", "text/plain")
    lab.clock.advance(2 * GRACE)

    assert _purge(lab, before=then) == [Purged()]
    assert lab.one.artifacts.get(ref) == b"data"


# --- drop ---------------------------------------------------------------------------------------


def test_a_dropped_namespace_is_empty(lab: Lab) -> None:
    """Nothing is left, for any handle, and it can be used at once."""
    other = lab.open()
    claim = lab.running()
    lab.fenced(claim, lab.step(claim.job))
    lab.enqueue("waiting")
    lab.start_run()
    lease = lab.one.leases.claim(("run", "run"), "w", TTL, "c")
    assert lease is not None
    ref = lab.one.artifacts.put(b"data", "text/plain")

    lab.one.maintenance.drop_namespace()

    for handle in (lab.one, other):
        assert handle.jobs.get("job") is None
        assert handle.frames.get(claim.frame.id) is None
        assert handle.runs.get("run") is None
        assert handle.leases.get(("run", "run")) is None
        assert handle.artifacts.stat(ref) is None
    assert lab.rows(Held(claim.job.owner, "steps")) == ()
    assert lab.ask().next_due is None
    with pytest.raises(Fenced):
        lab.fenced(claim, lab.step(claim.job))
    again = lab.running()
    assert lab.fenced(again, lab.step(again.job)).seqs == (1,)


# --- restored -----------------------------------------------------------------------------------


def test_after_a_restore_every_lease_is_revoked(lab: Lab) -> None:
    """Of jobs and of others; who held one writes nothing, and renews nothing."""
    claim = lab.running()
    lease = lab.one.leases.claim(("run", "r"), "w", TTL, "c")
    assert lease is not None

    lab.one.maintenance.restored()

    assert lab.one.leases.get(claim.job.owner) is None
    assert lab.one.leases.get(("run", "r")) is None
    with pytest.raises(Fenced) as fenced:
        lab.fenced(claim, lab.step(claim.job))
    assert fenced.value.reason == "revoked"
    with pytest.raises(LeaseLost):
        lab.one.leases.renew(lease, TTL)
    assert lab.one.leases.release(lease) is False


def test_after_a_restore_work_goes_on(lab: Lab) -> None:
    """Running jobs are claimable at once; records and journals are as they were."""
    claim = lab.running()
    lab.fenced(claim, lab.step(claim.job))

    lab.one.maintenance.restored()
    again = lab.claim("lane of job", claim_id=claim.lease.claim_id)

    assert again.lease.token > claim.lease.token
    assert again.job.header.attempts == 2
    assert lab.rows(Held(claim.job.owner, "steps"))[0].token == claim.lease.token


def test_after_a_restore_marks_are_far_above(lab: Lab) -> None:
    """Beyond what the lost time line could have given out, also of what the back-up knows nothing."""
    claim = lab.running()
    gone = lab.enqueue("gone")
    lab.one.maintenance.restored()

    again = lab.claim("lane of job")
    unseen = lab.claim("lane")
    new = lab.one.leases.claim(("run", "never seen"), "w", TTL, "c")

    assert new is not None
    assert gone.id == unseen.job.id
    for lease in (again.lease, unseen.lease, new):
        assert lease.token > claim.lease.token + 100_000


def test_restoring_twice_raises_twice(lab: Lab) -> None:
    """Each time beyond whatever came in between."""
    tokens = []
    lab.enqueue()
    for _ in range(3):
        tokens.append(lab.claim().lease.token)
        lab.one.maintenance.restored()

    assert tokens == sorted(set(tokens))
