"""One open backend of one provider."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol, Self

from nodeagent.records.capabilities import Capabilities
from nodeagent.records.ids import Ms


class Connection(Protocol):
    """Owns pool, schema check and lifetime. Used by many threads at once; safe after a fork (it reopens)."""

    @property
    def capabilities(self) -> Capabilities:
        """What this connection promises."""
        ...

    def now(self) -> Ms:
        """Return the store's time: asked at most once a minute and carried on by the monotonic clock."""
        ...

    def close(self) -> None:
        """Give back everything; idempotent. The process can exit without it."""
        ...

    def __enter__(self) -> Self:
        """Return this connection."""
        ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close this connection."""
        ...
