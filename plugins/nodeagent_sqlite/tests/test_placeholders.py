"""Numbered placeholders, on the Pythons that do not know them."""

from __future__ import annotations

import re
import sqlite3
from importlib import resources
from typing import Any

import pytest

from nodeagent_sqlite.placeholders import UnnumberedConnection, unnumbered


@pytest.mark.parametrize(
    ("sql", "parameters", "expected"),
    [
        ("SELECT ?1, ?2, ?1", (1, "two"), (1, "two", 1)),
        ("SELECT ?2, ?1", (1, "two"), ("two", 1)),
        ("SELECT ?, ?", (1, "two"), (1, "two")),
        ("SELECT :a, :b, :a", {"a": 1, "b": "two"}, (1, "two", 1)),
        ("SELECT ?11, ?1, ?10", tuple(range(1, 12)), (11, 1, 10)),
        ("SELECT 1", (), (1,)),
    ],
)
def test_the_answer_is_the_same_without_numbers(sql: str, parameters: Any, expected: tuple[Any, ...]) -> None:
    """Whatever the order of the numbers, each place gets its value."""
    plain = sqlite3.connect(":memory:", factory=UnnumberedConnection)

    row = plain.execute(sql, parameters).fetchone()

    plain.close()
    assert row == expected


def test_no_statement_mixes_numbered_and_bare_placeholders() -> None:
    """A mixture would be counted differently once the numbers are gone."""
    for file in (resources.files("nodeagent_sqlite") / "sql").iterdir():
        for statement in file.read_text("utf-8").split(";"):
            code = re.sub(r"--.*|'[^']*'", "", statement)
            if re.search(r"\?\d", code):
                assert not re.search(r"\?(?!\d)", code), statement
                assert unnumbered(code, [0] * 40)[0].count("?") == code.count("?")
