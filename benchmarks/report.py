"""The table, for people, and the numbers, for programs."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import asdict

from benchmarks.measuring import Row, Spread

HEAD = ("what", "subject", "floor", "", "ratio", "aim", "")
BEGIN = "<!-- the table begins; nox -s bench writes it -->"
END = "<!-- the table ends -->"
UNSTEADY = 1.5
"""How far the quartiles of a floor may lie apart on a machine that is called quiet."""


def markdown(rows: Sequence[Row]) -> str:
    """Return the table, its columns aligned so that it also reads as text."""
    cells = [HEAD, *map(_cells, rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEAD))]
    lines = [_line(row, widths) for row in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def circumstances() -> dict[str, str]:
    """Say what the numbers depend on, as far as it is not the hardware."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": platform.system(),
        "cores": str(os.cpu_count()),
    }


def noise(rows: Sequence[Row]) -> str | None:
    """Say how unsteady the floors were, if they were."""
    floors = [(row.floor, row.floor_value) for row in rows if row.floor_value is not None]
    worst = max(floors, key=lambda floor: _width(floor[1]), default=None)
    if worst is None or _width(worst[1]) <= UNSTEADY:
        return None
    return (
        f"The machine was not quiet: the quartiles of the floor “{worst[0]}” lie apart by a factor"
        f" of {_width(worst[1]):.1f}. Repeat the run before you quote it."
    )


def _width(floor: Spread) -> float:
    return floor.high / floor.low if floor.low > 0 else float("inf")


def as_data(rows: Sequence[Row]) -> dict[str, Any]:
    """Return everything that was measured, as JSON takes it."""
    return {"circumstances": circumstances(), "rows": [_data(row) for row in rows]}


def placed(page: str, rows: Sequence[Row]) -> str:
    """Return the page with the rows' table between its marks."""
    before, found, rest = page.partition(BEGIN)
    _, also_found, after = rest.partition(END)
    if not (found and also_found):
        raise ValueError(f"the page should have the lines {BEGIN!r} and {END!r}, but has not both")
    facts = circumstances()
    note = (
        f"Measured with Python {facts['python']} and SQLite {facts['sqlite']} on"
        f" {facts['system']}, {facts['cores']} cores."
    )
    parts = [note, noise(rows), markdown(rows)]
    body = "\n\n".join(part for part in parts if part is not None)
    return f"{before}{BEGIN}\n\n{body}\n\n{END}{after}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
    return "| " + " | ".join(padded) + " |"


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.what,
        f"{_number(row.value.median)} {row.unit}",
        "" if row.floor_value is None else f"{_number(row.floor_value.median)}",
        row.floor or "",
        "" if row.ratio is None else _spread(row.ratio),
        "" if row.aim is None else f"{row.aim.relation} {row.aim.number:g}{_aimed_unit(row)}",
        "" if row.aim is None else "met" if row.aim.is_met(row) else "missed",
    )


def _aimed_unit(row: Row) -> str:
    return f" {row.unit}" if row.aim is not None and row.aim.of == "value" else ""


def _spread(spread: Spread) -> str:
    return f"{spread.median:.2f} ({spread.low:.2f}–{spread.high:.2f})"


def _number(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.1f}"  # noqa: PLR2004


def _data(row: Row) -> Mapping[str, Any]:
    met = None if row.aim is None else row.aim.is_met(row)
    return {**asdict(row), "met": met}
