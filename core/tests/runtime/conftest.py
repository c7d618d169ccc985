"""An application on the memory provider, with a clock to turn by hand and ports to tamper with."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, ClassVar, Final, TypeVar, cast

import pytest
from attrs import define, field

from nodeagent import (
    Answer,
    App,
    Backend,
    Claim,
    Clock,
    Deliverable,
    Entry,
    Event,
    Evidence,
    FrameRequest,
    JobHeader,
    JobRecord,
    OneJob,
    Outcome,
    RetryPolicy,
    Runtime,
    Seq,
    Statement,
    Worker,
    WorkerOptions,
    open_provider,
    run_durable_reasoning_frame,
)
from nodeagent.lossless import decode
from nodeagent.rules import jobs
from nodeagent.rules.specs import lane_of
from nodeagent.runtime.events import Observers
from nodeagent.runtime.runners import Runner
from nodeagent.testing import ManualClock

T = TypeVar("T")
R = TypeVar("R", bound=Runner)
Tamper = Callable[..., Any]

LEASE: Final = 60_000
PATIENCE: Final = 20.0
"""Real seconds after which a test gives up on another thread."""
_names: Final = itertools.count(1)


class Tap:
    """A backend of which some calls go through functions of the test.

    ``Tap(backend, {"transactions.commit": tamper})`` calls ``tamper(call, *arguments)`` instead, where
    ``call`` makes the call. Everything else is the backend's own.
    """

    def __init__(self, backend: Backend, tampers: dict[str, Tamper]) -> None:
        self._backend = backend
        self._tampers = tampers

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._backend, name)
        tampers = {tuple(key.split(".")): tamper for key, tamper in self._tampers.items()}
        own = {key[-1]: tamper for key, tamper in tampers.items() if key[0] == name}
        if name in own:
            return lambda *args: own[name](found, *args)
        return _TappedPort(found, own) if own else found


class _TappedPort:
    def __init__(self, port: Any, tampers: dict[str, Tamper]) -> None:
        self._port = port
        self._tampers = tampers

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        tamper = self._tampers.get(name)
        return method if tamper is None else lambda *args: tamper(method, *args)


@define(eq=False)
class Lab:
    """One namespace, one application, and the words of the tests."""

    at_once: ClassVar = RetryPolicy(initial_ms=0)

    clock: ManualClock
    backend: Backend
    app: App
    events: list[Event] = field(factory=list)
    _changed: threading.Condition = field(factory=threading.Condition)
    _workers: list[Worker] = field(factory=list)
    _threads: list[threading.Thread] = field(factory=list)

    # -- what is asked for and answered

    @staticmethod
    def answer(text: str = "It is so.", **changes: Any) -> Answer:
        """Return an answer that completes a frame."""
        grounds: dict[str, Any] = {
            "confidence": "high",
            "statements": (Statement(text=text, citations=("e",)),),
            "evidence": (Evidence(id="e", source="a.md", quote="so", line=1),),
        }
        return Answer(**(grounds | changes))

    @staticmethod
    def memo(text: str = "memo") -> Deliverable:
        """Return a deliverable."""
        return Deliverable(data=text.encode())

    @staticmethod
    def request(**changes: Any) -> FrameRequest:
        """Return a request for the runner ``work``."""
        return FrameRequest(**({"goal": "Is it so?", "runner": "work"} | changes))

    def runner(self, function: R, name: str = "work") -> R:
        """Register a runner."""
        return self.app.runner(name)(function)

    def enqueue(self, job_id: str | None = None, **changes: Any) -> str:
        """Enqueue a job and return its id."""
        return self.runtime().enqueue(self.request(**changes), job_id=job_id).job.id

    # -- who works

    def runtime(self, backend: Backend | None = None) -> Runtime:
        """Return a runtime of the application."""
        return Runtime(self.app, backend or self.backend, clock=self.clock, observers=Observers(self._observe))

    def tap(self, **tampers: Tamper) -> Backend:
        """Return the backend with tampered calls: ``transactions_commit=…``, ``now=…``."""
        return cast("Backend", Tap(self.backend, {k.replace("_", ".", 1): t for k, t in tampers.items()}))

    def worker(
        self,
        backend: Backend | None = None,
        *,
        lanes: Sequence[str] | None = None,
        clock: Clock | None = None,
        **options: Any,
    ) -> Worker:
        """Return a worker for the lanes of the application's runners, which goes by the lab's clock."""
        chosen = WorkerOptions(**({"lease_ms": LEASE, "concurrency": 1} | options))
        worker = Worker(
            backend or self.backend,
            self.app.runners,
            lanes=[lane_of("default", name) for name in self.app.runners] if lanes is None else lanes,
            options=chosen,
            clock=clock or self.clock,
            observers=Observers(self._observe),
        )
        self._workers.append(worker)
        return worker

    def run(self, job_id: str, worker: Worker | None = None) -> Outcome:
        """Work on one job, here."""
        return run_durable_reasoning_frame(job_id, worker or self.worker())

    def drain(self, **options: Any) -> None:
        """Work on all that is due now."""
        self.worker(**options).run(until_idle=True, max_wait_ms=0)

    def steal(self, job_id: str, *, after: int = LEASE) -> Claim:
        """Let the lease run out and claim the job as somebody else."""
        self.clock.advance(after)
        want = OneJob(job_id)
        (claim,) = self.backend.scheduler.claim(want, "thief", LEASE, f"theft {next(_names)}").claims
        return claim

    def thread(self, deed: Callable[[], T]) -> Future[T]:
        """Do it on a thread of its own."""
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(deed())
            except BaseException as error:  # noqa: BLE001 - the test looks at it
                done.set_exception(error)

        thread = threading.Thread(target=run, name="test", daemon=True)
        self._threads.append(thread)
        thread.start()
        return done

    def fast_forward(self, done: Future[Any], step_ms: int) -> None:
        """Let time pass in steps until it is done; slowly enough for everybody to keep up."""
        while not wait([done], timeout=0.002).done:
            self.clock.advance(step_ms)

    @contextmanager
    def working(self, worker: Worker | None = None) -> Iterator[Worker]:
        """Let a worker run in the background, and stop it at the end."""
        running = worker or self.worker()
        done = self.thread(running.run)
        yield running
        running.stop()
        done.result(PATIENCE)

    def until(self, *names: str, count: int = 1) -> None:
        """Return when one of these events was seen ``count`` times."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.seen(*names) >= count, PATIENCE):
                raise TimeoutError(f"waited for {names}, saw {[event.name for event in self.events]}")

    def seen(self, *names: str) -> int:
        """Count events."""
        return sum(event.name in names for event in self.events)

    # -- what is stored

    def job(self, job_id: str) -> JobRecord:
        """Return a stored job."""
        found = self.backend.jobs.get(job_id)
        assert found is not None
        return found

    def header(self, job_id: str) -> JobHeader:
        """Return a stored job's header."""
        return self.job(job_id).header

    def steps(self, job_id: str) -> tuple[Entry, ...]:
        """Return the recorded steps."""
        return self.backend.journal.read(jobs.steps_scope(job_id), Seq(0), 10_000).items

    def keys(self, job_id: str) -> list[str]:
        """Return the names of the recorded steps."""
        return ["/".join(entry.key) for entry in self.steps(job_id)]

    def receipts(self, job_id: str) -> tuple[Entry, ...]:
        """Return the entries of the receipts."""
        return self.backend.journal.read(jobs.receipts_scope(job_id), Seq(0), 100).items

    def receipt(self, job_id: str, **which: Any) -> dict[str, Any]:
        """Return a decoded receipt."""
        return cast("dict[str, Any]", decode(self.runtime().receipt(job_id, **which)))

    def audit(self, job_id: str) -> list[str]:
        """Return the verbs of a job's audit trail."""
        entries = self.backend.journal.read(jobs.audit_scope(job_id), Seq(0), 1_000).items
        return [cast("Any", decode(cast("Any", entry.value).data))["verb"] for entry in entries]

    # -- the end

    def close(self) -> None:
        """Stop whatever a failed test has left running."""
        for worker in self._workers:
            worker.stop()
        for thread in self._threads:
            thread.join(PATIENCE)
        for worker in self._workers:
            worker.close()
        self.backend.close()

    def _observe(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()


@pytest.fixture
def lab() -> Iterator[Lab]:
    """A fresh namespace of the memory provider."""
    clock = ManualClock()
    made = Lab(clock, open_provider("memory", {"store": f"runtime {next(_names)}"}, clock=clock), App())
    yield made
    made.close()
