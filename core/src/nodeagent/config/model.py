"""What a configuration says, once it was found to be right."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from nodeagent.config.hidden import Hidden
from nodeagent.records.ids import check_int

PORT_KEYS: Final = {
    "artifacts": "artifact_store",
    "wakeups": "wakeups",
    "tools": "tool_runtime",
    "policy": "policy",
    "model": "model",
}
"""The keys of ``[ports]`` and the ports they stand for.

The ledger's ports all come from ``backend``.
"""

DEFAULT_BACKEND: Final = "sqlite"
DEFAULT_PATH: Final = ".nodeagent/nodeagent.db"

_SHORTEST_LEASE: Final = 1_000
_LONGEST: Final = 24 * 3_600_000


def _within(low: int, high: int) -> Any:
    def check(_: object, attribute: Any, value: object) -> None:
        check_int(attribute.name, value, low, high)

    return check


@frozen(kw_only=True)
class BackendConfig:
    """One table of ``[backends]``: the provider's name, and its settings with every reference resolved.

    The settings' values appear in no ``repr``. Those of a backend that is not selected are as
    written.
    """

    provider: str
    settings: Mapping[str, object] = field(factory=dict, converter=Hidden, repr=False)


@frozen(kw_only=True)
class WorkerConfig:
    """The table ``[worker]``: how many jobs at once, and three durations in milliseconds.

    A lease is renewed at a third of ``lease_ms``, so at its shortest two renewals may be lost and
    each may take 300 ms. ``poll_ms`` is how long an idle worker sleeps at most where nothing wakes
    it. ``lane_by_tenant`` makes the tenant part of a job's lane, so that no tenant starves another.
    """

    concurrency: int = field(default=4, validator=_within(1, 10_000))
    lease_ms: int = field(default=60_000, validator=_within(_SHORTEST_LEASE, _LONGEST))
    poll_ms: int = field(default=1_000, validator=_within(10, _LONGEST))
    lane_by_tenant: bool = False


@frozen(kw_only=True)
class Config:
    """A configuration without problems. Build one with :func:`~nodeagent.config.load`.

    ``ports`` maps keys of :data:`PORT_KEYS` to names of ``backends``. ``source`` is the file it was
    read from, None for the built-in default; ``folder`` is what relative paths are relative to.
    """

    app: str | None = None
    backend: str
    namespace: str = "default"
    backends: Mapping[str, BackendConfig]
    ports: Mapping[str, str] = field(factory=dict)
    worker: WorkerConfig = field(factory=WorkerConfig)
    observers: tuple[str, ...] = ()
    source: Path | None = None
    folder: Path | None = field(default=None, repr=False)

    @property
    def provider(self) -> str:
        """The name of the selected backend's provider."""
        return self.backends[self.backend].provider

    def describe(self) -> str:
        """Return the sentence that tells a person which backend is used, and why."""
        if self.source is None:
            return f"no configuration was found, so the backend is SQLite at ./{DEFAULT_PATH}"
        return (
            f"the backend is {self.backend!r} ({self.provider}) with namespace {self.namespace!r},"
            f" as configured in {self.source}"
        )
