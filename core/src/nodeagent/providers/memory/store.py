"""What one namespace of one named store holds, and the lock around it.

Every value in here is frozen, so what is handed out can never change what is stored. Ports do all
their work under :attr:`Store.lock`; that makes each call one serializable step.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Final, cast

from attrs import define, field

from nodeagent import (
    ArtifactInfo,
    ArtifactRef,
    Entry,
    FrameRecord,
    JobRecord,
    Key,
    MessageRecord,
    Ms,
    Owner,
    Record,
    RecordKind,
    RunRecord,
    Scope,
    Seq,
)
from nodeagent.providers.memory.seats import Seats
from nodeagent.providers.memory.wakeups import Hub


@define
class Row:
    """A record, and the id of the commit that created it, which no later write changes."""

    record: Record
    created_by: str


@define
class Journal:
    """The entries of one scope, in order and by key."""

    entries: list[Entry] = field(factory=list)
    by_key: dict[Key, Entry] = field(factory=dict)

    @property
    def next_seq(self) -> Seq:
        """The place of the next entry."""
        return Seq(len(self.entries) + 1)

    def append(self, entry: Entry) -> None:
        """Add an entry whose place and key are free."""
        self.entries.append(entry)
        self.by_key[entry.key] = entry


def _tables() -> dict[RecordKind, dict[str, Row]]:
    return {"job": {}, "frame": {}, "run": {}, "message": {}}


@define(eq=False)
class Store:
    """One namespace: records, journals, seats and artifacts.

    ``due`` holds, per lane, the ids of the jobs that have a ``run_after``. Finished and parked jobs
    are not in it, so a claim never looks at them.
    """

    tables: dict[RecordKind, dict[str, Row]] = field(factory=_tables)
    journals: dict[Owner, dict[Scope, Journal]] = field(factory=dict)
    due: dict[str, set[str]] = field(factory=dict)
    seats: Seats = field(factory=Seats)
    artifacts: dict[ArtifactRef, tuple[bytes, ArtifactInfo]] = field(factory=dict)
    hub: Hub = field(factory=Hub)
    lock: threading.RLock = field(factory=threading.RLock)

    def row(self, kind: str, name: str) -> Row | None:
        """Return the row of a record."""
        return self.tables[cast("RecordKind", kind)].get(name)

    def record(self, kind: RecordKind, name: str) -> Record | None:
        """Return a record."""
        row = self.tables[kind].get(name)
        return None if row is None else row.record

    def job(self, name: str) -> JobRecord | None:
        """Return a job."""
        return cast("JobRecord | None", self.record("job", name))

    def frame(self, name: str) -> FrameRecord | None:
        """Return a frame."""
        return cast("FrameRecord | None", self.record("frame", name))

    def run(self, name: str) -> RunRecord | None:
        """Return a run."""
        return cast("RunRecord | None", self.record("run", name))

    def all(self, kind: RecordKind) -> list[Any]:
        """Return every record of a kind."""
        return [row.record for row in self.tables[kind].values()]

    def messages(self) -> list[MessageRecord]:
        """Return every message."""
        return cast("list[MessageRecord]", self.all("message"))

    def put(self, kind: RecordKind, record: Record, created_by: str) -> None:
        """Write a record and keep the index of what is due."""
        self.tables[kind][record.id] = Row(record, created_by)
        if isinstance(record, JobRecord):
            self._index(record)

    def remove(self, kind: RecordKind, name: str) -> None:
        """Remove a record."""
        record = self.tables[kind].pop(name).record
        if isinstance(record, JobRecord):
            self.due.get(record.header.lane, set()).discard(name)

    def journal(self, scope: Scope) -> Journal | None:
        """Return the journal of a scope, None if nothing was written there."""
        return self.journals.get(scope.owner, {}).get(scope)

    def entry(self, scope: Scope, key: Key) -> Entry | None:
        """Return an entry."""
        journal = self.journal(scope)
        return None if journal is None else journal.by_key.get(key)

    def append(self, scope: Scope, entry: Entry) -> None:
        """Add an entry to a scope."""
        self.journals.setdefault(scope.owner, {}).setdefault(scope, Journal()).append(entry)

    def next_seq(self, scope: Scope) -> Seq:
        """Return the place of the scope's next entry."""
        journal = self.journal(scope)
        return Seq(1) if journal is None else journal.next_seq

    def clear(self) -> None:
        """Remove everything; who subscribed stays subscribed."""
        self.tables = _tables()
        self.journals.clear()
        self.due.clear()
        self.seats = Seats()
        self.artifacts.clear()

    def _index(self, job: JobRecord) -> None:
        lane = self.due.setdefault(job.header.lane, set())
        if job.header.run_after is None:
            lane.discard(job.id)
        else:
            lane.add(job.id)


# --- the stores of this process -----------------------------------------------------------------

_stores: Final[dict[tuple[str, str], Store]] = {}
_guard: Final = threading.RLock()


def open_store(name: str, namespace: str) -> Store:
    """Return the store of this name and namespace; the same one as long as the process lives."""
    with _guard:
        return _stores.setdefault((name, namespace), Store())


def _before_fork() -> None:
    """Wait until no thread is half-way through a write, so that the child's copy is whole."""
    _guard.acquire()
    for store in _stores.values():
        store.lock.acquire()


def _after_fork() -> None:
    for store in _stores.values():
        store.lock.release()
    _guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def ms_of(record: JobRecord) -> Ms | None:
    """Return when a stored job is due: stored times are points, never durations."""
    due = record.header.run_after
    return None if due is None else due.ms
