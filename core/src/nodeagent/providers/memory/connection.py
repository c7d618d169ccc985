"""The memory provider's settings and connection."""

from __future__ import annotations

from types import TracebackType
from typing import Final, Self

from attrs import define, field, frozen

from nodeagent import Capabilities, Clock, Connection, HostClock, Ms
from nodeagent.providers.memory.store import Store, open_store

_METHODS: Final = (
    "transactions.commit",
    "transactions.commit_many",
    "lease_store.claim",
    "lease_store.renew",
    "lease_store.release",
    "lease_store.get",
    "lease_store.expired",
    "step_journal.get",
    "step_journal.read",
    "scheduler.claim",
    "scheduler.peek",
    "job_store.get",
    "job_store.list",
    "frame_store.get",
    "frame_store.list",
    "run_store.get",
    "run_store.list",
    "run_store.messages",
    "artifact_store.put",
    "artifact_store.get",
    "artifact_store.stat",
    "wakeups.notify",
)

CAPABILITIES: Final = Capabilities(
    wakeups_work=True,
    wakeups_topic=True,
    wakes_in_commit=True,
    strong_lists=True,
    round_trips=dict.fromkeys(_METHODS, 0),  # the store is here: there is nobody to ask
)


@frozen(kw_only=True)
class MemorySettings:
    """Connections of one process with the same ``store`` and namespace observe the same data."""

    store: str = "default"


@define(eq=False)
class MemoryConnection:
    """One handle on a namespace of a store. Handles may have different clocks, as computers do."""

    store: Store
    clock: Clock
    capabilities: Capabilities = field(default=CAPABILITIES, init=False)

    @classmethod
    def open(cls, settings: object, namespace: str, clock: Clock | None) -> MemoryConnection:
        """Open a handle; without a clock it goes by the host's."""
        if not isinstance(settings, MemorySettings):
            raise TypeError(f"expected MemorySettings, found {type(settings).__name__}")
        return cls(open_store(settings.store, namespace), HostClock() if clock is None else clock)

    def now(self) -> Ms:
        """Return the time of this handle's clock."""
        return self.clock.now()

    def close(self) -> None:
        """End this handle's subscriptions; the data stays for those who open the store again."""
        self.store.hub.leave(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def own(connection: Connection) -> MemoryConnection:
    """Return a connection of this provider's; it is given no other."""
    if not isinstance(connection, MemoryConnection):
        raise TypeError(f"expected a MemoryConnection, found {type(connection).__name__}")
    return connection
