"""What a worker and a run tell while they work: bounded, clean, and silent when nobody reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nodeagent.cli import journalist as module
from nodeagent.cli.journalist import LINES_A_SECOND, Journalist
from nodeagent.cli.progress import MAX_LINES, Progress
from nodeagent.runtime.events import Event


def _finished(job_id: str, verdict: str = "completed", reason: str = "fine") -> Event:
    return Event(name="job.finished", job_id=job_id, details={"verdict": verdict, "reason": reason})


def _journalist(*, is_quiet: bool = False, as_json: bool = False) -> tuple[Journalist, list[str]]:
    calls: list[str] = []
    return Journalist(lambda: calls.append("stop"), is_quiet=is_quiet, as_json=as_json), calls


def test_a_second_has_so_many_lines(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are counted."""
    seconds = [100.0]
    monkeypatch.setattr("nodeagent.cli.journalist.time.monotonic", lambda: seconds[0])
    journalist, _ = _journalist()

    for number in range(LINES_A_SECOND + 5):
        journalist(_finished(f"j{number}"))
    seconds[0] += 1
    journalist(_finished("last", "blocked", "why \x1b"))
    journalist.sum_up()

    lines = capsys.readouterr().err.splitlines()
    assert lines[LINES_A_SECOND:] == [
        "… and 5 more",
        "last blocked: why \\x1b",
        f"done: 1 blocked, {LINES_A_SECOND + 5} completed",
    ]


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Event(name="job.given-back", job_id="j"), "j given back"),
        (Event(name="job.abandoned", job_id="j"), "j abandoned: the lease was lost, and whoever has it goes on"),
        (
            Event(name="job.rescheduled", job_id="j", details={"delay_ms": 2000, "failure": "X"}),
            "j rescheduled: X, again in 2 s",
        ),
        (Event(name="store.unavailable"), "the store does not answer; asking again"),
    ],
)
def test_each_end_of_an_attempt_has_a_line(event: Event, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """In words."""
    journalist, _ = _journalist()

    journalist(event)

    assert capsys.readouterr().err == line + "\n"


def test_an_abandoned_job_that_was_canceled(capsys: pytest.CaptureFixture[str]) -> None:
    """Is not said to go on."""
    journalist = Journalist(list, is_quiet=False, as_json=False, is_canceled=lambda job_id: job_id == "j")

    journalist(Event(name="job.abandoned", job_id="j"))

    assert capsys.readouterr().err == "j canceled\n"


def test_a_worker_says_once_that_it_is_idle(capsys: pytest.CaptureFixture[str]) -> None:
    """Until something happens."""
    journalist, _ = _journalist(as_json=True)

    for name in ("worker.idle", "worker.idle", "job.claimed", "worker.idle", "worker.idle"):
        journalist(Event(name=name))

    events = [json.loads(line)["event"] for line in capsys.readouterr().out.splitlines()]
    assert events == ["worker.idle", "job.claimed", "worker.idle"]


def test_events_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A line each, on stdout."""
    journalist, _ = _journalist(as_json=True)

    journalist(_finished("j\x1b"))

    out = capsys.readouterr().out
    assert out.isascii()
    assert "\x1b" not in out
    assert json.loads(out)["job_id"] == "j\x1b"


def test_the_worker_stops_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is told once."""

    def closed(_: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(module, "put", closed)
    journalist, calls = _journalist(as_json=True)

    journalist(_finished("a"))
    journalist(_finished("b"))

    assert journalist.is_unread
    assert calls == ["stop"]


def test_progress_without_a_terminal_is_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    """A loop of steps does not fill a log; the counts go on."""
    with Progress() as progress:
        for number in range(MAX_LINES + 50):
            progress(Event(name="step.recorded", job_id="j", details={"step": ["turn", str(number)]}))

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MAX_LINES
    assert lines[0] == "step turn 0 recorded"
    assert lines[-1] == "(no further lines of progress)"
    assert progress.counts() == f"{MAX_LINES + 50} steps recorded, 0 replayed"


def test_a_hostile_name_of_a_step_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr too."""
    details: dict[str, Any] = {"step": ["\x1b[2J"]}
    with Progress() as progress:
        progress(Event(name="step.replayed", job_id="j", details=details))

    assert capsys.readouterr().err == "step \\x1b[2J replayed\n"
