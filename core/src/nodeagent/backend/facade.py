"""One backend, typed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from attrs import define, field

from nodeagent.config.choosing import no_artifacts
from nodeagent.errors import ConfigError
from nodeagent.ports import (
    ArtifactStore,
    Connection,
    FrameStore,
    JobStore,
    LeaseStore,
    Maintenance,
    Model,
    Policy,
    RunStore,
    Scheduler,
    StepJournal,
    ToolRuntime,
    Transactions,
    Wakeups,
)
from nodeagent.records.capabilities import Capabilities
from nodeagent.records.ids import Ms


@define(kw_only=True, eq=False)
class Backend:
    """The ports of an opened backend. Used by many threads at once; closing it twice is fine.

    ``name`` is the backend's in the configuration, ``provider`` its ledger's. ``capabilities`` are
    the ledger's, with what is declared of wake-ups by whoever serves those. ``sends_wakes`` says
    that a commit's hints are sent by the ledger itself; else the runtime notifies after the answer.
    """

    name: str
    provider: str
    namespace: str
    capabilities: Capabilities = field(repr=False)
    sends_wakes: bool = field(repr=False)
    offers: frozenset[str] = field(init=False, repr=False)
    _connection: Connection = field(alias="connection", repr=False)
    _ports: Mapping[str, Any] = field(alias="ports", repr=False)
    _closing: ExitStack = field(alias="closing", repr=False)

    def __attrs_post_init__(self) -> None:
        """Say which ports there are."""
        self.offers = frozenset(self._ports)

    @property
    def transactions(self) -> Transactions:
        """The one door for writes."""
        return self._port("transactions")  # type: ignore[no-any-return]

    @property
    def leases(self) -> LeaseStore:
        """Leases with fencing tokens."""
        return self._port("lease_store")  # type: ignore[no-any-return]

    @property
    def journal(self) -> StepJournal:
        """Entries of a scope, in order."""
        return self._port("step_journal")  # type: ignore[no-any-return]

    @property
    def scheduler(self) -> Scheduler:
        """Claims of jobs."""
        return self._port("scheduler")  # type: ignore[no-any-return]

    @property
    def jobs(self) -> JobStore:
        """Jobs by id and by index."""
        return self._port("job_store")  # type: ignore[no-any-return]

    @property
    def frames(self) -> FrameStore:
        """Frames by id and by index."""
        return self._port("frame_store")  # type: ignore[no-any-return]

    @property
    def runs(self) -> RunStore:
        """Agent runs and messages."""
        return self._port("run_store")  # type: ignore[no-any-return]

    @property
    def maintenance(self) -> Maintenance:
        """The operator's verbs."""
        return self._port("maintenance")  # type: ignore[no-any-return]

    @property
    def artifacts(self) -> ArtifactStore:
        """Immutable bytes; raises :class:`~nodeagent.ConfigError` if nobody stores them."""
        return self._port("artifact_store")  # type: ignore[no-any-return]

    @property
    def wakeups(self) -> Wakeups:
        """Hints to look again; they go nowhere if the capabilities declare none."""
        return self._port("wakeups")  # type: ignore[no-any-return]

    @property
    def tools(self) -> ToolRuntime | None:
        """A provider's runtime for tools; None: the core's own."""
        return self._ports.get("tool_runtime")

    @property
    def policy(self) -> Policy | None:
        """A provider's policy; None: the core's own."""
        return self._ports.get("policy")

    @property
    def model(self) -> Model | None:
        """A provider's model, if one is configured."""
        return self._ports.get("model")

    @property
    def connection(self) -> Connection:
        """The ledger's connection, which a doctor looks at."""
        return self._connection

    def now(self) -> Ms:
        """Return the store's time in milliseconds since the epoch."""
        return self._connection.now()

    def close(self) -> None:
        """Close every connection; idempotent."""
        self._closing.close()

    def __enter__(self) -> Self:
        """Return this backend."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _port(self, port: str) -> Any:
        try:
            return self._ports[port]
        except KeyError:
            raise ConfigError([_absence(self, port)]) from None


def _absence(backend: Backend, port: str) -> str:
    if port == "artifact_store":
        return f"ports.artifacts: {no_artifacts(backend.provider)}"
    return f"the backend {backend.name!r} ({backend.provider}) was opened without the port {port!r}"
