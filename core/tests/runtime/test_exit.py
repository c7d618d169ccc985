"""A process that ends without closing anything, or forks, does end, and quietly."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

PRELUDE = """
import asyncio, os, signal, sys, threading, time
from nodeagent import *
from nodeagent.runtime.aio import AsyncRuntime

app = App()
backend = open_provider("memory")
evidence = (Evidence(id="e", source="s", quote="q"),)
answer = Answer(confidence="high", statements=(Statement(text="t", citations=("e",)),), evidence=evidence)
request = FrameRequest(goal="g", runner="work")
"""

PROGRAMS = {
    "after a run": """
        @app.runner("work")
        def work(context):
            context.step("a", lambda: 1)
            return answer
        print(app.open(backend=backend).run(request).status)
    """,
    "after an asynchronous run": """
        @app.runner("work")
        async def work(context):
            await asyncio.gather(*(asyncio.create_task(context.step("a", lambda: 1, index=i)) for i in range(5)))
            return answer
        async def main():
            print((await AsyncRuntime(app.open(backend=backend)).run(request)).status)
        asyncio.run(main())
        asyncio.run(main())
    """,
    "with an error": """
        @app.runner("work")
        def work(context):
            raise SystemExit(5)
        print(app.open(backend=backend).run(FrameRequest(goal="g", runner="work", max_attempts=1)).status)
    """,
    "while a worker runs": """
        begun = threading.Event()
        @app.runner("work")
        def work(context):
            context.step("a", lambda: 1)
            begun.set()
            time.sleep(3600)
        runtime = app.open(backend=backend)
        runtime.enqueue(request)
        threading.Thread(target=runtime.worker().run, daemon=True).start()
        begun.wait(20)
        print("completed")
    """,
    "while somebody waits": """
        async def main():
            runtime = AsyncRuntime(app.open(backend=backend))
            await runtime.enqueue(request, job_id="j")
            asyncio.create_task(runtime.wait("j"))
            await asyncio.sleep(0.01)
            print("completed")
        asyncio.run(main())
    """,
}


def _run(program: str, patience: float = 20) -> subprocess.CompletedProcess[str]:
    source = PRELUDE + textwrap.dedent(program)
    quiet = ["-W", "ignore:This process:DeprecationWarning"]  # Python does not like that a program with threads forks
    command = [sys.executable, *quiet, "-c", source]
    return subprocess.run(command, capture_output=True, text=True, timeout=patience, check=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_process_ends_though_nothing_was_closed(name: str) -> None:
    """No thread keeps it alive, and nothing is said on its way out."""
    done = _run(PROGRAMS[name])

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] in {"completed", "failed"}
    assert done.stderr == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_works_with_heartbeats_of_its_own() -> None:
    """Its parent's threads are not there: neither the one that renews nor those that commit."""
    done = _run("""
        renewed = threading.Event()
        class Leases:
            def __getattr__(self, name):
                return getattr(backend.leases, name)
            def renew(self, *arguments):
                renewed.set()
                return backend.leases.renew(*arguments)
        class Watched:
            leases = Leases()
            def __getattr__(self, name):
                return getattr(backend, name)
        @app.runner("work")
        async def work(context):
            for i in range(3):
                await context.step("a", lambda: 1, index=i)
            if context.job_id == "child":
                assert await asyncio.to_thread(renewed.wait, 10), "no heartbeat"
            return answer
        from nodeagent.runtime.worker import WorkerOptions
        runtime = Runtime(app, Watched(), options=WorkerOptions(lease_ms=300))
        print(runtime.run(request, job_id="parent").status, flush=True)
        renewed.clear()
        child = os.fork()
        if child == 0:
            print(runtime.run(request, job_id="child").status, flush=True)
            os._exit(0)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)

    assert done.stdout.split() == ["completed", "completed"]
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_worker_ends_after_one_interrupt_and_at_once_after_two() -> None:
    """The first gives frames their grace; the second leaves their leases to run out."""
    done = _run("""
        begun = threading.Event()
        @app.runner("work")
        def work(context):
            begun.set()
            time.sleep(3600)
        runtime = app.open(backend=backend)
        runtime.enqueue(request, job_id="j")
        def interrupt():
            begun.wait(20)
            os.kill(os.getpid(), signal.SIGINT)
            stopping.wait(20)
            os.kill(os.getpid(), signal.SIGINT)
        stopping = threading.Event()
        runtime.observers.add(lambda event: stopping.set() if event.name == "worker.stopping" else None)
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            runtime.worker().run()
        except KeyboardInterrupt:
            print(backend.jobs.get("j").header.status)
    """)

    assert done.stdout.split() == ["running"]
    assert (done.returncode, done.stderr) == (0, "")
