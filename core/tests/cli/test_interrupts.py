"""Ctrl-C, once and twice, while a real process works on a frame."""

from __future__ import annotations

import inspect
import signal
from types import FunctionType
from typing import Any

import pytest

from nodeagent.cli import interrupts


@pytest.mark.parametrize("runner", ["slow", "aslow"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_gives_the_job_back(
    cli: Any, until: Any, processes: Any, runner: str, number: signal.Signals
) -> None:
    """A plain body is interrupted where it is; one of an event loop may end first."""
    process = cli.start("run", "--runner", runner, "--goal", "g", "--job-id", "j")
    processes.append(process)
    until((cli.folder / "second.began").exists)

    process.send_signal(number)
    if runner == "aslow":
        (cli.folder / "go").touch()
    out, err = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert out == ""
    assert "interrupted: job j was given back" in err
    assert "--job-id j" in err
    assert "Traceback" not in err


def test_the_second_signal_leaves_at_once(cli: Any, until: Any, processes: Any) -> None:
    """Also when the body does not care for the first one."""
    process = cli.start("run", "--runner", "stubborn", "--goal", "g")
    processes.append(process)
    until((cli.folder / "second.began").exists)

    process.send_signal(signal.SIGINT)
    until((cli.folder / "interrupted").exists)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "Traceback" not in err


def test_an_answer_that_comes_after_the_signal_is_an_answer(cli: Any, until: Any, processes: Any) -> None:
    """A frame that ends in spite of the signal has ended."""
    process = cli.start("run", "--runner", "stubborn", "--goal", "g")
    processes.append(process)
    until((cli.folder / "second.began").exists)

    process.send_signal(signal.SIGINT)
    until((cli.folder / "interrupted").exists)
    (cli.folder / "go").touch()
    out, _ = process.communicate(timeout=60)

    assert process.returncode in (0, 130)
    assert ("verdict: completed" in out) == (process.returncode == 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_idle_worker_ends(cli: Any, processes: Any, number: signal.Signals) -> None:
    """SIGTERM is an order and no failure."""
    process = cli.start("worker")
    processes.append(process)
    assert process.stderr.readline().startswith("serving runner aslow, bad, quick, slow, stubborn, unsure in queue")

    process.send_signal(number)
    _, err = process.communicate(timeout=60)

    assert process.returncode == (130 if number == signal.SIGINT else 0)
    assert "done: there was nothing to work on" in err
    assert "Traceback" not in err


def _call() -> None:
    """Call what the globals name ``inner``."""
    inner()  # type: ignore[name-defined]  # noqa: F821 - each copy of this function has globals of its own


def test_only_users_code_is_interrupted() -> None:
    """A stack that ends in the runtime or in a store is left alone: it may hold a lock."""
    seen = []

    def look() -> None:
        seen.append(interrupts._in_users_code(inspect.currentframe()))

    def called_from(*names: tuple[str, str]) -> None:
        """Call ``look`` through functions that seem to be of these modules, outermost first."""
        inner: Any = look
        for module, name in reversed(names):
            inner = FunctionType(_call.__code__.replace(co_name=name), {"__name__": module, "inner": inner})
        inner()

    runner = ("nodeagent.runtime.runners", "call_runner")
    step = ("nodeagent.runtime.context", "step")
    called_from(runner)
    called_from(runner, ("mine", "runner"), step, ("mine", "body"))
    called_from(runner, ("nodeagent.evidence.runner", "evidence_runner"))
    called_from(runner, ("mine", "runner"), step, ("nodeagent.runtime.committer", "write"), ("nodeagent_x", "commit"))
    called_from(runner, ("mine", "runner"), step, ("nodeagent.runtime.holding", "start_body"))
    called_from(("mine", "main"))

    assert seen == [True, True, True, False, False, False]
