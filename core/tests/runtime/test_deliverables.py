"""Deliverables: stored with the receipt, and safe from every purge that spares their job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodeagent import Answer, ArtifactRef, FrameContext

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def test_no_purge_takes_a_deliverable_whose_job_is_still_there(lab: Lab) -> None:
    """However old its bytes are: an entry of the job refers to them."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        return lab.answer(confidence="low", deliverables={"memo": lab.memo("the memo")})

    job = lab.enqueue()
    lab.drain()
    ref = lab.receipt(job)["deliverables"]["memo"]["ref"]
    lab.clock.advance(10**9)
    lab.runtime().unblock(job)

    lab.backend.maintenance.purge(lab.clock.now(), 100)

    assert lab.backend.artifacts.get(ArtifactRef(ref)) == b"the memo"


def test_a_purged_jobs_deliverables_go_with_it(lab: Lab) -> None:
    """Nothing of a purged job stays."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        return lab.answer(deliverables={"memo": lab.memo("the memo")})

    job = lab.enqueue()
    lab.drain()
    ref = lab.receipt(job)["deliverables"]["memo"]["ref"]
    lab.clock.advance(10**9)

    while lab.backend.maintenance.purge(lab.clock.now(), 100).more:
        pass

    assert lab.backend.jobs.get(job) is None
    assert lab.backend.artifacts.stat(ArtifactRef(ref)) is None
