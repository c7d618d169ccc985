"""Enqueue: durable when it returns, the same job for the same request, and no neighbour disturbed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import (
    Commit,
    Conflict,
    Enqueued,
    HostClock,
    Invalid,
    NotLossless,
    OneJob,
    OutcomeUnknown,
    RetryPolicy,
    Runtime,
    SchemaMismatch,
    Unavailable,
)

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

OTHER: dict[str, Any] = {
    "goal": "Is it not so?",
    "runner": "other",
    "input": {"a": 2},
    "phase": "draft",
    "minimum_confidence": "high",
    "deliverables": ("memo",),
    "queue": "slow",
    "tenant": "other",
    "priority": 9,
    "max_attempts": 4,
    "retry": RetryPolicy(initial_ms=7),
    "timeout_ms": 5,
}


def test_an_equal_request_under_one_id_is_the_same_job(lab: Lab) -> None:
    """Queued, claimed, completed: a repeat returns it as it is stored, and changes nothing."""
    lab.app.add_runner("work", lambda _: lab.answer())
    runtime, request = lab.runtime(), lab.request(input={"b": 1, "a": [2]})
    first = runtime.enqueue(request, job_id="j")
    queued = runtime.enqueue(lab.request(input={"a": [2], "b": 1}), job_id="j")
    lab.backend.scheduler.claim(OneJob("j"), "w", 1_000, "c")
    running = runtime.enqueue(request, job_id="j")
    lab.clock.advance(1_000)
    lab.drain()
    completed = runtime.enqueue(request, job_id="j")

    assert [first.duplicate, queued.duplicate, running.duplicate, completed.duplicate] == [False, True, True, True]
    assert [queued.job.status, running.job.status, completed.job.status] == ["queued", "running", "completed"]
    assert completed.job == lab.header("j")
    assert lab.audit("j") == ["enqueue", "finish"]


@pytest.mark.parametrize("field", OTHER)
def test_another_request_under_one_id_is_a_conflict(lab: Lab, field: str) -> None:
    """Whatever differs; the stored job is not touched."""
    lab.enqueue("j", input={"a": 1})
    stored = lab.job("j")

    with pytest.raises(Conflict):
        lab.enqueue("j", **({"input": {"a": 1}} | {field: OTHER[field]}))
    assert lab.job("j") == stored


def test_jobs_without_an_id_are_different_jobs(lab: Lab) -> None:
    """Each gets a random one."""
    assert len({lab.enqueue() for _ in range(50)}) == 50


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, object, "\udc97", {"k\udc97": 1}], ids=repr)
def test_an_input_that_cannot_be_stored_is_refused_at_once(lab: Lab, value: Any) -> None:
    """With its path; nothing is enqueued."""
    with pytest.raises(NotLossless, match=r"\$"):
        lab.enqueue("j", input=value)
    assert lab.backend.jobs.get("j") is None


def test_a_bad_request_disturbs_no_neighbour(lab: Lab) -> None:
    """Answers come in order, a refusal in the place of its request."""
    runtime = lab.runtime()
    runtime.enqueue(lab.request(), job_id="taken")
    runtime.enqueue(lab.request(), job_id="known")
    answers = runtime.enqueue_many(
        [
            ("one", lab.request()),
            ("bad input", lab.request(input=float("nan"))),
            ("taken", lab.request(goal="Another?")),
            ("known", lab.request()),
            ("x" * 600, lab.request()),
            (None, lab.request()),
            ("one", lab.request()),
        ]
    )

    kinds = [answer.duplicate if isinstance(answer, Enqueued) else type(answer) for answer in answers]
    assert kinds == [False, NotLossless, Conflict, True, Invalid, False, True]
    assert lab.header("one").status == "queued"


def test_no_request_is_no_call(lab: Lab) -> None:
    """There is nothing to send."""
    assert lab.runtime(lab.tap(transactions_commit_many=lambda *_: 1 / 0)).enqueue_many([]) == []


@pytest.mark.parametrize("was_applied", [True, False])
def test_an_unknown_outcome_is_asked_for_with_the_same_id(lab: Lab, was_applied: bool) -> None:  # noqa: FBT001 - a parameter
    """So that it is one job, and not taken for a duplicate of somebody else's; its neighbours are not sent again."""
    again: list[str] = []

    def many(send: Callable[[Sequence[Commit]], Any], commits: Sequence[Commit]) -> Any:
        answers = list(send(commits if was_applied else (commits[0], commits[2])))
        return [answers[0], OutcomeUnknown("?"), answers[-1]]

    def one(send: Callable[[Commit], Any], commit: Commit) -> Any:
        again.append(commit.commit_id)
        if len(again) == 1:
            raise Unavailable("away")
        return send(commit)

    backend = lab.tap(transactions_commit_many=many, transactions_commit=one)
    answers = Runtime(lab.app, backend, clock=HostClock()).enqueue_many([(name, lab.request()) for name in "abc"])

    assert [isinstance(answer, Enqueued) and not answer.duplicate for answer in answers] == [True] * 3
    assert len(again) == 2
    assert len(set(again)) == 1
    assert [lab.audit(name) for name in "abc"] == [["enqueue"]] * 3


def test_a_store_that_stays_away_is_waited_for_once_not_once_for_each(lab: Lab) -> None:
    """All share one patience, and each gets the error in its place."""

    def one(*_: Any) -> Any:
        lab.clock.advance(10_000)
        raise Unavailable("away")

    backend = lab.tap(
        transactions_commit_many=lambda _, commits: [Unavailable("away") for _ in commits], transactions_commit=one
    )
    done = lab.thread(lambda: lab.runtime(backend).enqueue_many([(None, lab.request()) for _ in range(50)]))
    lab.fast_forward(done, 1)

    assert [type(answer) for answer in done.result()] == [Unavailable] * 50
    assert lab.clock.monotonic() < 50 * 30


def test_an_error_that_asking_again_does_not_help_is_returned(lab: Lab) -> None:
    """The schema does not change meanwhile."""
    error = SchemaMismatch("other schema", found=1, wanted=2)
    backend = lab.tap(transactions_commit_many=lambda _, __: [error], transactions_commit=lambda *_: 1 / 0)

    with pytest.raises(SchemaMismatch):
        lab.runtime(backend).enqueue(lab.request())
