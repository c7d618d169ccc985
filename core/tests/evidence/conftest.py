"""What the tests of the evidence runner share: a folder of documents, and a frame that remembers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import define, field

from nodeagent.lossless import Json, decode, encode


class Crash(BaseException):
    """The process dies."""


@define(kw_only=True)
class FrameFake:
    """A durable context in memory: records every step as bytes, and can die before or after one."""

    goal: str
    input: Json
    round: int = 1
    journal: dict[str, bytes] = field(factory=dict)
    ran: list[str] = field(factory=list)
    crash_after: str | None = None
    before: dict[str, Callable[[], object]] = field(factory=dict)

    def step(self, name: str, fn: Callable[[], Json], /, *, index: int | None = None) -> Json:
        """Run a step once; replay it from its bytes."""
        key = f"{name} {index}"
        if key not in self.journal:
            self.before.get(name, lambda: None)()
            self.ran.append(name)
            self.journal[key] = encode(fn())
        if self.crash_after == name:
            self.crash_after = None
            raise Crash(name)
        return decode(self.journal[key])


@pytest.fixture
def documents() -> Path:
    """A folder with a runbook, a reference, an HTML page, a Python file and a plain text."""
    return Path(__file__).parent / "documents"


@pytest.fixture
def frame() -> type[FrameFake]:
    """The fake frame's class."""
    return FrameFake


@pytest.fixture
def crash() -> type[Crash]:
    """What a dying frame raises."""
    return Crash


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    """Write a file below a fresh folder and return its path."""

    def written(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path.as_posix()

    return written
