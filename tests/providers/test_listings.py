"""Listings: by index, in order, in pages, headers only, and exactly once while others write."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from nodeagent import (
    Commit,
    FrameHeader,
    FrameIndex,
    JobHeader,
    JobIndex,
    Ms,
    Put,
    RunHeader,
    RunIndex,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab


def _jobs(lab: Lab, index: JobIndex, limit: int = 2) -> list[str]:
    return [header.id for header in lab.walk(lambda after: lab.one.jobs.list(index, after, limit))]


def _runs(lab: Lab, index: RunIndex, limit: int = 2) -> list[str]:
    return [header.id for header in lab.walk(lambda after: lab.one.runs.list(index, after, limit))]


def _enqueue_many(lab: Lab, names: list[str]) -> None:
    jobs = [lab.job(name) for name in names]
    commits = [Commit.unfenced(lab.new(), Put(None, each), Put(None, lab.frame(each))) for each in jobs]
    lab.one.transactions.commit_many(commits)


def test_nothing_is_an_empty_last_page(lab: Lab) -> None:
    """An empty index ends at once."""
    page = lab.one.jobs.list(JobIndex.by_status("queued"), None, 10)

    assert (page.items, page.next) == ((), None)


def test_jobs_are_listed_by_status(lab: Lab) -> None:
    """A job moves from one list to another with its status."""
    lab.enqueue("a")
    lab.enqueue("b")
    lab.running("c")
    lab.leave(lab.running("d"), "failed")

    assert _jobs(lab, JobIndex.by_status("queued")) == ["a", "b"]
    assert _jobs(lab, JobIndex.by_status("running")) == ["c"]
    assert _jobs(lab, JobIndex.by_status("failed")) == ["d"]
    assert _jobs(lab, JobIndex.by_status("completed")) == []


def test_jobs_are_listed_by_lane_and_status(lab: Lab) -> None:
    """Both must match."""
    lab.enqueue("a", lane="x")
    lab.enqueue("b", lane="y")
    lab.enqueue("c", lane="x")
    lab.claim("x")

    assert _jobs(lab, JobIndex.by_lane("x", "queued")) == ["c"]
    assert _jobs(lab, JobIndex.by_lane("x", "running")) == ["a"]
    assert _jobs(lab, JobIndex.by_lane("y", "running")) == []


def test_jobs_are_listed_by_tenant(lab: Lab) -> None:
    """Of every status."""
    lab.enqueue("a", tenant="one")
    lab.leave(lab.running("b", tenant="one"))
    lab.enqueue("c", tenant="two")

    assert _jobs(lab, JobIndex.by_tenant("one")) == ["a", "b"]


def test_the_job_of_a_frame_and_the_frame_of_a_job(lab: Lab) -> None:
    """One each."""
    lab.enqueue("a")
    job = lab.enqueue("b")

    assert _jobs(lab, JobIndex.by_frame(job.header.frame_id)) == ["b"]
    page = lab.one.frames.list(FrameIndex.by_job("b"), None, 10)
    assert [header.id for header in page.items] == [job.header.frame_id]
    assert lab.one.frames.list(FrameIndex.by_job("absent"), None, 10).items == ()


def test_runs_are_listed_by_conversation_status_and_owner(lab: Lab) -> None:
    """Each index finds its own."""
    claim = lab.running()
    lab.start_run("alone", conversation_id="x", status="open")
    lab.start_run("ended", conversation_id="x", status="closed")
    lab.fenced(claim, Put(None, lab.run("inside", owner=claim.job.owner, status="open")))

    assert _runs(lab, RunIndex.by_conversation("x")) == ["alone", "ended"]
    assert _runs(lab, RunIndex.by_status("open")) == ["alone", "inside"]
    assert _runs(lab, RunIndex.by_owner(claim.job.owner)) == ["inside"]
    assert _runs(lab, RunIndex.by_owner(("run", "alone"))) == ["alone"]


def test_messages_are_listed_by_position_and_id(lab: Lab) -> None:
    """Whole, those of one conversation, in pages."""
    run = lab.start_run()
    other = lab.start_run("other", conversation_id="other")
    for position, name in ((2, "b"), (2, "a"), (0, "z"), (10, "c"), (9, "d")):
        lab.commit(Put(None, lab.message(run, position, id=name)))
    lab.commit(Put(None, lab.message(other, 1, id="elsewhere")))

    for limit in (1, 2, 100):
        found = lab.walk(partial(lab.one.runs.messages, "conversation", limit=limit))
        assert [message.id for message in found] == ["z", "a", "b", "d", "c"]
        assert found[0].spec == b"hello"


def test_the_order_is_age_then_id_bytewise(lab: Lab) -> None:
    """Whatever the order of writing, and whatever a locale would say."""
    base = lab.clock.now()
    names = [("b", 1), ("a", 2), ("B", 1), ("é", 1), ("z", 0), ("\U0001f600", 1), ("\uffff", 1)]
    for name, age in names:
        lab.enqueue(name, created_at=Ms(base + age))

    expected = [name for name, _ in sorted(names, key=lambda each: (each[1], each[0].encode()))]
    for limit in (1, 3, 100):
        assert _jobs(lab, JobIndex.by_status("queued"), limit) == expected


def test_a_listing_returns_headers_only(lab: Lab) -> None:
    """No spec and no state travels with a list."""
    claim = lab.running(spec=b"x" * 10_000, state=b"y" * 10_000)
    lab.fenced(claim, Put(None, lab.run(owner=claim.job.owner)))

    jobs = lab.one.jobs.list(JobIndex.by_status("running"), None, 10).items
    frames = lab.one.frames.list(FrameIndex.by_job("job"), None, 10).items
    runs = lab.one.runs.list(RunIndex.by_owner(claim.job.owner), None, 10).items

    assert jobs == (claim.job.header,)
    assert frames == (claim.frame.header,)
    assert [type(each[0]) for each in (jobs, frames, runs)] == [JobHeader, FrameHeader, RunHeader]


@pytest.mark.parametrize("limit", [1, 4, 5, 6, 100])
def test_every_page_size_lists_everything_once(lab: Lab, limit: int) -> None:
    """Many of one age too, and a page is never longer than asked."""
    names = [f"job {number}" for number in range(10)]
    _enqueue_many(lab, names)
    index = JobIndex.by_status("queued")

    first = lab.one.jobs.list(index, None, limit)

    assert len(first.items) <= limit
    assert sorted(_jobs(lab, index, limit)) == sorted(names)


def test_a_walk_goes_on_while_others_come_and_go(lab: Lab) -> None:
    """What stays in the index appears exactly once, before or behind the cursor."""
    names = [f"job {number:02}" for number in range(0, 40, 2)]
    _enqueue_many(lab, names)
    index = JobIndex.by_status("queued")
    leaving = {"job 04", "job 20", "job 36"}

    seen: list[str] = []
    after = None
    for turn in range(100):
        page = lab.one.jobs.list(index, after, 3)
        seen += [header.id for header in page.items]
        after = page.next
        if after is None:
            break
        lab.enqueue(f"job {2 * turn + 1:02}")
        for name in sorted(leaving)[turn : turn + 1]:
            lab.cancel(lab.stored(name))

    stayed = set(names) - leaving
    assert stayed <= set(seen)
    assert len(seen) == len(set(seen))


def test_a_walk_is_exact_under_many_writers(lab: Lab) -> None:
    """Threads claim and put back other jobs all the while."""
    stable = [f"stable {number}" for number in range(15)]
    _enqueue_many(lab, stable)
    lab.enqueue("busy", lane="busy")
    done = threading.Event()

    def churn() -> int:
        turns = 0
        while not done.is_set() and turns < 200:
            for claim in lab.ask("busy").claims:
                lab.leave(claim, "queued", run_after=claim.job.header.run_after)
                turns += 1
        return turns

    def lists() -> int:
        try:
            for _ in range(8):
                found = _jobs(lab, JobIndex.by_status("queued"), 4)
                assert [name for name in found if name != "busy"] == sorted(stable)
        finally:
            done.set()
        return 0

    answers = lab.race([churn, lists])

    assert not [each for each in answers if isinstance(each, Exception)]


def test_a_written_record_is_listed_at_once(lab: Lab) -> None:
    """Where lists are declared strong, a listing shows every write that was answered before."""
    other = lab.open()

    for number in range(5):
        lab.enqueue(f"job {number}")
        if lab.one.capabilities.strong_lists:
            page = other.jobs.list(JobIndex.by_status("queued"), None, 100)
            assert len(page.items) == number + 1


def test_a_list_shows_the_header_as_it_is_now(lab: Lab) -> None:
    """Not as it was when it came into the index."""
    job = lab.enqueue()
    changed = evolve(job, header=evolve(job.header, priority=9, attempts=4))
    lab.commit(lab.audit(job), Put(job, changed))

    (header,) = lab.one.jobs.list(JobIndex.by_status("queued"), None, 10).items
    assert header == lab.stored().header
    assert (header.priority, header.attempts) == (9, 4)
