"""Which job is claimed next, and when it is worth to look again.

A job is claimable when its ``run_after`` has come and it has no unexpired lease. Both together
make one point in time, the later of the two; from that millisecond on the job may be claimed. A job
whose frame is missing cannot be handed out, so it is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nsmallest
from typing import cast

from attrs import define

from nodeagent import (
    Claim,
    Claims,
    JobRecord,
    Lanes,
    Lease,
    Ms,
    Peek,
    Want,
)
from nodeagent.providers.memory.connection import MemoryConnection
from nodeagent.providers.memory.store import Store, ms_of
from nodeagent.providers.memory.transactions import with_header


@define(eq=False)
class MemoryScheduler:
    """Hands out jobs under leases."""

    _connection: MemoryConnection

    def claim(self, want: Want, holder: str, ttl_ms: int, claim_id: str, limit: int = 1) -> Claims:
        """Claim up to ``limit`` jobs, or return again what this claim still holds."""
        store = self._connection.store
        with store.lock:
            now = self._connection.now()
            claims = _held_by(store, claim_id, want)
            if not claims:
                jobs = _claimable(store, want, now, limit)
                seats = store.seats
                leases = [seats.take(j.owner, holder, ttl_ms, claim_id, now) for j in jobs]
                claims = [_claim(store, *pair) for pair in zip(jobs, leases, strict=True)]
            due = _next_due(store, _wanted(store, want))
            return Claims(claims=tuple(claims), next_due=due, now=now)

    def peek(self, want: Want, limit: int = 1) -> Peek:
        """Return what a claim would return; ``next_due`` is about the jobs that it would leave."""
        store = self._connection.store
        with store.lock:
            now = self._connection.now()
            jobs = _claimable(store, want, now, limit)
            rest = [job for job in _wanted(store, want) if job not in jobs]
            headers = tuple(job.header for job in jobs)
            return Peek(jobs=headers, next_due=_next_due(store, rest), now=now)


def _wanted(store: Store, want: Want) -> list[JobRecord]:
    """Return the wanted jobs that have a ``run_after`` and a frame, in no order."""
    if isinstance(want, Lanes):
        names: Iterable[str] = (name for lane in want.names for name in store.due.get(lane, ()))
    else:
        names = (want.job_id,)
    jobs = (store.job(name) for name in names)
    return [job for job in jobs if job and ms_of(job) is not None and _frame(store, job)]


def _frame(store: Store, job: JobRecord) -> bool:
    return store.frame(job.header.frame_id) is not None


def _claimable_at(store: Store, job: JobRecord) -> Ms:
    """Return the first millisecond in which the job can be claimed."""
    lease = store.seats.current.get(job.header.resource)
    due = cast("Ms", ms_of(job))
    return due if lease is None else max(due, lease.expires_at)


def _claimable(store: Store, want: Want, now: Ms, limit: int) -> list[JobRecord]:
    ready = (job for job in _wanted(store, want) if _claimable_at(store, job) <= now)
    return nsmallest(limit, ready, key=lambda job: _order(job, want))


def _order(job: JobRecord, want: Want) -> tuple[int, int, int, int, str]:
    """Sort as the contract says; a str sorts as its UTF-8 bytes do."""
    header = job.header
    lanes = want.names if isinstance(want, Lanes) else ()
    place = lanes.index(header.lane) if header.lane in lanes else len(lanes)
    return (place, -header.priority, ms_of(job) or 0, header.created_at, job.id)


def _next_due(store: Store, jobs: Iterable[JobRecord]) -> Ms | None:
    return min((_claimable_at(store, job) for job in jobs), default=None)


def _held_by(store: Store, claim_id: str, want: Want) -> list[Claim]:
    """Return what this claim took before and nobody took from it, as it is stored now."""
    leases = [lease for lease in store.seats.current.values() if lease.claim_id == claim_id]
    claims = [_claim_of(store, lease) for lease in leases if lease.resource[0] == "job"]
    found = [claim for claim in claims if claim is not None]
    return sorted(found, key=lambda claim: _order(claim.job, want))


def _claim_of(store: Store, lease: Lease) -> Claim | None:
    job = store.job(lease.resource[1])
    frame = store.frame(job.header.frame_id) if job else None
    return Claim(lease=lease, job=job, frame=frame) if job and frame else None


def _claim(store: Store, job: JobRecord, lease: Lease) -> Claim:
    """Write the job that was leased; ``run_after`` stays, so that a crash leaves it claimable."""
    claimed = with_header(
        job,
        spec=job.spec,
        version=job.header.version.next(lease.claim_id),
        status="running",
        attempts=job.header.attempts + 1,
        token=lease.token,
    )
    row = store.tables["job"][job.id]
    store.put("job", claimed, row.created_by)
    return cast("Claim", _claim_of(store, lease))
