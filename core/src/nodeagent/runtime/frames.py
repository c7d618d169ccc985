"""The two frame runners: one without storage, one that survives crashes."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from nodeagent.errors import NotFound
from nodeagent.lossless import Json, detached
from nodeagent.records.answer import Answer
from nodeagent.records.job import JobRecord
from nodeagent.rules.specs import FrameRequest, FrameSpec
from nodeagent.rules.verdict import Verdict, judge
from nodeagent.runtime.outcome import Outcome
from nodeagent.runtime.receipts import load_receipt
from nodeagent.runtime.runners import Runner, is_async

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.runtime.worker import Worker

__all__ = ["run_durable_reasoning_frame", "run_reasoning_frame"]


class _PassingContext:
    """A context that keeps nothing: each step runs, and its result is detached as a stored one would be."""

    def __init__(self, request: FrameRequest) -> None:
        self.job_id = self.frame_id = "unstored"
        self.goal = request.goal
        self.phase = request.phase
        self.minimum_confidence = request.minimum_confidence
        self.deliverables = request.deliverables
        self.input = detached(request.input)
        self.policy = request.policy
        self.round = self.attempt = 1

    def step(self, name: str, fn: Callable[[], Json], *, index: int | None = None) -> Json:
        """Run ``fn``."""
        del name, index
        return detached(fn())


class _PassingAsyncContext(_PassingContext):
    async def step(self, name: str, fn: Callable[[], Any], *, index: int | None = None) -> Json:  # type: ignore[override]
        """Run ``fn``."""
        del name, index
        result = fn()
        return detached(await result if inspect.isawaitable(result) else result)


def run_reasoning_frame(runner: Runner, request: FrameRequest) -> tuple[Verdict, Answer]:
    """Run a frame here and now, without a store, and judge its answer. Whatever the runner raises is raised."""
    answer: Any
    if is_async(runner):
        answer = asyncio.run(cast("Any", runner)(_PassingAsyncContext(request)))
    else:
        answer = cast("Any", runner)(_PassingContext(request))
    spec = FrameSpec(
        goal=request.goal,
        phase=request.phase,
        minimum_confidence=request.minimum_confidence,
        deliverables=request.deliverables,
    )
    return judge(spec, answer), answer


def run_durable_reasoning_frame(job_id: str, worker: Worker) -> Outcome:
    """Work on this job if it can be claimed, replay its receipt if it is finished, else say why not.

    Raises:
        NotFound: there is no such job.

    """
    backend = worker.backend
    if (stored := _answer_of(backend, _job(backend, job_id))) is not None:
        return stored
    outcome = worker.run_job(job_id)
    if outcome is not None:
        return outcome
    job = _job(backend, job_id)
    return _answer_of(backend, job) or _unclaimable(backend, job)


def _job(backend: Backend, job_id: str) -> JobRecord:
    job = backend.jobs.get(job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id!r}; it was never enqueued here, or it was purged")
    return job


def _answer_of(backend: Backend, job: JobRecord) -> Outcome | None:
    """Return the outcome of a job that has ended: nothing is executed."""
    header = job.header
    if header.status == "canceled":
        return Outcome(status="canceled", job=header, reason="the job was canceled")
    if header.status in ("queued", "running"):
        return None
    return Outcome(
        status="replayed",
        job=header,
        reason=f"the job is {header.status} since an earlier run",
        frame=backend.frames.get(header.frame_id),
        receipt=load_receipt(backend, job.id, header.round),
    )


def _unclaimable(backend: Backend, job: JobRecord) -> Outcome:
    lease = backend.leases.get(job.header.resource)
    if lease is not None:
        return Outcome(status="leased", job=job.header, reason=f"{lease.holder} holds the job's lease")
    return Outcome(status="not_due", job=job.header, reason="the job's time has not come")
