"""The story of the tour: a frame on SQLite whose worker is really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import define, field

from nodeagent.cli import demo
from nodeagent.cli.proofs import Broken, Proofs, expect
from nodeagent.rules.specs import FrameRequest

if TYPE_CHECKING:
    from nodeagent.runtime.client import Runtime

JOB: Final = "tour"
CONFIGURATION: Final = """app = "nodeagent.cli.demo:app"
backend = "main"
namespace = "tour"

[backends.main]
provider = "sqlite"
path = {path}

[worker]
lease_ms = 1000
poll_ms = 100
"""
FOLDER: Final = "documents"
PATIENCE_SECONDS: Final = 60.0
GLANCE_SECONDS: Final = 0.01


@define(kw_only=True)
class Tour:
    """One frame, two workers, one receipt, in an empty folder. Close it."""

    folder: Path
    receipt: bytes = b""
    token: int = 0
    workers: list[subprocess.Popen[bytes]] = field(factory=list)
    _opened: Runtime | None = field(default=None, init=False)

    @property
    def runtime(self) -> Runtime:
        """The runtime on the tour's store, after :meth:`prepare`."""
        assert self._opened is not None  # noqa: S101 - the first step opens it, and none follows a failed one
        return self._opened

    @property
    def log(self) -> Path:
        """Where the steps' bodies write down that they began: outside the store."""
        return self.folder / "bodies.log"

    @property
    def gate(self) -> Path:
        """What the second step waits for."""
        return self.folder / "gate"

    def take(self, proofs: Proofs) -> None:
        """Do one thing after the other, until one fails."""
        for name, body in self._story():
            if not proofs.prove(name, body):
                return

    def _story(self) -> Sequence[tuple[str, Callable[[], str]]]:
        """Return what happens, in order."""
        return (
            ("Three documents are written, and a store is configured: SQLite, one file.", self.prepare),
            ("A question is enqueued: it is stored before anybody works on it.", self.enqueue),
            ("A worker takes it, and is killed with SIGKILL in its second step of three.", self.kill),
            ("A second worker waits for the dead one's lease to run out, and goes on.", self.recover),
            ("What was recorded before the crash was not done again.", self.count),
            ("The same request once more: its receipt is replayed, nothing is executed.", self.repeat),
            ("Another process reads the receipt, byte for byte the same.", self.read_elsewhere),
            ("The answer cites its sources, and each quote stands there.", self.check),
        )

    def prepare(self) -> str:
        """Write the documents and the configuration, and open the store."""
        from nodeagent.cli.guide import toml
        from nodeagent.config import load

        demo.write_documents(self.folder / FOLDER)
        text = CONFIGURATION.format(path=toml(str(self.folder / "tour.db")))
        (self.folder / "nodeagent.toml").write_text(text, encoding="utf-8")
        self._opened = demo.app.open(load(self.folder, environ={}))
        return f"in {self.folder}"

    def enqueue(self) -> str:
        """Store the request."""
        header = self.runtime.enqueue(self._request(), job_id=JOB).job
        return f"“{demo.QUESTION}” is job {header.id!r}, {header.status}"

    def kill(self) -> str:
        """Start a worker and kill it while its second step runs."""
        worker = self._worker()
        self._wait(lambda: demo.PAUSE in demo.begun(self.log), worker)
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(PATIENCE_SECONDS)
        header = self.runtime.job(JOB).header
        self.token = header.token
        expect(header.status == "running", f"expected the job to be left running, found {header.status}")
        return f"process {worker.pid} is gone; step “read” is recorded, and its lease still holds token {self.token}"

    def recover(self) -> str:
        """Start a second worker and let it end the frame."""
        self.gate.touch()
        worker = self._worker()
        self._wait(lambda: worker.poll() is not None, worker)
        header = self.runtime.job(JOB).header
        expect(header.status == "completed", f"expected the job to be completed, found {header.status}")
        expect(header.token > self.token, f"expected a token above {self.token}, found {header.token}")
        self.receipt = self.runtime.receipt(JOB)
        attempts = f"attempt {header.attempts}"
        return f"{attempts} completed under token {header.token}; with token {self.token} nobody can write any more"

    def count(self) -> str:
        """Count the bodies that began."""
        begun = demo.begun(self.log)
        wanted = ["read", "check", "check", "answer"]
        expect(begun == wanted, f"expected the bodies {', '.join(wanted)}; these began: {', '.join(begun)}")
        return "“read” ran once and was replayed; “check”, killed half-way, ran again; “answer” ran once"

    def repeat(self) -> str:
        """Enqueue and run the same request again."""
        before = demo.begun(self.log)
        outcome = self.runtime.run(self._request(), job_id=JOB)
        expect(outcome.replayed, f"expected the outcome replayed, found {outcome.status}")
        expect(outcome.receipt == self.receipt, "the receipt is another one")
        expect(demo.begun(self.log) == before, "a step ran again")
        return f"{len(self.receipt):,} bytes, the same as before"

    def read_elsewhere(self) -> str:
        """Call `nodeagent receipt`."""
        done = subprocess.run(  # noqa: S603 - this very interpreter
            self._command("receipt", JOB, "--json"),
            cwd=self.folder,
            env=_environment(),
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        expect(done.returncode == 0, f"nodeagent receipt ended with code {done.returncode}")
        expect(done.stdout == self.receipt, "the other process printed other bytes")
        return f"nodeagent receipt {JOB}"

    def check(self) -> str:
        """Look the quotes up."""
        from nodeagent.cli.receipts import parsed

        receipt = parsed(self.receipt)
        expect(receipt["verdict"] == "completed", f"the verdict is {receipt['verdict']}: {receipt['reason']}")
        for item in receipt["evidence"]:
            text = (self.folder / item["source"]).read_text(encoding="utf-8")
            expect(item["quote"] in text, f"a quote of {item['source']} does not stand there")
        return f"{len(receipt['statements'])} statements, {len(receipt['evidence'])} quotes, verdict completed"

    def memo(self) -> str | None:
        """Return the memo for people, if there is one."""
        from nodeagent.cli.receipts import memo_text, parsed

        if not self.receipt:
            return None
        return memo_text(self.runtime.backend, parsed(self.receipt))

    def close(self) -> None:
        """End the workers that still run, and close the store."""
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
                worker.wait()
        if self._opened is not None:
            self._opened.close()

    # -- pieces --------------------------------------------------------------------------------------

    def _request(self) -> FrameRequest:
        given: dict[str, Any] = {
            "sources": [f"{FOLDER}/{name}" for name in demo.DOCUMENTS],
            "log": str(self.log),
            "gate": str(self.gate),
        }
        return FrameRequest(goal=demo.QUESTION, runner="tour", input=given, deliverables=("memo",))

    def _worker(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(  # noqa: S603 - this very interpreter
            self._command("worker", "--until-idle", "--max-wait", "10s", "--quiet"),
            cwd=self.folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "worker.log").open("ab"),
        )
        self.workers.append(worker)
        return worker

    def _command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "nodeagent", *words]

    def _wait(self, is_there: Any, worker: subprocess.Popen[bytes]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_there():
            if worker.poll() is not None and not is_there():
                said = (self.folder / "worker.log").read_text("utf-8", "replace").strip().splitlines()[-1:]
                raise Broken(f"the worker ended with code {worker.returncode}: {' '.join(said)}")
            expect(time.monotonic() < until, f"nothing happened for {PATIENCE_SECONDS:.0f} s")
            time.sleep(GLANCE_SECONDS)


def _environment() -> dict[str, str]:
    """Return this process's environment without what would select another store."""
    return {name: value for name, value in os.environ.items() if not name.startswith("NODEAGENT_")}
