"""Who holds which lease, and the marks that make the tokens of a resource rise for ever.

A *seat* is what is known of one resource. Its *mark* is the highest token that was ever given out
or skipped; the next lease gets a higher one. A lease ends by a later claim, a release or a revoke.
Its expiry is only looked at by those who would claim.
"""

from __future__ import annotations

from typing import Final, Literal

from attrs import define, evolve, field

from nodeagent import Fence, Lease, Ms, Resource, Token

Loss = Literal["unknown", "released", "revoked", "taken"]

LOST_WRITES: Final = 2**20
"""More claims than a back-up can lack of any one resource, should the clock stand still."""
LAST_MS: Final = Ms(2**53 - 1)


def later(now: Ms, by: int) -> Ms:
    """Return the point in time ``by`` milliseconds after ``now``, at most the last that exists."""
    return Ms(min(now + by, LAST_MS))


@define
class Seat:
    """What is known of one resource: its mark, its latest fence, and how that one's lease ended."""

    mark: int
    latest: Fence | None = None
    ended: Literal["released", "revoked"] = "revoked"


@define
class Seats:
    """The seats of a namespace. ``current`` holds the leases that have not ended."""

    current: dict[Resource, Lease] = field(factory=dict)
    rows: dict[Resource, Seat] = field(factory=dict)
    floor: int = 0

    def mark(self, resource: Resource) -> int | None:
        """Return the resource's mark, None if no seat is kept."""
        seat = self.rows.get(resource)
        return None if seat is None else seat.mark

    def holds(self, fence: Fence) -> bool:
        """Say whether the lease made by the fence's claim is current. Time plays no part."""
        lease = self.current.get(fence.resource)
        return lease is not None and lease.fence == fence

    def loss(self, fence: Fence) -> Loss:
        """Say why a fence does not hold."""
        seat = self.rows.get(fence.resource)
        if seat is None or seat.latest is None or fence.token > seat.latest.token:
            return "unknown"
        if fence.token < seat.latest.token:
            return "taken"
        return seat.ended if fence == seat.latest else "unknown"

    def take(self, resource: Resource, holder: str, ttl_ms: int, claim_id: str, now: Ms) -> Lease:
        """Make a lease with the next token; a lease that was there is lost to it."""
        mark = self.mark(resource)
        lease = Lease(
            resource=resource,
            holder=holder,
            token=Token((self.floor if mark is None else mark) + 1),
            claim_id=claim_id,
            acquired_at=now,
            expires_at=later(now, ttl_ms),
        )
        self.current[resource] = lease
        self.rows[resource] = Seat(mark=lease.token, latest=lease.fence)
        return lease

    def renew(self, lease: Lease, ttl_ms: int, now: Ms) -> Lease:
        """Move the expiry of a current lease; as stored, whatever the caller's copy says."""
        renewed = evolve(self.current[lease.resource], expires_at=later(now, ttl_ms))
        self.current[lease.resource] = renewed
        return renewed

    def release(self, resource: Resource) -> None:
        """End the current lease; the mark stays."""
        del self.current[resource]
        self.rows[resource].ended = "released"

    def revoke(self, resource: Resource) -> None:
        """Raise the mark, also of what was never claimed, and end the lease if there is one."""
        seat = self.rows.setdefault(resource, Seat(mark=self.floor))
        seat.mark += 1
        if self.current.pop(resource, None) is not None:
            seat.ended = "revoked"

    def forget(self, resource: Resource) -> None:
        """Remove the seat, and raise the floor so that a new one starts above its mark."""
        self.current.pop(resource, None)
        seat = self.rows.pop(resource, None)
        if seat is not None:
            self.floor = max(self.floor, seat.mark)

    def restored(self, now: Ms) -> None:
        """Revoke every lease and raise every mark beyond those of the time line that was lost.

        Microseconds since the epoch rise faster than any store claims, in whatever time line.
        """
        for resource in list(self.current):
            self.revoke(resource)
        highest = max((seat.mark for seat in self.rows.values()), default=0)
        self.floor = max(max(self.floor, highest) + LOST_WRITES, min(now * 1000, LAST_MS // 2))
        for seat in self.rows.values():
            seat.mark = self.floor
