"""`nodeagent worker`, without a store that others share."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_until_idle_ends_when_there_is_nothing(cli: Any) -> None:
    """And says which lanes it served."""
    done = cli("worker", "--until-idle", "--queue", "a", "--queue", "b", "--concurrency", "3", "--lease", "2m")

    assert done.returncode == 0
    assert "in queue a, b of main: up to 3 at once, leases of 2 min" in done.stderr
    assert done.stdout == ""


def test_the_built_in_application_serves_where_none_is_configured(bare: Any) -> None:
    """Its runner answers from documents."""
    bare.write({"nodeagent.toml": '[backends.main]\nprovider = "memory"\n'})

    assert "serving runner evidence" in bare("worker", "--until-idle").stderr


def test_events_as_lines_of_json(cli: Any) -> None:
    """Each with its name and time."""
    lines = [json.loads(line) for line in cli("worker", "--until-idle", "--json").stdout.splitlines()]

    assert lines
    assert {"event", "job_id", "at"} <= set(lines[-1])
    assert lines[-1]["event"] == "worker.stopping"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--app", "runners:empty"], "runners:empty has no runners, so this worker has no lane to serve"),
        (["--max-wait", "5"], "--max-wait says when --until-idle ends"),
        (["--concurrency", "0"], "0 is not in the range"),
        (["--lease", "1ms"], "lease_ms"),
        (["--queue", ""], "must not be empty"),
    ],
)
def test_wrong_usage(cli: Any, words: list[str], sentence: str) -> None:
    """Code 2, one sentence."""
    done = cli("worker", *words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
