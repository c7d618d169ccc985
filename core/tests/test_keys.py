"""Composite names as text: injective, and without control characters."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent import Corrupt, decode_key, encode_key

keys = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=8).map(tuple)


@given(keys)
def test_a_key_comes_back(key: tuple[str, ...]) -> None:
    """Whatever the parts hold, separators included, they come back one by one."""
    assert decode_key(encode_key(key)) == key


@given(keys)
def test_the_text_is_a_json_array_without_control_characters(key: tuple[str, ...]) -> None:
    """Any JSON reader can take it apart, and no store chokes on a NUL."""
    text = encode_key(key)

    assert json.loads(text) == list(key)
    assert not any(character < " " for character in text)


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "{}",
        '"a"',
        "[1]",
        '["a", null]',
        "\x00",
        pytest.param(DEEP, id="deep"),
        pytest.param('{"a":' * 50_000, id="deep objects"),
    ],
)
def test_other_text_is_corrupt(text: str) -> None:
    """A damaged key is named as such."""
    with pytest.raises(Corrupt):
        decode_key(text)
