"""Leases of anything but jobs, and the reading and renewing of all."""

from __future__ import annotations

from attrs import define

from nodeagent import (
    Cursor,
    Lease,
    LeaseLost,
    Page,
    Resource,
    Unsupported,
    encode_key,
)
from nodeagent.providers.memory.connection import MemoryConnection
from nodeagent.providers.memory.listings import page


@define(eq=False)
class MemoryLeases:
    """Exclusive, expiring rights with tokens that rise for ever."""

    _connection: MemoryConnection

    def claim(self, resource: Resource, holder: str, ttl_ms: int, claim_id: str) -> Lease | None:
        """Take the lease, or return None while another one is unexpired."""
        _refuse_jobs(resource, "claimed by the scheduler")
        store = self._connection.store
        with store.lock:
            now = self._connection.now()
            held = store.seats.current.get(resource)
            if held is not None and held.claim_id == claim_id:
                return held
            if held is not None and held.expires_at > now:
                return None
            return store.seats.take(resource, holder, ttl_ms, claim_id, now)

    def renew(self, lease: Lease, ttl_ms: int) -> Lease:
        """Let the lease expire ``ttl_ms`` from now, unless it is lost."""
        store = self._connection.store
        with store.lock:
            if not store.seats.holds(lease.fence):
                raise LeaseLost(lease.resource, lease.token, store.seats.loss(lease.fence))
            return store.seats.renew(lease, ttl_ms, self._connection.now())

    def release(self, lease: Lease) -> bool:
        """End the lease; say whether this call did."""
        _refuse_jobs(lease.resource, "released by a commit")
        store = self._connection.store
        with store.lock:
            if not store.seats.holds(lease.fence):
                return False
            store.seats.release(lease.resource)
            return True

    def get(self, resource: Resource) -> Lease | None:
        """Return the current lease, expired or not."""
        with self._connection.store.lock:
            return self._connection.store.seats.current.get(resource)

    def expired(self, kind: str, after: Cursor | None, limit: int) -> Page[Lease]:
        """List current leases of a kind that have expired, longest expired first."""
        with self._connection.store.lock:
            now = self._connection.now()
            leases = self._connection.store.seats.current.values()
            found = [each for each in leases if each.resource[0] == kind and each.expires_at <= now]
            return page(found, _place, after, limit)


def _place(lease: Lease) -> tuple[int, str]:
    return (lease.expires_at, encode_key(lease.resource))


def _refuse_jobs(resource: Resource, instead: str) -> None:
    if resource[0] == "job":
        raise Unsupported(f"the lease of a job is {instead}, not through the lease store")
