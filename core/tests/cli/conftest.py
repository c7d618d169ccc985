"""The command line as a person has it: a process of its own, in an empty folder with an empty home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 60.0
KEPT = ("PATH", "PYTHONPATH", "COVERAGE_PROCESS_START", "COVERAGE_FILE")
MEMORY = '[backends.main]\nprovider = "memory"\n'
APP = """
import asyncio
import time
from pathlib import Path

from nodeagent import Answer, App, Evidence, Statement

app = App()
empty = App()
broken = object()
HERE = Path(__file__).parent


def _answer(text="done", confidence="high"):
    evidence = Evidence(id="1", source="here", quote="quoted")
    return Answer(confidence=confidence, evidence=(evidence,), statements=(Statement(text=text, citations=("1",)),))


def _paused(name):
    (HERE / f"{name}.began").touch()
    while not (HERE / "go").exists():
        time.sleep(0.005)
    return name


@app.runner("quick")
def quick(frame):
    return _answer(frame.step("say", lambda: frame.goal))


@app.runner("unsure")
def unsure(frame):
    return _answer(confidence="low")


@app.runner("bad")
def bad(frame):
    raise ValueError("it does not work \\x1b[2J")


@app.runner("slow")
def slow(frame):
    frame.step("first", lambda: 1)
    frame.step("second", lambda: _paused("second"))
    return _answer()


@app.runner("aslow")
async def aslow(frame):
    async def paused():
        (HERE / "second.began").touch()
        while not (HERE / "go").exists():
            await asyncio.sleep(0.005)
        return 2

    await frame.step("first", lambda: 1)
    await frame.step("second", paused)
    await frame.step("third", lambda: 3)
    return _answer()


@app.runner("stubborn")
def stubborn(frame):
    def body():
        while True:
            try:
                (HERE / "second.began").touch()
                while not (HERE / "go").exists():
                    time.sleep(0.005)
                return None
            except KeyboardInterrupt:
                (HERE / "interrupted").touch()

    frame.step("second", body)
    return _answer()
"""


class Cli:
    """Runs `python -m nodeagent` in a folder, with nothing of the caller's environment but the path."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.environ = {name: os.environ[name] for name in KEPT if name in os.environ}
        self.environ |= {"HOME": str(home), "LANG": "C.UTF-8", "PYTHONWARNINGS": "error"}

    def __call__(self, *words: str, **how: Any) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        how = {"timeout": PATIENCE, "stdin": subprocess.DEVNULL} | how
        if "input" in how:
            del how["stdin"]
        environ = {**self.environ, **how.pop("environ", {})}
        return subprocess.run(
            self.command(*words), cwd=self.folder, env=environ, capture_output=True, text=True, check=False, **how
        )

    def command(self, *words: str) -> list[str]:
        """The command as the operating system sees it."""
        return [sys.executable, "-m", "nodeagent", *words]

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start one command."""
        return subprocess.Popen(
            self.command(*words),
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def json(self, *words: str, code: int = 0) -> Any:
        """Run one command and return the one document that it prints."""
        done = self(*words)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)

    def write(self, files: Mapping[str, str]) -> None:
        """Write files into the folder."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """The command line, with the memory provider configured and an application of test runners."""
    bare = Cli(tmp_path / "work", tmp_path / "home")
    for folder in (bare.folder, tmp_path / "home"):
        folder.mkdir()
    bare.write({"nodeagent.toml": f'app = "runners:app"\n{MEMORY}', "runners.py": APP})
    return bare


@pytest.fixture
def bare(tmp_path: Path) -> Cli:
    """The command line in an empty folder."""
    found = Cli(tmp_path / "empty", tmp_path / "home")
    for folder in (found.folder, tmp_path / "home"):
        folder.mkdir()
    return found


@pytest.fixture
def until() -> Callable[[Callable[[], object]], None]:
    """Wait until something is so; there is no sleep for luck."""

    def wait(is_so: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline, "it never came to be"
            time.sleep(0.005)

    return wait


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that do not outlive the test."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()
