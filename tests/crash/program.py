"""What the processes of the crash tests run: an application of three steps, and a worker for it.

``program.py FOLDER OPTIONS`` opens the store in FOLDER and works as the JSON in OPTIONS says. Everything
that a process does outside the store is a line in a file, appended in one write and synced, so that it
outlives the process: effects in ``effects``, finished jobs in ``finished``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, cast

from nodeagent import (
    Answer,
    App,
    AsyncFrameContext,
    Backend,
    Clock,
    Event,
    Evidence,
    FrameContext,
    FrameRequest,
    RetryPolicy,
    Runtime,
    Statement,
    WorkerOptions,
    open_provider,
)
from nodeagent.runtime.events import Observers
from nodeagent.testing import CrashAt

STEPS = ("a", "b", "c")
LARGE = 200_000
"""So that one of the results goes to the artifacts."""


def open_store(folder: Path, clock: Clock | None = None) -> Backend:
    """Open the one store that all processes share."""
    return open_provider("sqlite", {"path": str(folder / "nodeagent.db")}, clock=clock)


def request(runner: str = "plain", max_attempts: int = 1_000) -> FrameRequest:
    """Return what is asked for: the same each time, so that enqueueing it again is no conflict."""
    return FrameRequest(
        goal="Do three things.", runner=runner, max_attempts=max_attempts, retry=RetryPolicy(initial_ms=0)
    )


def note(file: Path, *words: object) -> None:
    """Append a line, durably."""
    line = " ".join(map(str, words)) + "\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def stop() -> None:
    """Stop this process right here; a signal to the process instead would let this thread run on for a moment."""
    signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


class PauseAt(CrashAt):
    """A point at which the process stops itself, until somebody continues it."""

    def _die(self, name: str) -> None:  # type: ignore[override]
        del name
        stop()


def make_app(folder: Path, *, stops_in: str | None = None, dies_in: str | None = None, work_ms: int = 0) -> App:
    """Return the application; in the step ``stops_in`` the process stops itself, in ``dies_in`` it dies."""
    app = App()

    def effect(context: FrameContext | AsyncFrameContext, name: str) -> str:
        recorder: Any = context._recorder
        note(folder / "effects", context.job_id, name, recorder.holding.lease.token, os.getpid())
        if name == stops_in:
            stop()
        if name == dies_in:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(work_ms / 1000)
        return name * LARGE if name == "b" and not work_ms else name

    answer = Answer(
        confidence="high",
        statements=(Statement(text="Done.", citations=("e",)),),
        evidence=(Evidence(id="e", source="effects", quote="done"),),
    )

    @app.runner("plain")
    def plain(context: FrameContext) -> Answer:
        for name in STEPS:
            context.step(name, lambda name=name: effect(context, name))  # type: ignore[misc]
        return answer

    @app.runner("async")
    async def asynchronous(context: AsyncFrameContext) -> Answer:
        for name in STEPS:
            await cast("Awaitable[Any]", context.step(name, lambda name=name: effect(context, name)))
        return answer

    return app


def main(folder: Path, options: dict[str, Any]) -> None:
    """Enqueue what there is to enqueue, and work until idle or until told to stop."""

    def observe(event: Event) -> None:
        if event.name == "job.finished":
            note(folder / "finished", os.getpid(), event.job_id)

    kinds = {"before": CrashAt, "after": CrashAt, "pause": PauseAt}
    mode = options.get("mode", "before")
    point = kinds[mode](options.get("call"), "after" if mode == "after" else "before", kill=True)
    app = make_app(folder, **options.get("app", {}))
    settings = WorkerOptions(**options.get("worker", {}))
    with open_store(folder) as backend:
        runtime = Runtime(app, point.wrap(backend), options=settings, observers=Observers(observe))
        if job := options.get("job"):
            runtime.enqueue(request(options.get("runner", "plain"), options.get("max_attempts", 1_000)), job_id=job)
        worker = runtime.worker()
        signal.signal(signal.SIGTERM, lambda *_: worker.stop())
        note(folder / "ready", os.getpid())
        worker.run(until_idle=options.get("until_idle", True), max_wait_ms=0)
    note(folder / "ended", os.getpid(), *point.calls)


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
