"""Reading the journal."""

from __future__ import annotations

from attrs import define

from nodeagent import Cursor, Entry, Key, Page, Scope, Seq
from nodeagent.providers.memory.connection import MemoryConnection


@define(eq=False)
class MemoryJournal:
    """Entries of a scope, in order. ``seq`` counts from 1, so it is the place in the list."""

    _connection: MemoryConnection

    def get(self, scope: Scope, key: Key) -> Entry | None:
        """Return the entry, or None."""
        with self._connection.store.lock:
            return self._connection.store.entry(scope, key)

    def read(self, scope: Scope, after: Seq, limit: int) -> Page[Entry]:
        """Return up to ``limit`` entries with ``seq > after``, in order."""
        with self._connection.store.lock:
            journal = self._connection.store.journal(scope)
            entries = [] if journal is None else journal.entries
            end = after + limit
            following = Cursor(str(end)) if len(entries) > end else None
            return Page(items=tuple(entries[after:end]), next=following)
