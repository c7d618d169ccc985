"""Claiming work."""

from __future__ import annotations

from typing import Protocol

from nodeagent.records.lease import Claims, Peek, Want


class Scheduler(Protocol):
    """Hands out jobs under leases.

    A job is claimable when its ``run_after`` has come *and* it has no unexpired lease, both judged in
    the claim's atom by the store's clock. A claim takes, lane by lane in the order given, by priority
    descending, then ``run_after``, ``created_at`` and ``id`` bytewise. In the same atom it makes the lease, and
    writes the job: status *running*, ``token``, ``attempts`` + 1, revision + 1, ``written_by`` = the claim id;
    it leaves ``run_after`` as it is. It does not know ``max_attempts``.
    """

    def claim(self, want: Want, holder: str, ttl_ms: int, claim_id: str, limit: int = 1) -> Claims:
        """Claim up to ``limit`` jobs. Repeated with its ``claim_id`` it returns the same leases while they are current.

        A repeat returns the claims that are still current, in claim order, as stored (also expired ones: the caller
        renews before any body); if none is, it is a new claim. An unreadable job is passed over. The call waits in the
        server for less than ``ttl_ms``.

        Raises:
            OutcomeUnknown, Unavailable: ask again with the same ``claim_id``.

        """
        ...

    def peek(self, want: Want, limit: int = 1) -> Peek:
        """Return the headers that a claim would return, in claim order, with ``next_due``; claims nothing."""
        ...
