"""Leases: the rows, the verbs that commits share, and the port for leases of anything but jobs."""

from __future__ import annotations

import functools
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, Literal

from nodeagent import (
    Corrupt,
    Cursor,
    Fence,
    Invalid,
    Lease,
    LeaseLost,
    Ms,
    Page,
    Resource,
    Unsupported,
    decode_key,
    encode_key,
)
from nodeagent_sqlite import statements
from nodeagent_sqlite.connection import SqliteConnection
from nodeagent_sqlite.limits import CLAIM_SHARE, RENEWAL_SHARE, check_ttl
from nodeagent_sqlite.listing import page_of, place_of
from nodeagent_sqlite.names import text_of
from nodeagent_sqlite.records import later

SQL: Final = statements.load("leases")

Loss = Literal["unknown", "released", "revoked", "taken"]


def holds(connection: sqlite3.Connection, namespace_id: int, fence: Fence) -> bool:
    """Say whether the lease made by the fence's claim is current."""
    return connection.execute(SQL["holds"], _name(namespace_id, fence)).fetchone() is not None


def loss(connection: sqlite3.Connection, namespace_id: int, fence: Fence) -> tuple[int | None, Loss]:
    """Return the resource's mark and why the fence does not hold."""
    name = (namespace_id, encode_key(fence.resource))
    row = connection.execute(SQL["last"], name).fetchone()
    if row is None:
        return None, "unknown"
    mark, token, claim_id, state = row
    if fence.token < token:
        return mark, "taken"
    if (fence.token, fence.claim_id) != (token, claim_id):
        return mark, "unknown"
    return mark, "revoked" if state == "revoked" else "released"


def take(
    connection: sqlite3.Connection,
    namespace_id: int,
    resource: Resource,
    *,
    holder: str,
    claim_id: str,
    now: Ms,
    ttl_ms: int,
    lane: str | None = None,
) -> Lease | None:
    """Make a lease with the next token, of a job in a lane or of anything else; None if a current one forbids it."""
    job_id = None if lane is None else resource[1]
    name = (namespace_id, text_of(resource))
    expires_at = later(now, ttl_ms)
    row = (*name, resource[0], lane, job_id, holder, claim_id, now, expires_at)
    if connection.execute(SQL["take"], row).rowcount != 1:
        return None
    (token,) = connection.execute(SQL["token"], name).fetchone()
    return Lease(
        resource=resource,
        holder=holder,
        token=token,
        claim_id=claim_id,
        acquired_at=now,
        expires_at=expires_at,
    )


def release(connection: sqlite3.Connection, namespace_id: int, fence: Fence) -> bool:
    """End the fence's lease; say whether this call did."""
    return connection.execute(SQL["release"], _name(namespace_id, fence)).rowcount == 1


def revoke(connection: sqlite3.Connection, namespace_id: int, resource: Resource) -> None:
    """Raise the resource's mark and end its lease, if there is one."""
    connection.execute(SQL["revoke"], (namespace_id, encode_key(resource), resource[0]))


def free_job(connection: sqlite3.Connection, namespace_id: int, resource: Resource) -> None:
    """Let a job whose lease ended be claimed again. Whoever ends a job's lease calls this, or writes so in the job."""
    if resource[0] == "job" and len(resource) == 2:  # noqa: PLR2004 - a job's resource
        connection.execute(SQL["free_job"], (namespace_id, resource[1]))


def _name(namespace_id: int, fence: Fence) -> tuple[int, str, int, str]:
    return (namespace_id, text_of(fence.resource), fence.token, fence.claim_id)


def lease_of(row: Sequence[Any]) -> Lease:
    """Return the lease that a row is. Raises Corrupt if it is none."""
    resource, holder, token, claim_id, acquired_at, expires_at = row
    try:
        return Lease(
            resource=decode_key(resource),
            holder=holder,
            token=token,
            claim_id=claim_id,
            acquired_at=acquired_at,
            expires_at=expires_at,
        )
    except (Invalid, Corrupt, TypeError, ValueError) as error:
        raise Corrupt(
            f"the stored lease of {resource!r:.200} should be sound, but its row is damaged; revoke it"
        ) from error


class SqliteLeases:
    """Exclusive, expiring rights with tokens that rise for ever."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._database = connection.database
        self._namespace_id = connection.namespace_id
        self._clock = connection.clock
        self._left_out = functools.partial(connection.remarks.passed_over, "lease")

    def claim(self, resource: Resource, holder: str, ttl_ms: int, claim_id: str) -> Lease | None:
        """Take the lease, or return None while another one is unexpired."""
        _refuse_jobs(resource, "claimed by the scheduler")
        check_ttl(ttl_ms)
        held = self.get(resource)
        if held is not None and held.claim_id == claim_id:
            return held
        if held is not None and held.expires_at > self._clock.now():
            return None
        return self._database.write(
            lambda c: self._take(c, resource, holder, ttl_ms, claim_id), within=ttl_ms * CLAIM_SHARE / 1000
        )

    def _take(
        self, connection: sqlite3.Connection, resource: Resource, holder: str, ttl_ms: int, claim_id: str
    ) -> Lease | None:
        now = self._clock.now()
        taken = take(connection, self._namespace_id, resource, holder=holder, claim_id=claim_id, now=now, ttl_ms=ttl_ms)
        if taken is not None:
            return taken
        held = self._current(connection, resource)
        return held if held is not None and held.claim_id == claim_id else None

    def renew(self, lease: Lease, ttl_ms: int) -> Lease:
        """Let the lease expire ``ttl_ms`` from now, unless it is lost."""
        check_ttl(ttl_ms)
        return self._database.write(lambda c: self._renew(c, lease, ttl_ms), within=ttl_ms * RENEWAL_SHARE / 1000)

    def _renew(self, connection: sqlite3.Connection, lease: Lease, ttl_ms: int) -> Lease:
        fence = lease.fence
        expires_at = later(self._clock.now(), ttl_ms)
        renewed = connection.execute(SQL["renew"], (expires_at, *_name(self._namespace_id, fence))).fetchall()
        if not renewed:
            _, reason = loss(connection, self._namespace_id, fence)
            raise LeaseLost(lease.resource, lease.token, reason)
        return lease_of(renewed[0])

    def release(self, lease: Lease) -> bool:
        """End the lease; say whether this call did."""
        _refuse_jobs(lease.resource, "released by a commit")
        return self._database.write(lambda c: release(c, self._namespace_id, lease.fence))

    def get(self, resource: Resource) -> Lease | None:
        """Return the current lease, expired or not, or None."""
        return self._database.read(lambda c: self._current(c, resource))

    def _current(self, connection: sqlite3.Connection, resource: Resource) -> Lease | None:
        name = (self._namespace_id, encode_key(resource))
        row = connection.execute(SQL["current"], name).fetchone()
        return None if row is None else lease_of(row)

    def expired(self, kind: str, after: Cursor | None, limit: int) -> Page[Lease]:
        """List current leases of a kind that have expired, longest expired first."""
        asked = (self._namespace_id, kind, self._clock.now(), *place_of(after), limit + 1)
        rows = self._database.read(lambda c: c.execute(SQL["expired"], asked).fetchall())
        return page_of(rows, limit, lease_of, lambda row: (row[5], row[0]), self._left_out)


def _refuse_jobs(resource: Resource, instead: str) -> None:
    if resource[0] == "job":
        raise Unsupported(f"the lease of a job is {instead}, not through the lease store")
