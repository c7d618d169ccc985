"""What reaches a terminal: clean text, whatever was stored."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.cli.printing import clean, command, count, put_table, span, when

BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
MOMENT = 1_700_000_000_000


@given(st.text(st.characters(exclude_categories=())))
def test_clean_text_holds_nothing_that_acts(text: str) -> None:
    """No control, no change of direction, no line end, no surrogate."""
    shown = clean(text)

    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in BIDI for char in shown)


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp"))))
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    """In any script."""
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\x9b2J", r"\x9b2J"),
        ("user\u202egpj", r"user\u202egpj"),
        ("\U000e0041", r"\U000e0041"),
        ("\udc80", r"\udc80"),
        ("👩‍🚀", "👩‍🚀"),
    ],
)
def test_what_acts_is_written_as_an_escape(text: str, shown: str) -> None:
    """So that a person sees that it was there."""
    assert clean(text) == shown


def test_kept_characters_and_the_limit() -> None:
    """A memo keeps its lines; a cell has a width."""
    assert clean("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"
    assert clean("x" * 9, limit=5) == "xxxx…"


@pytest.mark.parametrize(
    ("ms", "shown"),
    [(-5, "0 ms"), (999, "999 ms"), (1000, "1 s"), (90_000, "1 min"), (7_200_000, "2 h"), (86_400_000, "1 d")],
)
def test_durations(ms: int, shown: str) -> None:
    """In the largest unit that fits."""
    assert span(ms) == shown


def test_moments() -> None:
    """In UTC, and never an error."""
    assert when(MOMENT) == "2023-11-14 22:13:20Z"
    assert when(None) == "-"
    assert when(2**53 - 1) == "9007199254740991 ms"


def test_counts() -> None:
    """With the right noun."""
    assert count(1, "job") == "1 job"
    assert count(1234, "entry", "entries") == "1,234 entries"


def test_a_table_without_a_terminal_is_aligned_and_clean(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns that `awk` and people can read."""
    put_table(("name", "n"), [("a\x1b", 1), ("longer", 22)])

    assert capsys.readouterr().out == "name    n\na\\x1b   1\nlonger  22\n"


@pytest.mark.parametrize(
    ("started", "on_path", "said"),
    [
        ("bin/nodeagent", "bin/nodeagent", "nodeagent"),
        ("bin/nodeagent", None, "bin/nodeagent"),
        ("bin/nodeagent", "other/nodeagent", "bin/nodeagent"),
        ("my bin/nodeagent", None, "'my bin/nodeagent'"),
        ("pytest", None, "nodeagent"),
    ],
)
def test_a_hint_names_the_command_as_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, on_path: str | None, said: str
) -> None:
    """So that it can be copied."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(tmp_path / started)])
    monkeypatch.setattr("shutil.which", lambda _: None if on_path is None else str(tmp_path / on_path))

    assert command() == said
