"""Durations, points in time, JSON: what is read, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from nodeagent.cli.params import JSON, due, duration_ms, parse_json
from nodeagent.records import After, At, Ms


@pytest.mark.parametrize(
    ("text", "ms"),
    [("90", 90_000), ("1.5", 1_500), ("250ms", 250), ("5m", 300_000), ("5 min", 300_000), ("1.5h", 5_400_000)],
)
def test_durations(text: str, ms: int) -> None:
    """Plain numbers are seconds."""
    assert duration_ms(text) == ms


@pytest.mark.parametrize("text", ["", "x", "-1", "1y", "nan", "inf", "1e9", "9" * 400])
def test_what_is_no_duration(text: str) -> None:
    """Also what is longer than anybody means."""
    with pytest.raises(ValueError, match=r"is not a duration|is longer than a century"):
        duration_ms(text)


def test_due_times() -> None:
    """A duration from now, or a moment with its zone."""
    assert due("10m") == After(Ms(600_000))
    assert due("2023-11-14T22:13:20Z") == At(Ms(1_700_000_000_000))
    assert due("2023-11-14T23:13:20+01:00") == At(Ms(1_700_000_000_000))


@pytest.mark.parametrize(("text", "words"), [("2023-11-14T22:13:20", "names no time zone"), ("soon", "is neither")])
def test_what_is_no_due_time(text: str, words: str) -> None:
    """A moment without a zone is a guess."""
    with pytest.raises(ValueError, match=words):
        due(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it is not JSON"),
        ("NaN", "NaN is no JSON number"),
        ('{"a": 1, "a": 2}', "the key 'a' stands there twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_is_refused(text: str, words: str) -> None:
    """What other readers let pass or bend."""
    with pytest.raises(ValueError, match=words):
        parse_json(text, "it")


def test_json_from_a_file(tmp_path: Path) -> None:
    """Written @file; a missing one is a matter of usage."""
    (tmp_path / "in.json").write_text('{"a": [1]}', encoding="utf-8")

    assert JSON.convert(f"@{tmp_path}/in.json", None, None) == {"a": [1]}
    with pytest.raises(click.BadParameter, match="cannot be read: No such file"):
        JSON.convert(f"@{tmp_path}/none.json", None, None)
