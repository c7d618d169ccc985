"""A replay asks for the steps that its round has recorded, or the frame fails for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from nodeagent import Answer, Commit, Entry, FrameContext, Inline, OneJob, Put, WriteOnce
from nodeagent.rules import jobs

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def _asks(lab: Lab, *attempts: str) -> Callable[[FrameContext], Answer]:
    """Return a runner that asks for other steps in each attempt, and fails but in the last."""

    def work(context: FrameContext) -> Answer:
        for name in attempts[context.attempt - 1]:
            context.step(name, lambda name=name: name)  # type: ignore[misc]
        if context.attempt < len(attempts):
            raise OSError
        return lab.answer()

    return work


@pytest.mark.parametrize("second", ["a", "b", "", "ac"])
def test_a_step_that_is_recorded_but_not_asked_for_again_is_a_divergence(lab: Lab, second: str) -> None:
    """Also where the replay asks for nothing at all."""
    lab.app.add_runner("work", _asks(lab, "ab", second))
    job = lab.enqueue(retry=lab.at_once)
    lab.drain()

    assert lab.header(job).status == "failed"
    assert lab.receipt(job)["failure"]["type"] == "Diverged"


@pytest.mark.parametrize("second", ["ab", "ba", "abc", "cab"])
def test_a_replay_may_ask_in_another_order_and_for_more(lab: Lab, second: str) -> None:
    """Threads and tasks have no order, and an attempt that failed has not seen the end."""
    lab.app.add_runner("work", _asks(lab, "ab", second))
    job = lab.enqueue(retry=lab.at_once)
    lab.drain()

    assert lab.header(job).status == "completed"
    assert sorted(lab.keys(job)) == sorted(second)


def test_only_the_steps_of_this_round_must_be_asked_for(lab: Lab) -> None:
    """A new round has other reasons; what an old one recorded is replayed where it is asked for, and kept."""
    ran: list[str] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        for name in ("ab", "bc")[context.round - 1]:
            context.step(name, lambda name=name: ran.append(name))  # type: ignore[misc]
        return lab.answer(confidence=("low", "high")[context.round - 1])

    job = lab.enqueue()
    lab.drain()
    lab.runtime().unblock(job)
    lab.drain()

    assert lab.header(job).status == "completed"
    assert ran == ["a", "b", "c"]
    assert lab.keys(job) == ["a", "b", "c"]


def test_a_key_that_was_recorded_as_something_else_is_a_divergence(lab: Lab) -> None:
    """The runner's code has changed between two attempts."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        return lab.answer()

    job = lab.enqueue(retry=lab.at_once)
    claim = lab.backend.scheduler.claim(OneJob(job), "old code", 1_000, "c").claims[0]
    entry = Entry(key=("a",), kind="effect", value=Inline(b"1"))
    lab.backend.transactions.commit(Commit.fenced("old", claim.lease.fence, WriteOnce(jobs.steps_scope(job), entry)))
    lab.clock.advance(1_000)
    lab.drain()

    assert lab.header(job).status == "failed"
    assert "recorded as a effect" in lab.receipt(job)["reason"]


def test_an_unreadable_state_of_the_job_does_not_lose_it(lab: Lab) -> None:
    """It only describes: without it every recorded step counts as this round's."""
    lab.app.add_runner("work", _asks(lab, "ab"))
    job = lab.enqueue()
    stored = lab.job(job)
    broken = evolve(stored, state=b"not JSON")
    audit = WriteOnce(jobs.audit_scope(job), Entry(key=("x",), kind="audit", value=Inline(b'{"verb":"break"}')))
    lab.backend.transactions.commit(Commit.unfenced("x", Put(stored, broken), audit))
    lab.drain()

    assert lab.header(job).status == "completed"
