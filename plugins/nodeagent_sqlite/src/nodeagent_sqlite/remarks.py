"""Telling of rows that a claim or a listing passed over: otherwise a damaged one would vanish without a trace."""

from __future__ import annotations

import logging
from typing import Final

_LOG: Final = logging.getLogger("nodeagent")

MOST: Final = 1000
"""How many ids a connection remembers, and tells of: a file that is damaged all over must not fill the log."""


class Remarks:
    """Tells of each record once, by its kind and its id, and of nothing that is in it.

    A handler of the log may use the store, so nobody may call this inside a transaction.
    """

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def passed_over(self, kind: str, name: str) -> None:
        """Warn that a record was passed over, unless that was said before."""
        if (kind, name) in self._told or len(self._told) >= MOST:
            return
        self._told.add((kind, name))
        _LOG.warning(
            'the stored %s %.200r is passed over, because it cannot be read or taken; run "nodeagent doctor"',
            kind,
            name,
        )
