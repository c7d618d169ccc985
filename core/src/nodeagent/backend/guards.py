"""What the core checks at the ledger's ports for every provider, so that no adapter needs to.

An argument that no store may accept is :class:`~nodeagent.Invalid`, what is over a declared limit
:class:`~nodeagent.TooLarge`, what is not declared :class:`~nodeagent.Unsupported`: each before any
I/O. A port whose calls could not be refused for any of these reasons is not wrapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, cast

from attrs import frozen

from nodeagent.backend.limits import Limits
from nodeagent.backend.singles import GuardedArtifacts, GuardedWakeups
from nodeagent.errors import BackendError, Invalid, PortError, TooLarge, Unsupported
from nodeagent.ports import (
    FrameStore,
    JobStore,
    LeaseStore,
    Maintenance,
    RunStore,
    Scheduler,
    StepJournal,
    Transactions,
)
from nodeagent.records.capabilities import Capabilities
from nodeagent.records.commit import Commit, Committed
from nodeagent.records.ids import Key, Ms, Resource, Seq, check_id, check_int, check_parts
from nodeagent.records.job import FrameHeader, FrameRecord, JobHeader, JobRecord
from nodeagent.records.journal import Entry, Scope
from nodeagent.records.lease import Claims, Lanes, Lease, OneJob, Peek, Want
from nodeagent.records.maintenance import Purged, SchemaStatus
from nodeagent.records.page import Cursor, FrameIndex, JobIndex, Page, RunIndex
from nodeagent.records.run import MessageRecord, RunHeader, RunRecord


@frozen
class GuardedTransactions:
    """The one door for writes, for a provider that declares limits."""

    _inner: Transactions
    _limits: Limits

    def commit(self, commit: Commit) -> Committed:
        """Apply ``commit`` if it keeps the limits."""
        self._limits.check_commit(commit)
        return self._inner.commit(commit)

    def commit_many(self, commits: Sequence[Commit]) -> Sequence[Committed | PortError | BackendError]:
        """Apply those that keep the limits, and answer for the others in their places."""
        refused = {place: no for place, one in enumerate(commits) if (no := self._refusal(one))}
        if not refused:
            return self._inner.commit_many(commits)
        sent = [one for place, one in enumerate(commits) if place not in refused]
        answers = iter(self._inner.commit_many(sent) if sent else ())
        return tuple(refused.get(place) or next(answers) for place in range(len(commits)))

    def _refusal(self, commit: Commit) -> TooLarge | None:
        try:
            self._limits.check_commit(commit)
        except TooLarge as error:
            return error
        return None


@frozen
class GuardedLeases:
    """Leases, without the jobs' (which only the scheduler takes and only a commit ends)."""

    _inner: LeaseStore
    _limits: Limits

    def claim(self, resource: Resource, holder: str, ttl_ms: int, claim_id: str) -> Lease | None:
        """Take the lease of anything but a job."""
        self._check(resource)
        _not_a_job(resource, "claimed only through the scheduler")
        _check_claim(holder, claim_id)
        self._limits.check_ttl(ttl_ms)
        return self._inner.claim(resource, holder, ttl_ms, claim_id)

    def renew(self, lease: Lease, ttl_ms: int) -> Lease:
        """Renew any lease."""
        self._limits.check_ttl(ttl_ms)
        return self._inner.renew(lease, ttl_ms)

    def release(self, lease: Lease) -> bool:
        """End the lease of anything but a job."""
        _not_a_job(lease.resource, "ended only by a commit")
        return self._inner.release(lease)

    def get(self, resource: Resource) -> Lease | None:
        """Return the current lease of anything."""
        self._check(resource)
        return self._inner.get(resource)

    def expired(self, kind: str, after: Cursor | None, limit: int) -> Page[Lease]:
        """List expired leases."""
        check_id("kind", kind)
        _check_page(after, limit)
        return self._inner.expired(kind, after, limit)

    def _check(self, resource: Resource) -> None:
        check_parts("resource", resource)
        self._limits.check_name(resource)


@frozen
class GuardedScheduler:
    """The scheduler, with its arguments checked."""

    _inner: Scheduler
    _limits: Limits

    def claim(self, want: Want, holder: str, ttl_ms: int, claim_id: str, limit: int = 1) -> Claims:
        """Claim jobs."""
        _check_want(want)
        _check_claim(holder, claim_id)
        self._limits.check_ttl(ttl_ms)
        check_int("limit", limit, 1)
        return self._inner.claim(want, holder, ttl_ms, claim_id, limit)

    def peek(self, want: Want, limit: int = 1) -> Peek:
        """Look at what a claim would return."""
        _check_want(want)
        check_int("limit", limit, 1)
        return self._inner.peek(want, limit)


