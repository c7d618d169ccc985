"""An application with an open backend: enqueue, run, wait, and the verbs of people."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from attrs import frozen

from nodeagent.clock import Clock, HostClock
from nodeagent.errors import (
    BackendError,
    Conflict,
    NodeAgentError,
    NotFound,
    OutcomeUnknown,
    PortError,
    Unavailable,
)
from nodeagent.records.commit import Commit, Committed
from nodeagent.records.ids import Ms
from nodeagent.records.job import JobHeader, JobRecord
from nodeagent.records.lease import OneJob
from nodeagent.rules import jobs
from nodeagent.rules.specs import FrameRequest, lane_of
from nodeagent.runtime.events import Observers
from nodeagent.runtime.frames import run_durable_reasoning_frame
from nodeagent.runtime.hints import listen, notify
from nodeagent.runtime.ids import new_id
from nodeagent.runtime.insist import insist
from nodeagent.runtime.outcome import Outcome
from nodeagent.runtime.receipts import load_receipt
from nodeagent.runtime.worker import Worker, WorkerOptions

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.config import Config
    from nodeagent.runtime.app import App

PATIENCE_SECONDS = 30.0
WAIT_POLL_SECONDS = 1.0
MAX_RACES = 100


@frozen(kw_only=True)
class Enqueued:
    """The answer to enqueue: the stored job, and whether it was there before (``duplicate``)."""

    job: JobHeader
    duplicate: bool


def open_runtime(
    app: App,
    config: Config | str | Path | None,
    *,
    backend: Backend | None = None,
    clock: Clock | None = None,
) -> Runtime:
    """Open the backend of a configuration and return the runtime on it; see :meth:`App.open`."""
    from nodeagent.backend import open_backend  # noqa: PLC0415 - only where a backend is opened
    from nodeagent.config import Config, load  # noqa: PLC0415

    if backend is not None:
        return Runtime(app, backend, clock=clock)
    loaded = config if isinstance(config, Config) else load(None if config is None else Path(config))
    opened = open_backend(loaded, clock=clock)
    options = WorkerOptions(
        concurrency=loaded.worker.concurrency, lease_ms=loaded.worker.lease_ms, poll_ms=loaded.worker.poll_ms
    )
    return Runtime(
        app,
        opened,
        clock=clock,
        options=options,
        by_tenant=loaded.worker.lane_by_tenant,
        observers=_configured_observers(loaded),
        owns_backend=True,
    )


def _configured_observers(config: Config) -> Observers:
    """Return the extensions that the configuration names as observers."""
    from nodeagent.extensions import Observers as Named  # noqa: PLC0415 - only where there is one
    from nodeagent.plugins import load_extension  # noqa: PLC0415

    named = tuple((name, load_extension(name).observe) for name in config.observers)
    return Observers(Named(named)) if named else Observers()


class Runtime:
    """An application's runtime. Used by many threads; close it, or use it as a context manager."""

    def __init__(
        self,
        app: App,
        backend: Backend,
        *,
        clock: Clock | None = None,
        options: WorkerOptions | None = None,
        by_tenant: bool = False,
        observers: Observers | None = None,
        owns_backend: bool = False,
    ) -> None:
        self.app = app
        self.backend = backend
        self.observers = observers or Observers()
        self.options = options or WorkerOptions()
        self._clock = clock or HostClock()
        self._by_tenant = by_tenant
        self._owns_backend = owns_backend
        self._own_worker: Worker | None = None
        self._lock = threading.Lock()

    # -- enqueue -------------------------------------------------------------------------------------

    def enqueue(self, request: FrameRequest, *, job_id: str | None = None) -> Enqueued:
        """Store a frame and its job in one commit, durably.

        With a ``job_id`` it is idempotent until the job is purged: an equal request returns the stored job.

        Raises:
            Conflict: another request is stored under this id; it is not touched.
            NotLossless: the input cannot be stored.

        """
        result = self.enqueue_many([(job_id, request)])[0]
        if isinstance(result, NodeAgentError):
            raise result
        return result

    def enqueue_many(self, requests: Iterable[tuple[str | None, FrameRequest]]) -> Sequence[Enqueued | NodeAgentError]:
        """Enqueue many, each on its own; answers in order, a refusal in the place of its request."""
        now = self.backend.now()
        drafts = [self._draft(request, new_id() if job_id is None else job_id, now) for job_id, request in requests]
        commits = [draft for draft in drafts if isinstance(draft, Commit)]
        until = self._clock.monotonic() + PATIENCE_SECONDS
        answers = self.backend.transactions.commit_many(commits) if commits else ()
        results = iter([self._enqueued(c, a, until) for c, a in zip(commits, answers, strict=True)])
        return [next(results) if isinstance(draft, Commit) else draft for draft in drafts]

    def _draft(self, request: FrameRequest, job_id: str, now: Ms) -> Commit | NodeAgentError:
        try:
            return jobs.enqueue(
                request, job_id=job_id, frame_id=job_id, commit_id=new_id(), now=now, by_tenant=self._by_tenant
            )
        except NodeAgentError as error:
            return error

    def _enqueued(
        self, commit: Commit, answer: Committed | PortError | BackendError, until: float
    ) -> Enqueued | PortError | BackendError:
        if isinstance(answer, Unavailable | OutcomeUnknown):
            answer = self._again(commit, until)
        job, _ = jobs.enqueued_records(commit)
        if isinstance(answer, Committed):
            notify(self.backend, commit)
            self.observers.emit("job.enqueued", job.id, runner=job.header.runner)
            # Also where the store calls it a duplicate: of this very commit, whose first answer was lost.
            return Enqueued(job=job.header, duplicate=False)
        return _duplicate(job, answer) if isinstance(answer, PortError) else answer

    def _again(self, commit: Commit, until: float) -> Committed | PortError | BackendError:
        """Send the same commit again: its id tells the store whether it was applied."""
        try:
            return self._insist(commit, until)
        except (PortError, BackendError) as error:
            return error

    # -- run and wait --------------------------------------------------------------------------------

    def run(self, request: FrameRequest, *, job_id: str | None = None) -> Outcome:
        """Enqueue and work on the job here until it has ended, retries included."""
        enqueued = self.enqueue(request, job_id=job_id)
        return self.finish(enqueued.job.id)

    def finish(self, job_id: str) -> Outcome:
        """Work on a stored job here, or wait for whoever does, until it has ended or was suspended."""
        while True:
            outcome = run_durable_reasoning_frame(job_id, self._worker())
            if outcome.status not in ("rescheduled", "not_due", "leased"):
                return outcome
            self._sleep_until_due(job_id)

    def wait(self, job_id: str, timeout: float | None = None) -> JobHeader:
        """Return the job's header once it has ended, or as it stands after ``timeout`` seconds.

        Raises:
            NotFound: there is no such job.

        """
        until = None if timeout is None else self._clock.monotonic() + timeout
        changed = threading.Event()
        subscription = listen(self.backend, [jobs.job_topic(job_id)], changed.set)
        try:
            while True:
                changed.clear()
                header = self.job(job_id).header
                left = WAIT_POLL_SECONDS if until is None else min(until - self._clock.monotonic(), WAIT_POLL_SECONDS)
                if header.status not in ("queued", "running") or left <= 0:
                    return header
                self._clock.wait(changed, left)
        finally:
            if subscription is not None:
                subscription.close()

    def worker(self, *, queues: Sequence[str] = ("default",), tenants: Sequence[str] = ("default",)) -> Worker:
        """Return a worker for the lanes of this application's runners."""
        by_tenant: Sequence[str | None] = tenants if self._by_tenant else (None,)
        lanes = [lane_of(q, runner, t) for q in queues for runner in sorted(self.app.runners) for t in by_tenant]
        return Worker(
            self.backend,
            self.app.runners,
            lanes=lanes,
            options=self.options,
            clock=self._clock,
            observers=self.observers,
        )

    # -- the verbs of people -------------------------------------------------------------------------

    def job(self, job_id: str) -> JobRecord:
        """Return a stored job. Raises :class:`NotFound`."""
        job = self.backend.jobs.get(job_id)
        if job is None:
            raise NotFound(f"there is no job {job_id!r}; it was never enqueued here, or it was purged")
        return job

    def cancel(self, job_id: str) -> JobHeader:
        """End a queued, parked or running job for good; whoever runs it can write nothing more."""
        return self._change(job_id, lambda job: jobs.cancel(job, commit_id=new_id(), now=self.backend.now()))

    def retry(self, job_id: str, *, round: int | None = None) -> JobHeader:  # noqa: A002 - the record's word
        """Give a failed job another round. ``round`` names the one that the caller has seen (None: the latest)."""
        number = self.job(job_id).header.round if round is None else round
        return self._change(job_id, lambda job: jobs.retry(job, round=number, commit_id=new_id()))

    def unblock(self, job_id: str, *, round: int | None = None) -> JobHeader:  # noqa: A002 - the record's word
        """Give a blocked job another round. ``round`` names the one that the caller has seen (None: the latest)."""
        number = self.job(job_id).header.round if round is None else round
        return self._change(job_id, lambda job: jobs.unblock(job, round=number, commit_id=new_id()))

    def receipt(self, job_id: str, *, round: int | None = None) -> bytes:  # noqa: A002 - the record's word
        """Return the stored receipt of a round (default: the latest that has one), byte for byte."""
        latest = self.job(job_id).header.round
        rounds = [round] if round is not None else range(latest, 0, -1)
        for number in rounds:
            if (receipt := load_receipt(self.backend, job_id, number)) is not None:
                return receipt
        raise NotFound(
            f"job {job_id!r} has no receipt{' yet' if round is None else f' of round {round}'}; see its status"
        )

    def close(self) -> None:
        """Stop heartbeats, and close the backend if this runtime opened it."""
        if self._own_worker is not None:
            self._own_worker.close()
        if self._owns_backend:
            self.backend.close()

    def __enter__(self) -> Self:
        """Return this runtime."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close this runtime."""
        self.close()

    def _change(self, job_id: str, decide: Any) -> JobHeader:
        for _ in range(MAX_RACES):
            commit: Commit = decide(self.job(job_id))
            try:
                self._insist(commit, self._clock.monotonic() + PATIENCE_SECONDS)
            except Conflict:
                continue  # somebody, a claim perhaps, was faster: look again and decide anew
            notify(self.backend, commit)
            return self.job(job_id).header
        raise Conflict("revision", job_id)

    def _insist(self, commit: Commit, until: float) -> Committed:
        return insist(lambda: self.backend.transactions.commit(commit), self._clock, until)

    def _worker(self) -> Worker:
        with self._lock:
            if self._own_worker is None:
                self._own_worker = Worker(
                    self.backend,
                    self.app.runners,
                    options=self.options,
                    clock=self._clock,
                    observers=self.observers,
                )
            return self._own_worker

    def _sleep_until_due(self, job_id: str) -> None:
        peek = self.backend.scheduler.peek(OneJob(job_id))
        if peek.jobs:
            return
        due = WAIT_POLL_SECONDS if peek.next_due is None else (peek.next_due - peek.now) / 1000
        self.wait(job_id, min(max(due, 0.001), WAIT_POLL_SECONDS))


def _duplicate(job: JobRecord, answer: PortError) -> Enqueued | PortError:
    found = answer.found if isinstance(answer, Conflict) and answer.kind == "exists" else None
    if not isinstance(found, JobHeader) or found.id != job.id:
        return answer
    if found.spec_digest == job.header.spec_digest:
        return Enqueued(job=found, duplicate=True)
    message = (
        f"job {job.id!r} is stored with another request, which was not touched; repeat that request exactly,"
        " or choose another id"
    )
    return Conflict("exists", job.id, found=found, message=message)
