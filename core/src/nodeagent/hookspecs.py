"""The hooks of a provider: the index of the contract.

A provider is a module that an entry point of group ``nodeagent.providers`` names; the entry point's
name is the name that users write in their configuration. It implements hooks with :data:`hookimpl`:

``nodeagent_settings`` and ``nodeagent_connect`` are required. The ledger ports (transactions, leases, journal,
scheduler, jobs, frames, runs, maintenance) are implemented all or none; the others singly. Every hook is
``firstresult`` and is called with keywords.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pluggy

if TYPE_CHECKING:
    from nodeagent.clock import Clock
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
    from nodeagent.records.maintenance import Check

PROJECT: Final = "nodeagent"
API_VERSION: Final = 1
"""The provider API that this core speaks; a provider names its own in ``NODEAGENT_API`` (default 1)."""

_F = TypeVar("_F", bound=Callable[..., Any])
hookimpl: Final[Callable[[_F], _F]] = pluggy.HookimplMarker(PROJECT)
"""Marks a provider's function as the implementation of the hook of the same name."""
_first = pluggy.HookspecMarker(PROJECT)(firstresult=True)


@_first
def nodeagent_settings() -> type:  # type: ignore[empty-body]
    """Return the attrs class that is the schema of this provider's configuration section."""


@_first
def nodeagent_connect(  # type: ignore[empty-body]
    settings: object, namespace: str, clock: Clock | None, ports: Sequence[str]
) -> Connection:
    """Open a backend.

    ``settings`` is an instance of the settings class. ``clock=None`` means the store's own clock where it has one,
    else the host's; a given clock controls every time the provider reads. ``ports`` names the wanted ports by
    their hook without ``nodeagent_``; open only what they need. No I/O happens before this call.
    """


@_first
def nodeagent_doctor(settings: object, connection: Connection | None) -> list[Check]:  # type: ignore[empty-body]
    """Look at what can go wrong, each with its remedy; ``connection`` is None if opening failed."""


@_first
def nodeagent_transactions(connection: Connection) -> Transactions:  # type: ignore[empty-body]
    """Return the one door for writes."""


@_first
def nodeagent_lease_store(connection: Connection) -> LeaseStore:  # type: ignore[empty-body]
    """Return the leases."""


@_first
def nodeagent_step_journal(connection: Connection) -> StepJournal:  # type: ignore[empty-body]
    """Return the journal's reading side."""


@_first
def nodeagent_scheduler(connection: Connection) -> Scheduler:  # type: ignore[empty-body]
    """Return the scheduler, which claims jobs."""


@_first
def nodeagent_job_store(connection: Connection) -> JobStore:  # type: ignore[empty-body]
    """Return the jobs."""


@_first
def nodeagent_frame_store(connection: Connection) -> FrameStore:  # type: ignore[empty-body]
    """Return the frames."""


@_first
def nodeagent_run_store(connection: Connection) -> RunStore:  # type: ignore[empty-body]
    """Return the agent runs and messages."""


@_first
def nodeagent_maintenance(connection: Connection) -> Maintenance:  # type: ignore[empty-body]
    """Return the operator's verbs."""


@_first
def nodeagent_artifact_store(connection: Connection) -> ArtifactStore:  # type: ignore[empty-body]
    """Return the artifacts."""


@_first
def nodeagent_wakeups(connection: Connection) -> Wakeups:  # type: ignore[empty-body]
    """Return the hints."""


@_first
def nodeagent_tool_runtime(connection: Connection) -> ToolRuntime:  # type: ignore[empty-body]
    """Return a runtime for tools; the core has a default."""


@_first
def nodeagent_policy(connection: Connection) -> Policy:  # type: ignore[empty-body]
    """Return a policy; the core has a default."""


@_first
def nodeagent_model(connection: Connection) -> Model:  # type: ignore[empty-body]
    """Return a model; the core has a scripted one."""
