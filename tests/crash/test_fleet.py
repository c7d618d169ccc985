"""Many workers on one file, of which some are killed and some are stopped, at random."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from attrs import define, field

from nodeagent import Backend, JobIndex

if TYPE_CHECKING:
    from tests.crash.conftest import Stage

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs the signals of POSIX")

LEASE = 1_000
Process = subprocess.Popen[bytes]


@define(eq=False)
class Fleet:
    """Worker processes, and the mishaps that befall them: which, when and whom is the seed's choice."""

    stage: Stage
    size: int
    jobs: int
    chance: random.Random
    backend: Backend
    workers: list[Process] = field(factory=list)
    stopped: dict[int, float] = field(factory=dict)
    born: dict[int, int] = field(factory=dict)
    paused: set[int] = field(factory=set)

    def start(self) -> None:
        """Start a worker."""
        process = self.stage.start(
            until_idle=False,
            app={"work_ms": 20},  # long enough that no worker claims ahead, so that everybody gets a share
            worker={"lease_ms": LEASE, "concurrency": 2, "poll_ms": 200, "grace_ms": 10_000},
        )
        self.workers.append(process)

    @property
    def finished(self) -> int:
        """How many jobs are finished, as the store has it: who finished one may have died before it could say so."""
        return len(self.backend.jobs.list(JobIndex.by_status("completed"), None, 1_000).items)

    @property
    def ready(self) -> set[int]:
        """Who has begun to work."""
        return {int(pid) for (pid,) in self.stage.lines("ready")}

    def until_ready(self) -> None:
        """Wait until every worker has begun to work."""
        self.stage.until(lambda: {worker.pid for worker in self.workers} <= self.ready, "the workers")

    def work(self, mishaps: int) -> None:
        """Let them work until all jobs are finished, and spread the mishaps over the first four fifths."""
        at = sorted(self.chance.uniform(0, 0.8) * self.jobs for _ in range(mishaps))
        kinds = [self._kill, self._pause] * mishaps
        end = time.monotonic() + 240
        while (finished := self.finished) < self.jobs:
            assert time.monotonic() < end, f"{finished} of {self.jobs} jobs after four minutes"
            for pid in self.ready:
                self.born.setdefault(pid, finished)
            self._continue_those_until(time.monotonic())
            while at and finished >= at[0]:
                kinds[len(at)](self.chance.choice(self.workers))
                del at[0]
            time.sleep(0.01)
        self._continue_those_until(math.inf)

    def end(self) -> list[int]:
        """Tell the survivors to stop, and return how they ended."""
        self.until_ready()
        for worker in self.workers:
            worker.terminate()
        return [self.stage.end_of(worker) for worker in self.workers]

    def _pause(self, victim: Process) -> None:
        if len(self.stopped) == self.size - 1:  # somebody has to work
            self._continue_those_until(math.inf)
        os.kill(victim.pid, signal.SIGSTOP)
        self.paused.add(victim.pid)
        self.stopped[victim.pid] = time.monotonic() + self.chance.choice((0.2, 1.5)) * LEASE / 1000

    def _kill(self, victim: Process) -> None:
        victim.kill()
        assert self.stage.end_of(victim) == -signal.SIGKILL
        self.workers.remove(victim)
        self.stopped.pop(victim.pid, None)
        self.start()

    def _continue_those_until(self, now: float) -> None:
        for pid, until in list(self.stopped.items()):
            if until <= now:
                os.kill(pid, signal.SIGCONT)
                del self.stopped[pid]


def _run(stage: Stage, size: int, seed: int, *, jobs: int, mishaps: int) -> None:
    names = [f"job-{number:03}" for number in range(jobs)]
    with stage.program.open_store(stage.folder) as backend:
        fleet = Fleet(stage, size, jobs, random.Random(seed), backend)  # noqa: S311 - repeatable, not secret
        for _ in range(size):
            fleet.start()
        fleet.until_ready()
        stage.enqueue(*names)
        fleet.work(mishaps)

    assert fleet.end() == [0] * size, stage.errors
    stage.check(*names)
    finished = {int(pid) for pid, _ in stage.lines("finished")}
    witnesses = {worker.pid for worker in fleet.workers if fleet.born.get(worker.pid, jobs) < jobs // 2}
    assert witnesses - finished <= fleet.paused, "who saw half of the jobs finished has finished some"


@pytest.mark.parametrize(("size", "seed"), [(2, 1), (4, 2), (8, 3)])
def test_every_job_is_finished_once_whatever_befalls_its_workers(stage: Stage, size: int, seed: int) -> None:
    """One receipt a job, no step twice under one claim or after it was recorded, and nobody starves."""
    _run(stage, size, seed, jobs=200, mishaps=8)


@pytest.mark.full
@pytest.mark.parametrize("seed", range(11, 16))
@pytest.mark.parametrize("size", [2, 4, 8])
def test_the_same_with_five_hundred_jobs(stage: Stage, size: int, seed: int) -> None:
    """For longer, with more of everything."""
    _run(stage, size, seed, jobs=500, mishaps=30)
