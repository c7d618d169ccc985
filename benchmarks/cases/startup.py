"""How long the command line takes to start, against an interpreter that does nothing."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import subject
from benchmarks.measuring import Aim, Bench, Row, Sample, Spread, take_turns, time_ratio, watch
from nodeagent import App

BUDGET_MS = 300


def startup(bench: Bench) -> Iterator[Row]:
    """The whole life of ``nodeagent --version`` and of ``nodeagent status`` on a small store.

    The floor is ``python -c pass`` of the same interpreter. The aim is about milliseconds, as
    people feel them.
    """
    program = _program()
    _make_store(bench.folder)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "nodeagent --version": [program, "--version"],
        "nodeagent status": [program, "status"],
    }
    sides = {name: functools.partial(_run, command, bench.folder) for name, command in commands.items()}
    samples = take_turns(bench.of(15, 3), sides)
    floor = samples["python -c pass"]
    for name in list(commands)[1:]:
        yield Row(
            case="startup",
            what=name,
            value=_milliseconds(samples[name]),
            unit="ms",
            floor="python -c pass",
            floor_value=_milliseconds(floor),
            ratio=time_ratio(samples[name], floor),
            aim=Aim("value", "≤", BUDGET_MS),
        )


def _program() -> str:
    """Return the command that is installed beside this interpreter."""
    beside = Path(sys.executable).parent
    found = shutil.which("nodeagent", path=str(beside)) or shutil.which("nodeagent")
    if found is None:
        raise RuntimeError("the command nodeagent should be installed, but is not; pip install ./core")
    return found


def _make_store(folder: Path) -> None:
    """Store a few jobs where the command line looks without a configuration."""
    home = folder / ".nodeagent"
    home.mkdir()
    with subject.open_sqlite(home / "nodeagent.db") as backend:
        runtime = subject.runtime(App(), backend)
        runtime.enqueue_many([(None, subject.request("bench"))] * 20)


def _run(command: list[str], folder: Path) -> Sample:
    with watch() as taken:
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return taken.sample(1)


def _milliseconds(samples: list[Sample]) -> Spread:
    return Spread.of(1e3 * sample.seconds for sample in samples)
