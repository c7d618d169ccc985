"""Real processes on one SQLite file: start them, kill them, stop them, and look at what they left."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from attrs import define, field

from nodeagent import Backend, Entry, HostClock, JobIndex, JobRecord, JobStatus, Runtime, Seq
from nodeagent.lossless import decode
from nodeagent.rules import jobs
from nodeagent.testing import ManualClock

PROGRAM: Final = Path(__file__).with_name("program.py")
PATIENCE: Final = 60.0
"""Real seconds after which a test gives up on a process."""


def _load_program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("nodeagent_crash_program", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@define(eq=False)
class Stage:
    """A folder with a store, the processes that work in it, and what they left there."""

    folder: Path
    program: Any
    _processes: list[subprocess.Popen[bytes]] = field(factory=list)

    # -- processes

    def start(self, **options: Any) -> subprocess.Popen[bytes]:
        """Start a process."""
        command = [sys.executable, str(PROGRAM), str(self.folder), json.dumps(options)]
        with (self.folder / "errors").open("ab") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors)
        self._processes.append(process)
        return process

    def end_of(self, process: subprocess.Popen[bytes]) -> int:
        """Wait until a process has ended, and return its code: negative if a signal ended it."""
        return process.wait(PATIENCE)

    def stopped(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait until a process has stopped itself, and return True; False if it ended instead."""
        found = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert found is not None
        return found.si_code == os.CLD_STOPPED

    def until(self, is_so: Callable[[], object], what: str) -> None:
        """Look again and again until it is so."""
        end = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > end:
                raise TimeoutError(f"waited for {what}; the processes said: {self.errors}")
            time.sleep(0.005)

    def go_on(self, *, later_ms: int = 600_000) -> None:
        """Work here, in another process than those that died, on a store's clock at which their leases are over."""
        clock = ManualClock(HostClock().now() + later_ms)
        with self.program.open_store(self.folder, clock) as backend:
            runtime = Runtime(self.program.make_app(self.folder), backend)
            runtime.worker().run(until_idle=True, max_wait_ms=0)

    def enqueue(self, *names: str, **changes: Any) -> None:
        """Enqueue jobs under these names, unless they are."""
        with self.program.open_store(self.folder) as backend:
            runtime = Runtime(self.program.make_app(self.folder), backend)
            runtime.enqueue_many([(name, self.program.request(**changes)) for name in names])

    def close(self) -> None:
        """End every process that a failed test has left."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait(PATIENCE)

    # -- what they left

    @property
    def errors(self) -> str:
        """What the processes said."""
        file = self.folder / "errors"
        return file.read_text() if file.exists() else ""

    def lines(self, name: str) -> list[list[str]]:
        """Return the lines of a file, as words."""
        file = self.folder / name
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def look(self, read: Callable[[Backend], Any]) -> Any:
        """Read from the store."""
        with self.program.open_store(self.folder) as backend:
            return read(backend)

    def steps(self, job: str) -> tuple[Entry, ...]:
        """Return the recorded steps of a job."""
        return self.look(lambda backend: backend.journal.read(jobs.steps_scope(job), Seq(0), 100).items)  # type: ignore[no-any-return]

    def count(self, status: JobStatus) -> int:
        """Count the jobs of a status."""
        return self.look(lambda backend: len(backend.jobs.list(JobIndex.by_status(status), None, 1_000).items))  # type: ignore[no-any-return]

    def job(self, name: str) -> JobRecord | None:
        """Return a job, None if it was never stored."""
        return self.look(lambda backend: backend.jobs.get(name))  # type: ignore[no-any-return]

    def check(self, *names: str) -> None:
        """Say that every job was finished once, and that no process did what it might not."""
        with self.program.open_store(self.folder) as backend:
            for name in names:
                self._check_job(backend, name)
        database = sqlite3.connect(self.folder / "nodeagent.db")
        try:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        finally:
            database.close()

    def _check_job(self, backend: Backend, name: str) -> None:
        job = backend.jobs.get(name)
        assert job is not None
        steps = backend.journal.read(jobs.steps_scope(name), Seq(0), 100).items
        receipts = backend.journal.read(jobs.receipts_scope(name), Seq(0), 100).items
        audit = backend.journal.read(jobs.audit_scope(name), Seq(0), 10_000).items
        verbs: list[str] = [decode(entry.value.data)["verb"] for entry in audit]  # type: ignore[union-attr,call-overload,index,misc]
        effects = [(step, int(token)) for job_id, step, token, _ in self.lines("effects") if job_id == name]
        recorded = {entry.key[0]: entry.token for entry in steps}
        tokens = [entry.token for entry in (*steps, *receipts)]

        assert job.header.status == "completed", (job.header, self.errors)
        assert backend.leases.get(("job", name)) is None
        assert [entry.key for entry in receipts] == [("1",)]
        assert [entry.key[0] for entry in steps] == list(self.program.STEPS)
        assert tokens == sorted(tokens)
        assert (verbs[0], verbs[-1], verbs.count("finish")) == ("enqueue", "finish", 1)
        # Whoever claims after a step was recorded replays it; and under one claim nothing is done twice.
        assert not [effect for effect in effects if effect[1] > recorded[effect[0]]]
        assert max(Counter(effects).values()) == 1
        assert {step for step, _ in effects} == set(self.program.STEPS)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """An empty folder."""
    made = Stage(tmp_path, _load_program())
    yield made
    made.close()
