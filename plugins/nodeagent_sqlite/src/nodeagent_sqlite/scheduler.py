"""Claiming jobs.

A job can be claimed from one millisecond on: the later of its ``run_after`` and the expiry of its lease, if it has one.
Idle workers only read: after a claim that found nothing, the next one takes the write lock only when a look at one
state of the file shows that something is claimable, and decides anew in its atom what it takes.
"""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from attrs import evolve, frozen

from nodeagent import (
    Claim,
    Claims,
    Corrupt,
    FrameRecord,
    Invalid,
    JobHeader,
    JobRecord,
    Lanes,
    Lease,
    Ms,
    Peek,
    Want,
    encode_key,
)
from nodeagent_sqlite import leases, statements
from nodeagent_sqlite.connection import SqliteConnection
from nodeagent_sqlite.limits import CLAIM_SHARE, check_ttl
from nodeagent_sqlite.records import FRAME, JOB, LAST_MS
from nodeagent_sqlite.writer import undone_if_refused

SQL: Final = statements.load("scheduler")
_JOB_COLUMNS: Final = 19
_ABOVE_ALL: Final = 2**31
_ALWAYS: Final = -1
"""Before every time."""


_Row = tuple[int, str]
"""The number of a job's row, and the job's id."""


@frozen
class _Found:
    """A claimable job, whole, and the number of its row."""

    number: int
    job: JobRecord
    frame: FrameRecord


