"""Pages of a listing, by the place of the last row: what comes and goes elsewhere moves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from nodeagent import Corrupt, Cursor, Invalid, Page, decode_key, encode_key

T = TypeVar("T")
Row = tuple[Any, ...]
Place = tuple[int, str]


def place_of(cursor: Cursor | None) -> Place:
    """Return the place that a listing goes on after; None is before the first."""
    if cursor is None:
        return (-1, "")
    try:
        number, name = decode_key(cursor)
        return (int(number), name)
    except (Corrupt, ValueError) as error:
        raise Invalid("a cursor", "must be the next of a page of the same listing") from error


def page_of(
    rows: Sequence[Row],
    limit: int,
    read: Callable[[Row], T],
    place: Callable[[Row], Place],
    left_out: Callable[[str], None],
) -> Page[T]:
    """Return the first ``limit`` rows as a page, of which one more was asked for.

    Unreadable ones are left out, and ``left_out`` is told their names.
    """
    items = []
    for row in rows[:limit]:
        try:
            items.append(read(row))
        except Corrupt:
            left_out(place(row)[1])
    following = _cursor(*place(rows[limit - 1])) if len(rows) > limit else None
    return Page(items=tuple(items), next=following)


def _cursor(number: int, name: str) -> Cursor:
    return Cursor(encode_key((str(number), name)))
