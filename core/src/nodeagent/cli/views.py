"""Stored jobs as JSON for machines: times in milliseconds since the epoch, nothing escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from nodeagent.records.ids import Seq
from nodeagent.records.job import At

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.records.job import JobHeader, JobRecord, RunAfter
    from nodeagent.records.journal import Entry, Scope

PAGE: Final = 200


def header_view(header: JobHeader) -> dict[str, Any]:
    """Return a job's header."""
    return {
        "job_id": header.id,
        "status": header.status,
        "queue": header.queue,
        "runner": header.runner,
        "tenant": header.tenant,
        "lane": header.lane,
        "priority": header.priority,
        "round": header.round,
        "attempts": header.attempts,
        "token": header.token,
        "created_at": header.created_at,
        "due_at": due_at(header.run_after),
        "ended_at": header.ended_at,
    }


def due_at(run_after: RunAfter) -> int | None:
    """Return when a stored job is due, None if not by itself."""
    return run_after.ms if isinstance(run_after, At) else None


def job_view(backend: Backend, job: JobRecord, *, most: int, with_input: bool) -> dict[str, Any]:
    """Return everything about one job; what it costs depends on this job alone."""
    from nodeagent.rules.jobs import audit_scope, receipts_scope, state_of, steps_scope
    from nodeagent.rules.specs import decode_job_spec

    spec, state = decode_job_spec(job.spec), state_of(job)
    failure = state.failure
    steps = _entries(backend, steps_scope(job.id), most)
    view = {
        **header_view(job.header),
        **_frame_view(backend, job),
        "max_attempts": spec.max_attempts,
        "timeout_ms": spec.timeout_ms,
        "reason": state.reason,
        "failure": None
        if failure is None
        else {"kind": failure.kind, "type": failure.type, "message": failure.message},
        "parked_on": list(state.parked_on),
        "lease": _lease_view(backend, job),
        "timeline": [_audit_view(entry) for entry in _entries(backend, audit_scope(job.id), most)],
        "steps": [_step_view(entry) for entry in steps],
        "more_steps": len(steps) == most,
        "receipts": [_receipt_view(entry) for entry in _entries(backend, receipts_scope(job.id), most)],
    }
    return {**view, "input": spec.input} if with_input else view


def _frame_view(backend: Backend, job: JobRecord) -> dict[str, Any]:
    from nodeagent.rules.specs import decode_frame_spec

    frame = backend.frames.get(job.header.frame_id)
    if frame is None:
        return {"goal": None, "phase": None, "minimum_confidence": None, "deliverables": []}
    spec = decode_frame_spec(frame.spec)
    return {
        "goal": spec.goal,
        "phase": spec.phase,
        "minimum_confidence": spec.minimum_confidence,
        "deliverables": list(spec.deliverables),
    }


def _lease_view(backend: Backend, job: JobRecord) -> dict[str, Any] | None:
    lease = backend.leases.get(job.header.resource)
    if lease is None:
        return None
    return {
        "holder": lease.holder,
        "token": lease.token,
        "acquired_at": lease.acquired_at,
        "expires_at": lease.expires_at,
        "is_expired": lease.expires_at <= backend.now(),
    }


def _entries(backend: Backend, scope: Scope, most: int) -> list[Entry]:
    """Return up to ``most`` entries of a scope, in order."""
    found: list[Entry] = []
    for entry in _walk(backend, scope):
        if len(found) == most:
            break
        found.append(entry)
    return found


def _walk(backend: Backend, scope: Scope) -> Iterator[Entry]:
    after = Seq(0)
    while True:
        page = backend.journal.read(scope, after, PAGE)
        yield from page.items
        if page.next is None or not page.items:
            return
        after = page.items[-1].seq


def _audit_view(entry: Entry) -> dict[str, Any]:
    from nodeagent.errors import Corrupt
    from nodeagent.lossless import decode
    from nodeagent.records.journal import Inline

    note: Any = {}
    if isinstance(entry.value, Inline):
        try:
            note = decode(entry.value.data)
        except Corrupt:
            note = {}
    return {"at": entry.at, "seq": entry.seq, **(note if isinstance(note, dict) else {})}


def _step_view(entry: Entry) -> dict[str, Any]:
    return {
        "step": list(entry.key),
        "kind": entry.kind,
        "at": entry.at,
        "attempt": entry.attempt,
        "token": entry.token,
        "size": entry.value.size,
        "sha256": entry.sha256,
    }


def _receipt_view(entry: Entry) -> dict[str, Any]:
    return {"round": int(entry.key[0]), "at": entry.at, "receipt_id": getattr(entry.value, "ref", None)}
