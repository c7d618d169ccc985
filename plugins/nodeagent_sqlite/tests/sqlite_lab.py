"""A store, and the records that tests write to it; processes that tests start import it too."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

import nodeagent_sqlite as provider
from nodeagent import (
    ArtifactStore,
    At,
    Claim,
    Clock,
    Commit,
    Entry,
    FrameHeader,
    FrameRecord,
    FrameStore,
    Held,
    Inline,
    JobHeader,
    JobRecord,
    JobStore,
    Lanes,
    LeaseStore,
    Maintenance,
    Ms,
    Put,
    Release,
    RunStore,
    Scheduler,
    Shared,
    StepJournal,
    Transactions,
    Unavailable,
    Wakeups,
    WriteOnce,
)
from nodeagent_sqlite.connection import SqliteConnection, own

LANE = "mail"
_numbers = itertools.count(1)


@frozen(kw_only=True)
class Store:
    """One connection and every port of it, with the few commits that most tests begin with."""

    connection: SqliteConnection
    path: Path
    transactions: Transactions = field(init=False)
    leases: LeaseStore = field(init=False)
    journal: StepJournal = field(init=False)
    scheduler: Scheduler = field(init=False)
    jobs: JobStore = field(init=False)
    frames: FrameStore = field(init=False)
    runs: RunStore = field(init=False)
    artifacts: ArtifactStore = field(init=False)
    wakeups: Wakeups = field(init=False)
    maintenance: Maintenance = field(init=False)

    def __attrs_post_init__(self) -> None:
        ports = {
            "transactions": provider.nodeagent_transactions,
            "leases": provider.nodeagent_lease_store,
            "journal": provider.nodeagent_step_journal,
            "scheduler": provider.nodeagent_scheduler,
            "jobs": provider.nodeagent_job_store,
            "frames": provider.nodeagent_frame_store,
            "runs": provider.nodeagent_run_store,
            "artifacts": provider.nodeagent_artifact_store,
            "wakeups": provider.nodeagent_wakeups,
            "maintenance": provider.nodeagent_maintenance,
        }
        for name, hook in ports.items():
            object.__setattr__(self, name, hook(connection=self.connection))

    def enqueue(self, job_id: str, **header: Any) -> None:
        """Store a job and its frame."""
        self.transactions.commit(enqueuing(job_id, **header))

    def claim(self, lane: str = LANE, *, ttl_ms: int = 60_000) -> Claim:
        """Claim the next job of a lane; there must be one."""
        wanted = Lanes(names=(lane,))
        (claim,) = self.scheduler.claim(wanted, "test", ttl_ms, fresh("claim")).claims
        return claim

    def held(self, job_id: str = "j1") -> Claim:
        """Store a job and claim it."""
        self.enqueue(job_id, lane=job_id)
        return self.claim(job_id)


def fresh(word: str) -> str:
    """Return an id that no other test of this process has."""
    return f"{word}-{os.getpid()}-{next(_numbers)}"


def job_of(job_id: str, **header: Any) -> JobRecord:
    """Return a job that is due, in a lane of its own choice."""
    spec = f"spec of {job_id}".encode()
    columns: dict[str, Any] = {
        "id": job_id,
        "spec_digest": hashlib.sha256(spec).hexdigest(),
        "created_at": Ms(1),
        "lane": LANE,
        "queue": "default",
        "runner": "mail",
        "tenant": "acme",
        "run_after": At(Ms(0)),
        "frame_id": f"frame of {job_id}",
    }
    return JobRecord(header=JobHeader(**columns | header), spec=spec, state=b"{}")


def frame_of(job_id: str) -> FrameRecord:
    """Return the frame of a job."""
    spec = f"goal of {job_id}".encode()
    header = FrameHeader(
        id=f"frame of {job_id}",
        owner=("job", job_id),
        spec_digest=hashlib.sha256(spec).hexdigest(),
        created_at=Ms(1),
    )
    return FrameRecord(header=header, spec=spec, state=b"{}")


def entry(key: str, data: bytes = b"1") -> Entry:
    """Return an entry with a value of its own."""
    return Entry(key=(key,), kind="test", value=Inline(data))


def audit(job_id: str, commit_id: str) -> WriteOnce:
    """Return the entry that anchors a commit."""
    return WriteOnce(Shared(("job", job_id), "audit"), entry(commit_id))


def enqueuing(job_id: str, **header: Any) -> Commit:
    """Return the commit that stores a job and its frame."""
    commit_id = fresh("enqueue")
    job, frame = job_of(job_id, **header), frame_of(job_id)
    return Commit.unfenced(commit_id, Put(None, job), Put(None, frame), audit(job_id, commit_id))


def steps_of(job_id: str) -> Held:
    """Return the scope of a job's steps."""
    return Held(("job", job_id), "steps")