@frozen
class GuardedJournal:
    """The journal's reading side, with its arguments checked."""

    _inner: StepJournal
    _limits: Limits

    def get(self, scope: Scope, key: Key) -> Entry | None:
        """Return the entry, or None."""
        self._check(scope)
        check_parts("key", key)
        self._limits.check_name(key)
        return self._inner.get(scope, key)

    def read(self, scope: Scope, after: Seq, limit: int) -> Page[Entry]:
        """Return one page of a scope."""
        self._check(scope)
        check_int("after", after)
        check_int("limit", limit, 1)
        return self._inner.read(scope, after, limit)

    def _check(self, scope: Scope) -> None:
        if not isinstance(scope, Scope):
            raise Invalid("scope", f"must be a Held or Shared, but is a {type(scope).__name__}")
        self._limits.check_name(scope)


@frozen
class GuardedJobs:
    """Jobs, with the arguments checked."""

    _inner: JobStore

    def get(self, job_id: str) -> JobRecord | None:
        """Return the job, or None."""
        return self._inner.get(check_id("job_id", job_id))

    def list(self, index: JobIndex, after: Cursor | None, limit: int) -> Page[JobHeader]:
        """Return one page of an index."""
        _check_page(after, limit)
        return self._inner.list(index, after, limit)


@frozen
class GuardedFrames:
    """Frames, with the arguments checked."""

    _inner: FrameStore

    def get(self, frame_id: str) -> FrameRecord | None:
        """Return the frame, or None."""
        return self._inner.get(check_id("frame_id", frame_id))

    def list(self, index: FrameIndex, after: Cursor | None, limit: int) -> Page[FrameHeader]:
        """Return one page of an index."""
        _check_page(after, limit)
        return self._inner.list(index, after, limit)


@frozen
class GuardedRuns:
    """Agent runs and messages, with the arguments checked."""

    _inner: RunStore

    def get(self, run_id: str) -> RunRecord | None:
        """Return the run, or None."""
        return self._inner.get(check_id("run_id", run_id))

    def list(self, index: RunIndex, after: Cursor | None, limit: int) -> Page[RunHeader]:
        """Return one page of an index."""
        _check_page(after, limit)
        return self._inner.list(index, after, limit)

    def messages(self, conversation_id: str, after: Cursor | None, limit: int) -> Page[MessageRecord]:
        """Return one page of a conversation."""
        check_id("conversation_id", conversation_id)
        _check_page(after, limit)
        return self._inner.messages(conversation_id, after, limit)


@frozen
class GuardedMaintenance:
    """The operator's verbs, with the arguments checked."""

    _inner: Maintenance

    def schema(self) -> SchemaStatus:
        """Compare the schemas."""
        return self._inner.schema()

    def migrate(self, phase: Literal["pre", "post"]) -> SchemaStatus:
        """Apply the migrations of one phase."""
        if cast("object", phase) not in ("pre", "post"):
            raise Invalid("phase", f'must be "pre" or "post", but is {phase!r}')
        return self._inner.migrate(phase)

    def purge(self, ended_before: Ms, limit: int) -> Purged:
        """Remove one bounded batch."""
        check_int("ended_before", ended_before)
        check_int("limit", limit, 1)
        return self._inner.purge(ended_before, limit)

    def drop_namespace(self) -> None:
        """Remove everything of this namespace."""
        self._inner.drop_namespace()

    def restored(self) -> None:
        """Make a restored store safe."""
        self._inner.restored()


# --- which guard for which port -----------------------------------------------------------------

_LIMITED: Final = {
    "lease_store": GuardedLeases,
    "step_journal": GuardedJournal,
    "scheduler": GuardedScheduler,
}
_CHECKED: Final = {
    "job_store": GuardedJobs,
    "frame_store": GuardedFrames,
    "run_store": GuardedRuns,
    "maintenance": GuardedMaintenance,
    "artifact_store": GuardedArtifacts,
}


def guarded(name: str, port: Any, declared: Capabilities) -> Any:
    """Return the port ``name`` behind its checks; without any if nothing could be refused."""
    limits = Limits.of(declared)
    if name == "transactions":
        return GuardedTransactions(port, limits) if limits.bound_commits else port
    if name == "wakeups":
        return GuardedWakeups.of(port, declared)
    if name in _LIMITED:
        return _LIMITED[name](port, limits)
    return _CHECKED[name](port) if name in _CHECKED else port


# --- checks -------------------------------------------------------------------------------------


def _not_a_job(resource: Resource, how: str) -> None:
    if resource[0] == "job":
        raise Unsupported(f"the lease of a job is {how}; {resource!r} was given to the lease store")


def _check_claim(holder: str, claim_id: str) -> None:
    check_id("holder", holder)
    check_id("claim_id", claim_id)


def _check_page(after: Cursor | None, limit: int) -> None:
    check_int("limit", limit, 1)
    if after is not None and not isinstance(cast("object", after), str):
        raise Invalid("after", f"must be a page's cursor or None, but is a {type(after).__name__}")


def _check_want(want: Want) -> None:
    if isinstance(want, Lanes):
        for lane in want.names:
            check_id("a lane", lane)
    elif not isinstance(cast("object", want), OneJob):
        raise Invalid("want", f"must be Lanes or OneJob, but is a {type(want).__name__}")
