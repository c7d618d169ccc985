"""Leases with fencing tokens."""

from __future__ import annotations

from typing import Protocol

from nodeagent.records.ids import Resource
from nodeagent.records.lease import Lease
from nodeagent.records.page import Cursor, Page


class LeaseStore(Protocol):
    """Exclusive, expiring rights with tokens that rise for ever.

    Tokens of one resource strictly increase over release, expiry, revoke, purge and reopening; they may
    skip. Expiry alone takes nothing away: it only allows the next claim. ``holder`` is a label.
    The lease of a ``("job", …)`` resource is taken only by :class:`Scheduler` and ended only by a commit:
    ``claim`` and ``release`` of one raise :class:`~nodeagent.Unsupported`; ``renew``, ``get`` and ``expired`` work.
    """

    def claim(self, resource: Resource, holder: str, ttl_ms: int, claim_id: str) -> Lease | None:
        """Take the lease for ``ttl_ms`` milliseconds, or return None while another one is unexpired.

        None also for the same ``holder``. Repeated with its ``claim_id`` it returns the same lease, as stored,
        while that is current (also when expired); once lost, it is a new claim.

        Raises:
            Unsupported: the resource is a job's.
            OutcomeUnknown, Unavailable: ask again with the same ``claim_id``.

        """
        ...

    def renew(self, lease: Lease, ttl_ms: int) -> Lease:
        """Let the lease expire ``ttl_ms`` from the store's now; writes the lease and nothing else.

        An expired lease that nobody has taken is renewed. Idempotent by token.

        Raises:
            LeaseLost: it was released, revoked or claimed again.

        """
        ...

    def release(self, lease: Lease) -> bool:
        """End the lease. Return whether this call ended it: a repeated or late release answers False."""
        ...

    def get(self, resource: Resource) -> Lease | None:
        """Return the current lease, expired or not, or None."""
        ...

    def expired(self, kind: str, after: Cursor | None, limit: int) -> Page[Lease]:
        """List current leases that have expired and whose resource begins with ``kind``, longest expired first."""
        ...
