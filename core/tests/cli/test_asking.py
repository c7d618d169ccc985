"""From options to a request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nodeagent.cli.asking import from_line, request_of, wanted
from nodeagent.errors import Invalid
from nodeagent.records import After, Ms


def test_sources_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a worker that was started elsewhere finds them."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").touch()

    _, request = request_of(wanted({"goal": "g", "sources": ("a.md",), "more_sources": (".",)}))

    assert request.input == {"sources": [str(tmp_path / "a.md"), str(tmp_path)]}
    assert request.runner == "evidence"
    assert request.deliverables == ("memo",)


def test_every_option_arrives() -> None:
    """Under the name that the request has for it."""
    said = {
        "goal": "g",
        "runner": "mine",
        "input": [1],
        "job_id": "j",
        "phase": "p",
        "min_confidence": "high",
        "deliverables": ["d"],
        "queue": "q",
        "tenant": "t",
        "priority": 0,
        "max_attempts": 7,
        "timeout": 5_000,
        "run_after": After(Ms(9)),
    }

    job_id, request = request_of(said)

    assert job_id == "j"
    assert (request.input, request.phase, request.minimum_confidence) == ([1], "p", "high")
    assert (request.queue, request.tenant, request.priority) == ("q", "t", 0)
    assert (request.max_attempts, request.timeout_ms, request.run_after) == (7, 5_000, After(Ms(9)))
    assert request.policy.tenant_id == "t"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "--goal is required"),
        ({"goal": "g"}, "--sources is required"),
        ({"goal": "g", "runner": "r", "timeout": 0}, "--timeout must be more than nothing"),
        ({"goal": "g", "sources": [""]}, "must not be empty"),
        ({"goal": "g", "sources": ["no such file"]}, "does not exist"),
        ({"goal": "g", "sources": ["."], "input": []}, "--input must be a JSON object"),
        ({"goal": "g", "sources": ["."], "input": {"sources": []}}, "given twice"),
        ({"goal": " ", "runner": "r"}, "goal must be a non-empty text"),
        ({"goal": "g", "runner": ""}, "runner must not be empty"),
    ],
)
def test_what_no_request_may_say(said: dict[str, Any], words: str) -> None:
    """Before anything is opened."""
    with pytest.raises(Invalid, match=words):
        request_of(said)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"gaol": "g"}, "there is no key 'gaol'; did you mean 'goal'"),
        ({"sources": "a.md"}, "sources must be an array of strings"),
        ({"timeout": "soon"}, "is not a duration"),
        ({"run_after": "2030-01-01T00:00"}, "names no time zone"),
    ],
)
def test_a_line_that_is_wrong(line: dict[str, Any], words: str) -> None:
    """A misspelt key is not ignored."""
    with pytest.raises(ValueError, match=words):
        from_line(line)