class SqliteScheduler:
    """Hands out jobs under leases."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._database = connection.database
        self._namespace_id = connection.namespace_id
        self._clock = connection.clock
        self._remarks = connection.remarks
        self._is_busy = False

    def claim(self, want: Want, holder: str, ttl_ms: int, claim_id: str, limit: int = 1) -> Claims:
        """Claim up to ``limit`` jobs, or return again what this claim still holds."""
        check_ttl(ttl_ms)
        if not self._is_busy:
            nothing = self._database.snapshot(lambda c: self._nothing(c, want, claim_id))
            if nothing is not None:
                return nothing

        def bold(connection: sqlite3.Connection) -> tuple[Claims, _Look]:
            look = _Look(connection, self._namespace_id, want, self._clock.now())
            return _claim(look, lambda found: look.take(found, holder, ttl_ms, claim_id), claim_id, limit), look

        def careful(connection: sqlite3.Connection) -> tuple[Claims, _Look]:
            look = _Look(connection, self._namespace_id, want, self._clock.now())

            def take(found: _Found) -> Claim | None:
                return look.try_to_take(found, holder, ttl_ms, claim_id)

            return undone_if_refused(connection, lambda: _claim(look, take, claim_id, limit)), look

        claims, look = self._database.write(careful, bold, within=ttl_ms * CLAIM_SHARE / 1000)
        self._tell(look)
        self._is_busy = bool(claims.claims)
        return claims

    def _tell(self, look: _Look) -> None:
        for name in look.passed_over:
            self._remarks.passed_over("job", name)

    def _nothing(self, connection: sqlite3.Connection, want: Want, claim_id: str) -> Claims | None:
        """Return the answer to a claim that finds nothing, without a lock, or None if it may find something."""
        look = _Look(connection, self._namespace_id, want, self._clock.now())
        due = look.next_due(_ALWAYS)
        if (due is not None and due <= look.now) or look.is_repeated(claim_id):
            return None
        return Claims(claims=(), next_due=due, now=look.now)

    def peek(self, want: Want, limit: int = 1) -> Peek:
        """Return what a claim would return; ``next_due`` is about the jobs that it would leave."""

        def query(connection: sqlite3.Connection) -> tuple[Peek, _Look]:
            look = _Look(connection, self._namespace_id, want, self._clock.now())
            found, has_more = look.claimable(limit)
            due = look.now if has_more else look.next_due(look.now, [each.number for each in found])
            headers = tuple(each.job.header for each in found)
            return Peek(jobs=headers, next_due=due, now=look.now), look

        peek, look = self._database.snapshot(query)
        self._tell(look)
        return peek


def _claim(look: _Look, take: Callable[[_Found], Claim | None], claim_id: str, limit: int) -> Claims:
    repeated = look.held_by(claim_id)
    if repeated:
        return Claims(claims=repeated, next_due=look.next_due(_ALWAYS), now=look.now)
    rows = look.rows()
    taken = (claim for claim in map(take, look.readable(rows)) if claim is not None)
    claims = tuple(islice(taken, limit))
    has_more = next(rows, None) is not None
    due = look.now if has_more else look.next_due(look.now)
    return Claims(claims=claims, next_due=due, now=look.now)


class _Look:
    """One look at the jobs that somebody wants, at one time and one state of the file.

    It comes to each claimable job once, and ``passed_over`` names those that nobody can read or take.
    """

    def __init__(self, connection: sqlite3.Connection, namespace_id: int, want: Want, now: Ms) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._want = want
        self.now = now
        self.passed_over: list[str] = []

    # --- what can be claimed --------------------------------------------------------------------

    def claimable(self, limit: int) -> tuple[list[_Found], bool]:
        """Return up to ``limit`` claimable jobs in claim order, and whether there seem to be more."""
        rows = self.rows()
        found = list(islice(self.readable(rows), limit))
        return found, next(rows, None) is not None

    def rows(self) -> Iterator[_Row]:
        """Find the claimable jobs in claim order, each once."""
        return self._in_lanes() if isinstance(self._want, Lanes) else self._one()

    def readable(self, rows: Iterable[_Row]) -> Iterator[_Found]:
        """Read those that can be read."""
        for number, name in rows:
            found = self._whole(number)
            if found is None:
                self.passed_over.append(name)
            else:
                yield found

    def _one(self) -> Iterator[_Row]:
        row = self._one_row()
        if row is not None and max(row[1], row[2] or 0) <= self.now:
            assert not isinstance(self._want, Lanes)  # noqa: S101 - for the type checker
            yield row[0], self._want.job_id

    def _one_row(self) -> tuple[int, int, int | None] | None:
        assert not isinstance(self._want, Lanes)  # noqa: S101 - for the type checker
        job_id = self._want.job_id
        key = (self._namespace_id, job_id, encode_key(("job", job_id)))
        row: tuple[int, int, int | None] | None = self._connection.execute(SQL["one_job"], key).fetchone()
        return row

    def _in_lanes(self) -> Iterator[_Row]:
        before = None
        for lane in self._lanes():
            for row in heapq.merge(self._ready(lane), self._abandoned(lane), key=_order):
                if row[4] != before:  # a job that is said to be free although its lease is held is found twice
                    before = row[4]
                    yield before, row[3]

    def _lanes(self) -> tuple[str, ...]:
        return self._want.names if isinstance(self._want, Lanes) else ()

    def _ready(self, lane: str) -> Iterator[tuple[Any, ...]]:
        priority = _ABOVE_ALL
        while True:
            place = (self._namespace_id, lane, priority)
            row = self._connection.execute(SQL["next_priority"], place).fetchone()
            if row is None:
                return
            (priority,) = row
            asked = (self._namespace_id, lane, priority, self.now)
            yield from self._connection.execute(SQL["ready"], asked)

    def _abandoned(self, lane: str) -> Iterator[tuple[Any, ...]]:
        return self._connection.execute(SQL["abandoned"], (self._namespace_id, lane, self.now))

    def _whole(self, number: int) -> _Found | None:
        """Return a job with its frame; None if either is missing or unreadable, which nobody can work on."""
        row = self._connection.execute(SQL["whole_job"], (number,)).fetchone()
        if row is None:
            return None
        try:
            return _Found(number, JOB.whole(row[:_JOB_COLUMNS]), FRAME.whole(row[_JOB_COLUMNS:]))
        except Corrupt:
            return None

    # --- claiming -------------------------------------------------------------------------------

    def take(self, found: _Found, holder: str, ttl_ms: int, claim_id: str) -> Claim:
        """Lease a job and write that it runs."""
        header = found.job.header
        lease = leases.take(
            self._connection,
            self._namespace_id,
            header.resource,
            holder=holder,
            claim_id=claim_id,
            now=self.now,
            ttl_ms=ttl_ms,
            lane=header.lane,
        )
        if lease is None:
            raise Corrupt(f"job {header.id!r} should be free, but its lease is held; restore it from a back-up")
        self._connection.execute(SQL["mark_running"], (claim_id, lease.token, found.number))
        running = evolve(
            header,
            version=header.version.next(claim_id),
            status="running",
            attempts=header.attempts + 1,
            token=lease.token,
        )
        return Claim(lease=lease, job=evolve(found.job, header=running), frame=found.frame)

    def try_to_take(self, found: _Found, holder: str, ttl_ms: int, claim_id: str) -> Claim | None:
        """Take a job, or pass over one whose rows contradict each other or leave no room for one more claim."""
        try:
            return undone_if_refused(self._connection, lambda: self.take(found, holder, ttl_ms, claim_id))
        except (Corrupt, Invalid, sqlite3.IntegrityError):
            self.passed_over.append(found.job.id)
            return None

    def is_repeated(self, claim_id: str) -> bool:
        """Say whether the claim still holds something."""
        key = (self._namespace_id, claim_id)
        return self._connection.execute(SQL["held_by_claim"], key).fetchone() is not None

    def held_by(self, claim_id: str) -> tuple[Claim, ...]:
        """Return what the claim took before and nobody took from it, as it is stored now."""
        key = (self._namespace_id, claim_id)
        rows = self._connection.execute(SQL["held_by_claim"], key).fetchall()
        pairs = [(self._lease(row), self._whole(row[6])) for row in rows]
        claims = [
            Claim(lease=lease, job=found.job, frame=found.frame)
            for lease, found in pairs
            if lease is not None and found is not None
        ]
        return tuple(sorted(claims, key=lambda claim: self._claim_order(claim.job.header)))

    def _lease(self, row: tuple[Any, ...]) -> Lease | None:
        try:
            return leases.lease_of(row[:6])
        except Corrupt:
            return None

    def _claim_order(self, header: JobHeader) -> tuple[int, int, int, int, str]:
        lanes = self._lanes()
        place = lanes.index(header.lane) if header.lane in lanes else len(lanes)
        due = getattr(header.run_after, "ms", 0)
        return (place, -header.priority, due, header.created_at, header.id)

    # --- when to look again ---------------------------------------------------------------------

    def next_due(self, later_than: int, without: Iterable[int] = ()) -> Ms | None:
        """Return when the first wanted job becomes claimable later than that, None if none does by itself."""
        if not isinstance(self._want, Lanes):
            row = self._one_row()
            times = [] if row is None or row[0] in without else [max(row[1], row[2] or 0)]
        else:
            excluded = json.dumps(list(without))
            times = [
                time
                for lane in self._want.names
                for time in (
                    self._next_ready(lane, later_than, excluded),
                    self._next_expiry(lane, later_than, excluded),
                )
                if time is not None
            ]
        return min((Ms(min(time, LAST_MS)) for time in times if time > later_than), default=None)

    def _next_ready(self, lane: str, later_than: int, excluded: str) -> int | None:
        asked = (self._namespace_id, lane, later_than, excluded)
        time: int | None = self._connection.execute(SQL["next_ready"], asked).fetchone()[0]
        return time

    def _next_expiry(self, lane: str, later_than: int, excluded: str) -> int | None:
        asked = (self._namespace_id, lane, excluded)
        best: int | None = None
        for expires_at, run_after in self._connection.execute(SQL["held_in_lane"], asked):
            if best is not None and expires_at >= best:
                break
            time = max(expires_at, run_after)
            if time > later_than and (best is None or time < best):
                best = time
        return best


def _order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    priority, run_after, created_at, name, _ = row
    return (-priority, run_after, created_at, name)
