"""Reading the write-once journal."""

from __future__ import annotations

from typing import Protocol

from nodeagent.records.ids import Key, Seq
from nodeagent.records.journal import Entry, Scope
from nodeagent.records.page import Page


class StepJournal(Protocol):
    """Entries of a scope, in order. They are written through :class:`Transactions` (``WriteOnce``).

    The first entry of a key wins for ever. ``seq`` counts 1, 2, 3, … per scope without gaps. An
    unreadable entry fails its own scope with :class:`~nodeagent.Corrupt` and nobody else.
    """

    def get(self, scope: Scope, key: Key) -> Entry | None:
        """Return the entry, or None. Raises Corrupt if it is there but unreadable."""
        ...

    def read(self, scope: Scope, after: Seq, limit: int) -> Page[Entry]:
        """Return up to ``limit`` entries with ``seq > after``, in order of ``seq``.

        A page is a prefix of what follows ``after``: a reader that meets a hole ends its page before it.
        ``next`` is not None if more may follow; go on after the last item's ``seq``.
        """
        ...
