"""Three small documents, and runners on them that a tour or a smoke can interrupt.

The runner ``tour`` pauses in its second step until a file appears, so that its worker can be killed there. It
writes down each body that begins, outside the store, so that anyone can count what was repeated.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast

from nodeagent.errors import Invalid
from nodeagent.evidence import answer
from nodeagent.lossless import Json
from nodeagent.records.answer import Answer
from nodeagent.runtime.app import App
from nodeagent.runtime.context import FrameContext

DOCUMENTS: Final = {
    "leases.md": """# Leases

A worker claims a job under a lease with a fencing token.
The token of a job rises with every claim, so that a worker that was believed dead can write nothing more.
""",
    "journal.md": """# Journal

Every step of a frame is recorded once, in a write-once journal.
After a crash the next worker replays the recorded steps and runs only what is missing.
""",
    "receipts.md": """# Receipts

A finished frame leaves a receipt: the verdict, the evidence and the citations.
A duplicate run replays the stored receipt byte for byte and executes nothing.
""",
}
QUESTION: Final = "What does a duplicate run of a finished frame replay?"
UNANSWERABLE: Final = "Which glaciers feed the Zambezi in springtime?"
STEPS: Final = ("read", "check", "answer")
PAUSE: Final = "check"
PATIENCE_SECONDS: Final = 60.0
GLANCE_SECONDS: Final = 0.01

app = App()


@app.runner("tour")
def tour(frame: FrameContext) -> Answer:
    """Answer the goal from the documents in three durable steps."""
    given = cast("dict[str, Any]", frame.input)
    sources, log, gate = given["sources"], Path(given["log"]), Path(given["gate"])
    read = frame.step("read", lambda: _noted(log, "read", lambda: [Path(path).name for path in sources]))
    frame.step("check", lambda: _noted(log, "check", lambda: _passed(gate)))
    frame.step("answer", lambda: _noted(log, "answer", lambda: read))
    return answer(frame.goal, sources)


def write_documents(folder: Path) -> list[str]:
    """Write the documents into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in DOCUMENTS.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    return paths


def begun(log: Path) -> list[str]:
    """Return the bodies that began, in order."""
    return log.read_text(encoding="utf-8").split() if log.exists() else []


def _noted(log: Path, name: str, body: Callable[[], Json]) -> Json:
    """Write down that a body began, durably, and run it."""
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{name}\n")
        file.flush()
        os.fsync(file.fileno())
    return body()


def _passed(gate: Path) -> Json:
    """Wait until the gate is there."""
    until = time.monotonic() + PATIENCE_SECONDS
    while not gate.exists():
        if time.monotonic() > until:
            raise Invalid("gate", "did not open; this runner is made for `nodeagent happy-path`")
        time.sleep(GLANCE_SECONDS)
    return gate.name
