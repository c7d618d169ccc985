"""What is the memory provider's own: which handles share, and what it keeps an index of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from nodeagent import Commit, Lanes, Put, Release, WriteOnce
from nodeagent.providers import memory
from nodeagent.providers.memory.connection import own
from nodeagent.testing import ManualClock

if TYPE_CHECKING:
    from tests.providers.conftest import Maker


def test_connections_of_one_name_share_what_is_stored() -> None:
    """And those of another name, or of another namespace, do not."""
    clock = ManualClock()
    names = [("a", "x"), ("a", "x"), ("b", "x"), ("a", "y")]
    stores = [
        memory.nodeagent_artifact_store(
            memory.nodeagent_connect(memory.MemorySettings(store=store), namespace, clock, ())
        )
        for store, namespace in names
    ]

    ref = stores[0].put(b"shared", "text/plain")

    assert [store.stat(ref) is not None for store in stores] == [True, True, False, False]


def test_it_says_that_nothing_survives() -> None:
    """In its capabilities, and to the doctor."""
    connection = memory.nodeagent_connect(memory.MemorySettings(), "x", None, ())
    declared = connection.capabilities

    (check,) = memory.nodeagent_doctor(memory.MemorySettings(), connection)

    assert (declared.durable, declared.shared, declared.failover_safe) == (False, False, False)
    assert check.status == "warning"


def test_a_claim_looks_at_no_finished_job(make_oracle: Maker) -> None:
    """Jobs without a due time are not in the index that claims read."""
    lab = make_oracle()
    due = own(lab.one.connection).store.due
    for number in range(3):
        lab.enqueue(f"job {number}")
    lab.enqueue("parked", run_after=None)
    assert due["lane"] == {"job 0", "job 1", "job 2"}

    for claim in lab.ask(limit=2).claims:
        lab.leave(claim)

    assert due["lane"] == {"job 2"}
    lab.close()


def test_what_is_handed_out_cannot_change_what_is_stored(make_oracle: Maker) -> None:
    """Records are frozen, and bytes that a caller could change are copied."""
    lab = make_oracle()
    job = lab.enqueue()
    data = bytearray(b"before")
    ref = lab.one.artifacts.put(data, "text/plain")  # type: ignore[arg-type]
    data[:] = b"after!"

    with pytest.raises(AttributeError):
        job.header.status = "failed"  # type: ignore[misc]
    assert lab.one.artifacts.get(ref) == b"before"
    lab.close()


def test_a_connection_of_another_provider_is_refused(make_oracle: Maker) -> None:
    """Its hooks are given their own connection or nobody's."""
    lab = make_oracle()

    with pytest.raises(TypeError, match="expected a MemoryConnection"):
        memory.nodeagent_scheduler(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected MemorySettings"):
        memory.nodeagent_connect(object(), "x", None, ())
    lab.close()


def test_a_wide_commit_keeps_its_order(make_oracle: Maker) -> None:
    """A thousand entries and a release in one atom, and the next claim finds them all."""
    lab = make_oracle()
    claim = lab.running()
    steps: list[WriteOnce] = [lab.step(claim.job, f"{number}") for number in range(1_000)]
    job = evolve(claim.job, header=evolve(claim.job.header, status="queued"))
    commit = Commit.fenced("c", claim.lease.fence, *steps, Put(claim.job, job), Release())

    answer = lab.one.transactions.commit(commit)

    assert answer.seqs == tuple(range(1, 1_001))
    assert lab.one.scheduler.peek(Lanes(names=("lane of job",))).jobs == (lab.stored().header,)
    lab.close()
