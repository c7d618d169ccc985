"""What a signal leaves in the store: a job that the next worker goes on with at once."""

from __future__ import annotations

import signal
from typing import Any

import pytest


def _begin(cli: Any, until: Any, processes: Any, *words: str) -> Any:
    """Start a process and wait until it is in the second step."""
    process = cli.start(*words)
    processes.append(process)
    until((cli.folder / "second.began").exists)
    return process


@pytest.mark.parametrize("runner", ["slow", "aslow"])
def test_ctrl_c_on_run_gives_the_job_back(cli: Any, until: Any, processes: Any, runner: str) -> None:
    """Lease released, attempt not counted, first step recorded; the same command goes on."""
    words = ("run", "--runner", runner, "--goal", "g", "--job-id", "j")
    process = _begin(cli, until, processes, *words)

    process.send_signal(signal.SIGINT)
    if runner == "aslow":
        (cli.folder / "go").touch()
    process.communicate(timeout=60)

    assert process.returncode == 130
    view = cli.json("jobs", "show", "j", "--json")
    assert (view["status"], view["attempts"], view["lease"], view["failure"]) == ("queued", 0, None, None)
    assert ["first"] in [step["step"] for step in view["steps"]]
    (cli.folder / "go").touch()
    again = cli(*words)
    assert again.returncode == 0, again.stderr
    assert "step first replayed" in again.stderr


def test_a_second_ctrl_c_on_run_leaves_the_lease_to_run_out(cli: Any, until: Any, processes: Any) -> None:
    """And nothing that was recorded is lost."""
    process = _begin(cli, until, processes, "run", "--runner", "stubborn", "--goal", "g", "--job-id", "j")

    process.send_signal(signal.SIGINT)
    until((cli.folder / "interrupted").exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert process.returncode == 130
    assert cli.json("jobs", "show", "j", "--json")["status"] == "running"
    (cli.folder / "go").touch()
    done = cli("worker", "--until-idle")
    assert "j completed" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_worker_lets_its_frame_finish(cli: Any, until: Any, processes: Any, number: int, code: int) -> None:
    """And gives back what it had not begun."""
    cli("enqueue", "--runner", "slow", "--goal", "g", "--job-id", "begun")
    process = _begin(cli, until, processes, "worker", "--concurrency", "1")
    cli("enqueue", "--runner", "quick", "--goal", "g", "--job-id", "waiting")

    process.send_signal(number)
    assert _line(process, "stopping")
    (cli.folder / "go").touch()
    _, err = process.communicate(timeout=60)

    assert process.returncode == code
    assert "Traceback" not in err
    jobs = {job["job_id"]: job for job in cli.json("jobs", "list", "--json")["jobs"]}
    assert jobs["begun"]["status"] == "completed"
    assert (jobs["waiting"]["status"], jobs["waiting"]["attempts"]) == ("queued", 0)


def test_a_second_signal_ends_a_worker_at_once(cli: Any, until: Any, processes: Any) -> None:
    """The next worker waits for the lease and goes on."""
    cli("enqueue", "--runner", "slow", "--goal", "g", "--job-id", "j")
    process = _begin(cli, until, processes, "worker")

    process.send_signal(signal.SIGTERM)
    assert _line(process, "stopping")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert process.returncode == 130
    (cli.folder / "go").touch()
    assert "j completed" in cli("worker", "--until-idle").stderr
    steps = cli.json("jobs", "show", "j", "--json")["steps"]
    assert [(step["step"], step["attempt"]) for step in steps] == [(["first"], 1), (["second"], 2)]


def test_run_waits_for_a_worker_that_has_the_job(cli: Any, until: Any, processes: Any) -> None:
    """And shows the receipt that the other one made."""
    cli("enqueue", "--runner", "slow", "--goal", "g", "--job-id", "j")
    worker = _begin(cli, until, processes, "worker", "--until-idle")
    run = cli.start("run", "--runner", "slow", "--goal", "g", "--job-id", "j")
    processes.append(run)
    assert _line(run, "waiting:")

    (cli.folder / "go").touch()
    out, err = run.communicate(timeout=60)
    worker.communicate(timeout=60)

    assert run.returncode == 0, err
    assert "verdict: completed" in out


def _line(process: Any, start: str) -> str | None:
    """Read stderr until a line begins so."""
    for line in process.stderr:
        if line.startswith(start):
            return str(line)
    return None
