"""Working on one claimed job, from its claim to its leaving commit."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from attrs import evolve

from nodeagent.errors import BackendError, Conflict, Corrupt
from nodeagent.records.answer import Answer
from nodeagent.records.commit import Commit, Put
from nodeagent.records.job import FrameRecord, JobRecord
from nodeagent.rules import jobs
from nodeagent.rules.specs import Failure, FrameSpec, JobSpec, decode_frame_spec, decode_job_spec
from nodeagent.rules.verdict import Verdict, judge
from nodeagent.runtime.committer import Committer
from nodeagent.runtime.context import Recorder
from nodeagent.runtime.events import Observers
from nodeagent.runtime.failures import Suspended, failure_of, printable
from nodeagent.runtime.holding import Holding
from nodeagent.runtime.ids import new_id
from nodeagent.runtime.keeper import Keeper
from nodeagent.runtime.outcome import Outcome, OutcomeStatus
from nodeagent.runtime.receipts import store_receipt
from nodeagent.runtime.runners import Runner, call_runner
from nodeagent.runtime.steps import Steps

if TYPE_CHECKING:
    from nodeagent.backend import Backend

FIRST_CLAIM: Final = 2
"""The revision of a job at its very first claim: nobody can have recorded anything before."""
TIMED_OUT = Failure(kind="retryable", type="Timeout", message="the attempt took longer than its timeout")
EXPIRED = Failure(kind="retryable", type="LeaseExpired", message="the lease could not be renewed in time")


class Execution:
    """One attempt. Whatever happens, :meth:`run` returns an outcome, and the job is never left half-written."""

    def __init__(self, backend: Backend, runners: Mapping[str, Runner], keeper: Keeper, observers: Observers) -> None:
        self._backend = backend
        self._runners = runners
        self._keeper = keeper
        self._observers = observers

    def run(self, holding: Holding) -> Outcome:
        """Work on a claimed job and leave it. The lease is not renewed afterwards."""
        try:
            return self._run(holding)
        except Suspended:
            return self._abandoned(holding)
        except KeyboardInterrupt:
            self._leave_interrupted(holding)
            raise
        finally:
            self._keeper.drop(holding)

    def give_back(self, holding: Holding) -> Outcome:
        """Return a job that was not begun; the attempt does not count."""
        try:
            return self._give_back(holding)
        except Suspended:
            return self._abandoned(holding)
        finally:
            self._keeper.drop(holding)

    # -- the attempt ---------------------------------------------------------------------------------

    def _run(self, holding: Holding) -> Outcome:
        claim = holding.claim
        try:
            job, frame = decode_job_spec(claim.job.spec), decode_frame_spec(claim.frame.spec)
        except Corrupt as error:
            return self._finish_failed(holding, failure_of(error))
        if claim.job.header.attempts > job.max_attempts:
            return self._exhausted(holding, job)
        if claim.job.header.runner not in self._runners:
            return self._give_back(holding, f"no runner {claim.job.header.runner!r} is registered here")
        if holding.fate is not None:  # stopped, canceled or out of time before it began
            return self._give_back(holding)
        self._observers.emit("job.claimed", claim.job.id, attempt=claim.job.header.attempts)
        self._keeper.begin(holding, job.timeout_ms)
        try:
            answer = self._answer(holding, job, frame)
        except Suspended as error:
            return self._interrupted(holding, job, error)
        except BaseException as error:  # a runner may raise anything, SystemExit too
            if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise
            return self._after_failure(holding, job, failure_of(error))
        return self._conclude(holding, frame, answer)

    def _answer(self, holding: Holding, job: JobSpec, frame: FrameSpec) -> Answer:
        claim, recorder = holding.claim, self._recorder(holding)
        runner = self._runners[claim.job.header.runner]
        if claim.job.header.version.revision != FIRST_CLAIM:
            holding.insist(recorder.steps.load)
        try:
            answer = call_runner(runner, claim, job, frame, recorder)
        except BaseException as error:
            if holding.fate is not None and not isinstance(error, KeyboardInterrupt):
                raise Suspended from error
            raise
        if holding.fate is not None:
            raise Suspended
        recorder.steps.check_all_asked()
        return answer

    def _recorder(self, holding: Holding) -> Recorder:
        job = holding.claim.job
        steps = Steps(self._backend, jobs.steps_scope(job.id), round_token=jobs.state_of(job).round_token)
        committer = Committer(self._backend, holding)
        return Recorder(self._backend, holding, steps, committer, self._observers)

    # -- leaving -------------------------------------------------------------------------------------

    def _interrupted(self, holding: Holding, job: JobSpec, error: Suspended) -> Outcome:
        match holding.fate:
            case None:  # raised by the runner itself
                return self._after_failure(holding, job, failure_of(error))
            case "shutdown":
                return self._give_back(holding)
            case "timeout":
                return self._after_failure(holding, job, TIMED_OUT)
            case "expired":
                return self._after_failure(holding, job, EXPIRED)
            case _:
                return self._abandoned(holding)

    def _after_failure(self, holding: Holding, job: JobSpec, failure: Failure) -> Outcome:
        attempts = holding.claim.job.header.attempts
        if failure.kind != "retryable" or attempts >= job.max_attempts:
            return self._finish_failed(holding, failure)
        delay = job.retry.delay(attempts, random.random())  # noqa: S311 - jitter
        commit = jobs.reschedule(holding.claim, failure, delay=delay, commit_id=new_id())
        self._observers.emit("job.rescheduled", holding.claim.job.id, delay_ms=delay, failure=failure.type)
        return self._leave(holding, commit, "rescheduled", failure.message)

    def _exhausted(self, holding: Holding, job: JobSpec) -> Outcome:
        last = jobs.state_of(holding.claim.job).failure
        why = "the worker died or lost its lease each time" if last is None else f"{last.type}: {last.message}"
        reason = f"all {job.max_attempts} attempts were used up without an answer; the last failure: {why}"
        return self._finish(holding, Verdict(decision="failed", reason=reason), None, last)

    def _leave_interrupted(self, holding: Holding) -> None:
        try:
            self._give_back(holding)
        except Suspended:
            self._abandoned(holding)

    def _conclude(self, holding: Holding, frame: FrameSpec, answer: Answer) -> Outcome:
        """Finish with the runner's answer; one that cannot be judged or stored fails for good."""
        try:
            return self._finish(holding, judge(frame, answer), answer, None)
        except (BackendError, Conflict):
            raise
        except Exception as error:  # noqa: BLE001 - an answer may hold anything
            return self._finish_failed(holding, failure_of(error, kind="permanent"))

    def _finish_failed(self, holding: Holding, failure: Failure) -> Outcome:
        verdict = Verdict(decision="failed", reason=f"{failure.type}: {failure.message}")
        return self._finish(holding, verdict, None, failure)

    def _finish(self, holding: Holding, verdict: Verdict, answer: Answer | None, failure: Failure | None) -> Outcome:
        self._drain(holding)
        claim, verdict = holding.claim, evolve(verdict, reason=printable(verdict.reason))
        now = holding.insist(self._backend.now)
        receipt = holding.insist(lambda: store_receipt(self._backend, claim, verdict, answer, failure, now=now))
        commit = jobs.finish(
            claim,
            verdict,
            receipt=receipt.value,
            deliverables=receipt.deliverables,
            evidence=answer.evidence if answer else (),
            failure=failure,
            commit_id=new_id(),
            now=now,
        )
        outcome = self._leave(holding, commit, verdict.decision, verdict.reason)
        self._observers.emit("job.finished", claim.job.id, verdict=verdict.decision, reason=verdict.reason)
        return evolve(outcome, receipt=receipt.data)

    def _give_back(self, holding: Holding, reason: str = "the job was given back and goes on later") -> Outcome:
        commit = jobs.give_back(holding.claim, commit_id=new_id())
        self._observers.emit("job.given-back", holding.claim.job.id)
        return self._leave(holding, commit, "suspended", reason)

    def _leave(self, holding: Holding, commit: Commit, status: OutcomeStatus, reason: str) -> Outcome:
        self._drain(holding)
        Committer(self._backend, holding).leave(commit)
        job = next(w.after for w in commit.writes if isinstance(w, Put) and isinstance(w.after, JobRecord))
        frames = (w.after for w in commit.writes if isinstance(w, Put) and isinstance(w.after, FrameRecord))
        return Outcome(status=status, job=job.header, reason=reason, frame=next(frames, holding.claim.frame))

    def _drain(self, holding: Holding) -> None:
        """Let no body start any more, and wait for those that run; raise if the lease ends before they do."""
        holding.stop("leaving")
        if not holding.drained():
            raise Suspended

    def _abandoned(self, holding: Holding) -> Outcome:
        """Say what became of a job whose lease is gone: nothing is written."""
        holding.stop("lost")
        header = holding.claim.job.header
        try:
            found = self._backend.jobs.get(header.id)
        except BackendError:
            found = None
        self._observers.emit("job.abandoned", header.id)
        if found is not None and found.header.status == "canceled":
            return Outcome(status="canceled", job=found.header, reason="the job was canceled")
        reason = "the lease was lost, so nothing more was written; the job's next holder goes on from what is recorded"
        return Outcome(status="fenced", job=found.header if found else header, reason=reason)
