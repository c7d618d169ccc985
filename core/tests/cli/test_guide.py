"""The configuration that the guide writes is the one that is read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.cli.guide import document, parse, toml, write
from nodeagent.errors import ConfigError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=8,
)


@given(VALUES)
def test_every_value_comes_back(value: Any) -> None:
    """Whatever is in a string."""
    assert tomllib.loads(f"value = {toml(value)}")["value"] == value


def test_settings_are_toml_or_text() -> None:
    """A reference is a table, a path is a string."""
    assert parse(["a=1", "b=x/y.db", 'c={ env = "X" }', "d=", "e=1 # no\nf = 2"]) == {
        "a": 1,
        "b": "x/y.db",
        "c": {"env": "X"},
        "d": "",
        "e": "1 # no\nf = 2",
    }


@pytest.mark.parametrize(("pairs", "words"), [(["a"], "KEY=VALUE"), (["a=1", "a=2"], "given twice")])
def test_settings_that_are_refused(pairs: list[str], words: str) -> None:
    """The value, which may be a secret, is not told."""
    with pytest.raises(click.UsageError, match=words):
        parse(pairs)


def test_a_wrong_configuration_is_not_written(tmp_path: Path) -> None:
    """Nor is a draft of it left."""
    path = tmp_path / "nodeagent.toml"
    path.write_text("old", encoding="utf-8")

    with pytest.raises(ConfigError, match="there is no such key"):
        write(path, document("memory", {"colour": "red"}, namespace="n", app=None))

    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