def step(claim: Claim, key: str, data: bytes = b"1", *, commit_id: str | None = None) -> Commit:
    """Return the commit of one durable step."""
    once = WriteOnce(steps_of(claim.job.id), entry(key, data))
    return Commit.fenced(commit_id or fresh("step"), claim.lease.fence, once)


def finishing(claim: Claim, *, ended_at: int = 5) -> Commit:
    """Return the commit that ends a job and its lease."""
    commit_id = fresh("finish")
    header = evolve(claim.job.header, status="completed", run_after=None, ended_at=Ms(ended_at))
    after = evolve(claim.job, header=header)
    return Commit.fenced(
        commit_id,
        claim.lease.fence,
        audit(claim.job.id, commit_id),
        Put(claim.job, after),
        Release(),
    )


class Gathered:
    """Holds the writer back until a number of callers wait, then lets them go together."""

    def __init__(self, store: Store) -> None:
        self._database = store.connection.database
        self._lead = threading.Event()
        self._go = threading.Event()
        self._leader = threading.Thread(target=self._lead_slowly)

    def _lead_slowly(self) -> None:
        with contextlib.suppress(Unavailable):
            self._database.write(self._wait)

    def _wait(self, _: sqlite3.Connection) -> None:
        self._lead.set()
        self._go.wait(30)

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return what each call returned or raised; all are performed in as few groups as can be."""
        self._leader.start()
        self._lead.wait(30)
        with ThreadPoolExecutor(len(calls)) as pool:
            futures = [pool.submit(call) for call in calls]
            while len(self._database._writer._queue) < len(calls):
                threading.Event().wait(0.001)
            self._go.set()
            self._leader.join(30)
            return [future.exception() or future.result() for future in futures]


def gathered(store: Store, calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Return what each call returned or raised, all made while the writer is held back."""
    return Gathered(store).run(calls)


def commits_seen(store: Store) -> list[str]:
    """Return a list to which every statement of the writing connection is added."""
    seen: list[str] = []
    database = store.connection.database
    database.write(lambda connection: connection.set_trace_callback(seen.append))
    return seen


def run_python(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Start a process that runs ``code``; it sees the same packages as this one."""
    folder = str(Path(__file__).parent)
    path = os.pathsep.join([folder, *sys.path])
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )


def finished(process: subprocess.Popen[str], *, within: float = 60) -> str:
    """Return what a process said; it must end well and in time."""
    out, err = process.communicate(timeout=within)
    assert process.returncode == 0, err
    return out


Opener = Callable[..., Store]


def open_store(
    path: Path,
    namespace: str = "test",
    *,
    clock: Clock | None = None,
    busy_timeout_ms: int = 30_000,
    ports: Sequence[str] = ("transactions",),
) -> Store:
    """Open a file."""
    settings = provider.SqliteSettings(path=str(path), busy_timeout_ms=busy_timeout_ms)
    connection = provider.nodeagent_connect(settings=settings, namespace=namespace, clock=clock, ports=ports)
    return Store(connection=own(connection), path=path)
