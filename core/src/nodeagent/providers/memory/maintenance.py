"""The operator's verbs."""

from __future__ import annotations

from heapq import nsmallest
from typing import Final, Literal

from attrs import define

from nodeagent import (
    ArtifactRef,
    FrameRecord,
    JobRecord,
    Ms,
    Owner,
    Purged,
    RecordKind,
    RunRecord,
    SchemaStatus,
    Stored,
)
from nodeagent.providers.memory.connection import MemoryConnection
from nodeagent.providers.memory.store import Store

_CURRENT: Final = SchemaStatus(found=1, wanted=1)
ARTIFACT_GRACE_MS: Final = 24 * 60 * 60 * 1000
"""How long after its last put an artifact is kept whatever refers to it: the commit that will may be under way."""
_OWNED: Final[tuple[RecordKind, ...]] = ("job", "frame", "run", "message")


@define(eq=False)
class MemoryMaintenance:
    """Retention, and what follows a restored back-up. Dicts have no schema to migrate."""

    _connection: MemoryConnection

    def schema(self) -> SchemaStatus:
        """Say that the schema is current, as it always is."""
        return _CURRENT

    def migrate(self, phase: Literal["pre", "post"]) -> SchemaStatus:
        """Change nothing."""
        del phase
        return _CURRENT

    def purge(self, ended_before: Ms, limit: int) -> Purged:
        """Remove what ended before then, in batches: ``limit`` owners, and as many artifacts."""
        store = self._connection.store
        with store.lock:
            ended = nsmallest(limit + 1, _ended(store, ended_before))
            counts = [_remove(store, owner) for _, owner in ended[:limit]]
            stale = _unreferenced(store, min(ended_before, self._connection.now() - ARTIFACT_GRACE_MS))
            for ref in stale[:limit]:
                del store.artifacts[ref]
        return Purged(
            jobs=sum(jobs for jobs, _, _ in counts),
            runs=sum(runs for _, runs, _ in counts),
            entries=sum(entries for _, _, entries in counts),
            artifacts=min(len(stale), limit),
            more=len(ended) > limit or len(stale) > limit,
        )

    def drop_namespace(self) -> None:
        """Remove everything of this namespace."""
        with self._connection.store.lock:
            self._connection.store.clear()

    def restored(self) -> None:
        """Revoke every lease and raise every mark beyond what was lost."""
        with self._connection.store.lock:
            self._connection.store.seats.restored(self._connection.now())


def _ended(store: Store, before: Ms) -> list[tuple[Ms, Owner]]:
    """Return the jobs, and the runs outside any job, that ended before then, with when they did."""
    jobs: list[JobRecord] = store.all("job")
    runs: list[RunRecord] = store.all("run")
    alone = [run for run in runs if run.owner == ("run", run.id)]
    ends = [(job.header.ended_at, job.owner) for job in jobs]
    ends += [(run.header.ended_at, run.owner) for run in alone]
    return [(end, owner) for end, owner in ends if end is not None and end < before]


def _remove(store: Store, owner: Owner) -> tuple[int, int, int]:
    """Remove all that this owner owns; return how many jobs, runs and entries that was."""
    counts = {}
    for kind in _OWNED:
        names = [record.id for record in store.all(kind) if record.owner == owner]
        counts[kind] = len(names)
        for name in names:
            store.remove(kind, name)
    journals = store.journals.pop(owner, {})
    store.seats.forget(owner)
    return (counts["job"], counts["run"], sum(len(each.entries) for each in journals.values()))


def _unreferenced(store: Store, before: int) -> list[ArtifactRef]:
    """Return the artifacts put before then that no entry and no frame refers to."""
    kept = _references(store)
    known = ((ref, info) for ref, (_, info) in store.artifacts.items())
    return sorted(
        (ref for ref, info in known if info.put_at < before and ref.id not in kept),
        key=lambda ref: ref.id,
    )


def _references(store: Store) -> set[str]:
    frames: list[FrameRecord] = store.all("frame")
    scopes = (scope for scopes in store.journals.values() for scope in scopes.values())
    values = (entry.value for scope in scopes for entry in scope.entries)
    return {value.ref for value in values if isinstance(value, Stored)} | {
        frame.header.receipt for frame in frames if frame.header.receipt is not None
    }
