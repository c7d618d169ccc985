"""What an operator learns about a store."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

CheckStatus = Literal["ok", "warning", "failed"]


@frozen(kw_only=True)
class SchemaStatus:
    """Which schema a store has (``found``, None if it has none) and which one the provider works with."""

    found: int | None
    wanted: int
    pending: tuple[str, ...] = ()

    @property
    def is_current(self) -> bool:
        """Say whether nothing is left to migrate."""
        return self.found == self.wanted and not self.pending


@frozen(kw_only=True)
class Purged:
    """What one bounded batch of a purge removed, and whether there is ``more`` to remove."""

    jobs: int = 0
    runs: int = 0
    entries: int = 0
    artifacts: int = 0
    more: bool = False


@frozen(kw_only=True)
class Check:
    """One thing that a doctor looked at: what was found, and what to do if it is not ok."""

    name: str
    status: CheckStatus
    found: str
    remedy: str | None = field(default=None)
