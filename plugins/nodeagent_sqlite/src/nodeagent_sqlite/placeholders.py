"""Numbered placeholders on the Pythons that take ``?1`` for a name.

CPython 3.12.0 to 3.12.3 warn of every ``?1`` that is given a sequence, and say that it will become an error; later
releases took that back (python/cpython#117995). There, a connection of this class says ``?`` instead.
"""

from __future__ import annotations

import functools
import re
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

_NUMBERED: Final = re.compile(r"\?(\d+)")


class UnnumberedConnection(sqlite3.Connection):
    """Gives a statement's values once for every place where their number stands."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Execute one statement."""
        if isinstance(parameters, Mapping):
            return super().execute(sql, parameters)
        return super().execute(*unnumbered(sql, parameters))


def unnumbered(sql: str, parameters: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Return the statement with ``?`` for every ``?1``, and the values in the order of the places."""
    plain, places = _translated(sql)
    return (plain, [parameters[place] for place in places]) if places else (sql, parameters)


@functools.cache
def _translated(sql: str) -> tuple[str, tuple[int, ...]]:
    return _NUMBERED.sub("?", sql), tuple(int(number) - 1 for number in _NUMBERED.findall(sql))


CONNECTION: Final = UnnumberedConnection if (3, 12) <= sys.version_info < (3, 12, 4) else sqlite3.Connection
"""The class of every connection."""
