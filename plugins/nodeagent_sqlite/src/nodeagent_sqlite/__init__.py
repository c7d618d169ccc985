"""The SQLite provider of nodeagent: every ledger port in one durable file.

====================  ==================================================================================
:mod:`.settings`      what a user may set
:mod:`.connection`    opening a file: folders, WAL, schema, namespace
:mod:`.database`      its connections, across threads and forks
:mod:`.writer`        group commit: concurrent writers share a transaction
:mod:`.transactions`  the one door for writes; :mod:`.refusals` says why one was refused
:mod:`.scheduler`     claiming jobs
:mod:`.leases`        leases of anything but jobs
:mod:`.journal`       reading the journal
:mod:`.stores`        jobs, frames, runs and messages; :mod:`.records` their rows
:mod:`.artifacts`     bytes by content
:mod:`.remarks`       telling of rows that were passed over
:mod:`.wakeups`       hints between processes
:mod:`.maintenance`   migrations, purge, restored back-ups; :mod:`.doctor` what can be wrong,
                      :mod:`.rows` also inside
====================  ==================================================================================

The modules are imported when a hook needs them, because naming this provider must cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nodeagent import hookimpl
from nodeagent_sqlite.settings import SqliteSettings

if TYPE_CHECKING:
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
    )

__all__ = ["SqliteSettings"]

# ruff: noqa: PLC0415 - see the module's docstring


@hookimpl
def nodeagent_settings() -> type:
    """Return :class:`SqliteSettings`."""
    return SqliteSettings


@hookimpl
def nodeagent_connect(settings: object, namespace: str, clock: Clock | None, ports: Sequence[str]) -> Connection:
    """Open the file, made and migrated if it is new."""
    from nodeagent_sqlite.connection import open_connection

    return open_connection(_own(settings), namespace, clock, ports)


@hookimpl
def nodeagent_doctor(settings: object, connection: Connection | None) -> list[Check]:
    """Look at the file, its surroundings and what is in it."""
    from nodeagent_sqlite.doctor import look

    return look(_own(settings), connection)


@hookimpl
def nodeagent_transactions(connection: Connection) -> Transactions:
    """Return the one door for writes."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.transactions import SqliteTransactions

    return SqliteTransactions(own(connection))


@hookimpl
def nodeagent_lease_store(connection: Connection) -> LeaseStore:
    """Return the leases."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.leases import SqliteLeases

    return SqliteLeases(own(connection))


@hookimpl
def nodeagent_step_journal(connection: Connection) -> StepJournal:
    """Return the journal's reading side."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.journal import SqliteJournal

    return SqliteJournal(own(connection))


@hookimpl
def nodeagent_scheduler(connection: Connection) -> Scheduler:
    """Return the scheduler."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.scheduler import SqliteScheduler

    return SqliteScheduler(own(connection))


@hookimpl
def nodeagent_job_store(connection: Connection) -> JobStore:
    """Return the jobs."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.stores import SqliteJobs

    return SqliteJobs(own(connection))


@hookimpl
def nodeagent_frame_store(connection: Connection) -> FrameStore:
    """Return the frames."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.stores import SqliteFrames

    return SqliteFrames(own(connection))


@hookimpl
def nodeagent_run_store(connection: Connection) -> RunStore:
    """Return the agent runs and messages."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.stores import SqliteRuns

    return SqliteRuns(own(connection))


@hookimpl
def nodeagent_maintenance(connection: Connection) -> Maintenance:
    """Return the operator's verbs."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.maintenance import SqliteMaintenance

    return SqliteMaintenance(own(connection))


@hookimpl
def nodeagent_artifact_store(connection: Connection) -> ArtifactStore:
    """Return the artifacts."""
    from nodeagent_sqlite.artifacts import SqliteArtifacts
    from nodeagent_sqlite.connection import own

    return SqliteArtifacts(own(connection))


@hookimpl
def nodeagent_wakeups(connection: Connection) -> Wakeups:
    """Return the hints."""
    from nodeagent_sqlite.connection import own
    from nodeagent_sqlite.wakeups import SqliteWakeups

    return SqliteWakeups(own(connection).post)


def _own(settings: object) -> SqliteSettings:
    if not isinstance(settings, SqliteSettings):
        raise TypeError(f"expected SqliteSettings, found {type(settings).__name__}")
    return settings
