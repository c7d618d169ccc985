"""The memory provider: every port in plain Python, the executable specification of the contract.

One lock and a few dicts hold a namespace. Where a sentence of the contract leaves room, this code
is what it means; other providers are compared with it, call by call. Nothing survives the process,
and no other process sees it.

====================  ===================================================================
:mod:`.store`         what one namespace holds, and the lock around it
:mod:`.seats`         who holds which lease, and the marks that make tokens rise for ever
:mod:`.transactions`  the one door for writes: anchors, fence, preconditions, write
:mod:`.scheduler`     which job is claimed next, and when to look again
:mod:`.leases`        leases of anything but jobs
:mod:`.listings`      jobs, frames, runs and messages in pages
:mod:`.journal`       reading the journal
:mod:`.artifacts`     bytes by content
:mod:`.wakeups`       hints, delivered on one thread
:mod:`.maintenance`   purge, drop, and what follows a restored back-up
====================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Sequence

from nodeagent import (
    ArtifactStore,
    Check,
    Clock,
    Connection,
    FrameStore,
    JobStore,
    LeaseStore,
    Maintenance,
    RunStore,
    Scheduler,
    StepJournal,
    Transactions,
    Wakeups,
    hookimpl,
)
from nodeagent.providers.memory.artifacts import MemoryArtifacts
from nodeagent.providers.memory.connection import MemoryConnection, MemorySettings, own
from nodeagent.providers.memory.journal import MemoryJournal
from nodeagent.providers.memory.leases import MemoryLeases
from nodeagent.providers.memory.listings import MemoryFrames, MemoryJobs, MemoryRuns
from nodeagent.providers.memory.maintenance import MemoryMaintenance
from nodeagent.providers.memory.scheduler import MemoryScheduler
from nodeagent.providers.memory.transactions import MemoryTransactions
from nodeagent.providers.memory.wakeups import MemoryWakeups

__all__ = ["MemoryConnection", "MemorySettings"]


@hookimpl
def nodeagent_settings() -> type:
    """Return :class:`MemorySettings`."""
    return MemorySettings


@hookimpl
def nodeagent_connect(settings: object, namespace: str, clock: Clock | None, ports: Sequence[str]) -> Connection:
    """Open the namespace of the named store, which springs into being on first use."""
    del ports  # they all live in the same dicts
    return MemoryConnection.open(settings, namespace, clock)


@hookimpl
def nodeagent_doctor(settings: object, connection: Connection | None) -> list[Check]:
    """Say what everybody who chose this provider should know."""
    del settings, connection
    return [
        Check(
            name="durability",
            status="warning",
            found="everything is kept in this process and lost with it",
            remedy="choose a durable provider, such as sqlite, for work that must survive",
        )
    ]


@hookimpl
def nodeagent_transactions(connection: Connection) -> Transactions:
    """Return the one door for writes."""
    return MemoryTransactions(own(connection))


@hookimpl
def nodeagent_lease_store(connection: Connection) -> LeaseStore:
    """Return the leases."""
    return MemoryLeases(own(connection))


@hookimpl
def nodeagent_step_journal(connection: Connection) -> StepJournal:
    """Return the journal's reading side."""
    return MemoryJournal(own(connection))


@hookimpl
def nodeagent_scheduler(connection: Connection) -> Scheduler:
    """Return the scheduler."""
    return MemoryScheduler(own(connection))


@hookimpl
def nodeagent_job_store(connection: Connection) -> JobStore:
    """Return the jobs."""
    return MemoryJobs(own(connection))


@hookimpl
def nodeagent_frame_store(connection: Connection) -> FrameStore:
    """Return the frames."""
    return MemoryFrames(own(connection))


@hookimpl
def nodeagent_run_store(connection: Connection) -> RunStore:
    """Return the agent runs and messages."""
    return MemoryRuns(own(connection))


@hookimpl
def nodeagent_maintenance(connection: Connection) -> Maintenance:
    """Return the operator's verbs."""
    return MemoryMaintenance(own(connection))


@hookimpl
def nodeagent_artifact_store(connection: Connection) -> ArtifactStore:
    """Return the artifacts."""
    return MemoryArtifacts(own(connection))


@hookimpl
def nodeagent_wakeups(connection: Connection) -> Wakeups:
    """Return the hints."""
    return MemoryWakeups(own(connection))
