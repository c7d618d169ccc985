"""The state machine of a job: each verb reads records and produces one commit.

::

    enqueue → queued → running → completed | blocked | failed      (claim, then finish)
                 ↑        │
                 └────────┘ reschedule · give back
    cancel:  queued | running → canceled          retry: failed → queued     unblock: blocked → queued

Leaving verbs (finish, reschedule, give back) are fenced and carry ``Release``. Every verb appends an audit
entry keyed by its commit id.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve

from nodeagent.errors import Corrupt, Invalid
from nodeagent.lossless import Json, encode
from nodeagent.records.answer import Evidence
from nodeagent.records.commit import Commit, Put, Release, Revoke, WriteOnce
from nodeagent.records.ids import Ms
from nodeagent.records.job import (
    After,
    FrameHeader,
    FrameRecord,
    JobHeader,
    JobRecord,
    JobStatus,
    RunAfter,
)
from nodeagent.records.journal import Entry, Held, Inline, Shared, Stored
from nodeagent.records.lease import Claim
from nodeagent.records.wake import Topic, Work
from nodeagent.rules.specs import (
    Failure,
    FrameRequest,
    FrameState,
    JobState,
    decode_frame_state,
    decode_job_state,
    digest_of,
    encode_frame_spec,
    encode_frame_state,
    encode_job_spec,
    encode_job_state,
    lane_of,
)
from nodeagent.rules.verdict import Verdict

DUE_NOW = After(Ms(0))


def job_topic(job_id: str) -> Topic:
    """Name the hint that a job's status changed."""
    return Topic(f"job {job_id}"[:100])


def receipts_scope(job_id: str) -> Held:
    """Name the scope that holds a job's receipts, one key per round."""
    return Held(("job", job_id), "receipts")


def deliverables_scope(job_id: str) -> Held:
    """Name the scope that holds a job's deliverables, one key per round and name."""
    return Held(("job", job_id), "deliverables")


def steps_scope(job_id: str) -> Held:
    """Name the scope that holds the steps of a job's runner."""
    return Held(("job", job_id), "steps")


def audit_scope(job_id: str) -> Shared:
    """Name the scope that holds a job's audit trail."""
    return Shared(("job", job_id), "audit")


def state_of(job: JobRecord) -> JobState:
    """Read a job's state; an unreadable one is taken as fresh, because it only describes."""
    try:
        return decode_job_state(job.state)
    except Corrupt:
        return JobState()


def enqueue(
    request: FrameRequest, *, job_id: str, frame_id: str, commit_id: str, now: Ms, by_tenant: bool = False
) -> Commit:
    """Create job and frame. A repeat with the same ids and request meets ``Conflict(kind="exists")``."""
    lane = lane_of(request.queue, request.runner, request.tenant if by_tenant else None)
    frame_spec = encode_frame_spec(request)
    frame = FrameRecord(
        header=FrameHeader(id=frame_id, owner=("job", job_id), spec_digest=digest_of(frame_spec), created_at=now),
        spec=frame_spec,
        state=_FRESH_FRAME,
    )
    job_spec = encode_job_spec(request, lane, frame.header.spec_digest)
    header = JobHeader(
        id=job_id,
        spec_digest=digest_of(job_spec),
        created_at=now,
        lane=lane,
        queue=request.queue,
        runner=request.runner,
        tenant=request.tenant,
        priority=request.priority,
        run_after=request.run_after or DUE_NOW,
        frame_id=frame_id,
    )
    job = JobRecord(header=header, spec=job_spec, state=_FRESH_JOB)
    return Commit.unfenced(
        commit_id,
        Put(None, job),
        Put(None, frame),
        _audit(job, commit_id, "enqueue", "queued"),
        wake=(Work(lane),),
    )


def enqueued_records(commit: Commit) -> tuple[JobRecord, FrameRecord]:
    """Return the job and the frame that an enqueue commit creates."""
    job, frame = (write.after for write in commit.writes if isinstance(write, Put))
    assert isinstance(job, JobRecord)  # noqa: S101 - what enqueue builds
    assert isinstance(frame, FrameRecord)  # noqa: S101
    return job, frame


def finish(
    claim: Claim,
    verdict: Verdict,
    *,
    receipt: Stored,
    deliverables: Mapping[str, Stored],
    evidence: tuple[Evidence, ...],
    failure: Failure | None,
    commit_id: str,
    now: Ms,
) -> Commit:
    """End the round: receipt, deliverables, frame, job and release in one commit.

    The bytes of the receipt and of the deliverables are stored already; an entry refers to each, so that no purge
    takes them for garbage.
    """
    job, header = claim.job, claim.job.header
    state = evolve(state_of(job), reason=verdict.reason, failure=failure, parked_on=())
    number = str(header.round)
    entry = Entry(key=(number,), kind="receipt", value=receipt, attempt=header.attempts)
    delivered = (
        Entry(key=(number, name), kind="deliverable", value=value, attempt=header.attempts)
        for name, value in deliverables.items()
    )
    return Commit.fenced(
        commit_id,
        claim.lease.fence,
        WriteOnce(receipts_scope(job.id), entry),
        *(WriteOnce(deliverables_scope(job.id), each) for each in delivered),
        Put(claim.frame, _finished_frame(claim, receipt, evidence, now)),
        Put(job, _moved(job, verdict.decision, None, state, ended_at=now)),
        _audit(job, commit_id, "finish", verdict.decision),
        Release(),
        wake=(job_topic(job.id),),
    )


def reschedule(claim: Claim, failure: Failure, *, delay: Ms, commit_id: str) -> Commit:
    """Put a failed attempt back in the queue, due after ``delay`` milliseconds."""
    job = claim.job
    state = evolve(state_of(job), failure=failure, parked_on=())
    after = _moved(job, "queued", After(delay), state)
    return _leave(claim, after, commit_id, "reschedule")


def give_back(claim: Claim, *, commit_id: str) -> Commit:
    """Put an attempt back that was not begun or was interrupted by a shutdown; it does not count."""
    job = claim.job
    state = evolve(state_of(job), parked_on=())
    after = _moved(job, "queued", DUE_NOW, state, attempts=max(job.header.attempts - 1, 0))
    return _leave(claim, after, commit_id, "give-back")


def cancel(job: JobRecord, *, commit_id: str, now: Ms) -> Commit:
    """End a queued, parked or running job for good; a running one loses its lease in the same commit."""
    if job.header.status not in ("queued", "running"):
        raise Invalid(f"job {job.id!r}", f"is {job.header.status} and can no longer be canceled")
    state = evolve(state_of(job), reason="canceled", parked_on=())
    return Commit.unfenced(
        commit_id,
        Put(job, _moved(job, "canceled", None, state, ended_at=now)),
        Revoke(job.header.resource),
        _audit(job, commit_id, "cancel", "canceled"),
        wake=(job_topic(job.id),),
    )


def retry(job: JobRecord, *, round: int, commit_id: str) -> Commit:  # noqa: A002 - the record's word
    """Give a failed job another round."""
    return _new_round(job, round, "failed", "retry", commit_id)


def unblock(job: JobRecord, *, round: int, commit_id: str) -> Commit:  # noqa: A002 - the record's word
    """Give a blocked job another round, after somebody has done what its reason asks for."""
    return _new_round(job, round, "blocked", "unblock", commit_id)


def _new_round(job: JobRecord, number: int, status: JobStatus, verb: str, commit_id: str) -> Commit:
    header = job.header
    if header.status != status:
        raise Invalid(f"job {job.id!r}", f"is {header.status}; only a {status} job takes {verb}")
    if header.round != number:
        raise Invalid(f"job {job.id!r}", f"is in round {header.round}, not {number}; somebody has acted on it already")
    state = JobState(round_token=header.token)
    after = _moved(job, "queued", DUE_NOW, state, attempts=0, round=number + 1)
    return Commit.unfenced(
        commit_id,
        Put(job, after),
        _audit(job, commit_id, verb, "queued"),
        wake=(Work(header.lane), job_topic(job.id)),
    )


def _leave(claim: Claim, after: JobRecord, commit_id: str, verb: str) -> Commit:
    job = claim.job
    return Commit.fenced(
        commit_id,
        claim.lease.fence,
        Put(job, after),
        _audit(job, commit_id, verb, "queued"),
        Release(),
        wake=(Work(job.header.lane), job_topic(job.id)),
    )


def _moved(
    job: JobRecord,
    status: JobStatus,
    run_after: RunAfter,
    state: JobState,
    *,
    attempts: int | None = None,
    round: int | None = None,  # noqa: A002 - the record's word
    ended_at: Ms | None = None,
) -> JobRecord:
    header = evolve(
        job.header,
        status=status,
        run_after=run_after,
        attempts=job.header.attempts if attempts is None else attempts,
        round=job.header.round if round is None else round,
        ended_at=ended_at,
    )
    return evolve(job, header=header, state=encode_job_state(state))


def _finished_frame(claim: Claim, receipt: Stored, evidence: tuple[Evidence, ...], now: Ms) -> FrameRecord:
    frame = claim.frame
    receipts = {**_receipts_of(frame), str(claim.job.header.round): receipt.ref}
    return evolve(
        frame,
        header=evolve(frame.header, receipt=receipt.ref, ended_at=now),
        state=encode_frame_state(FrameState(evidence=evidence, receipts=receipts)),
    )


def _receipts_of(frame: FrameRecord) -> dict[str, str]:
    try:
        return dict(decode_frame_state(frame.state).receipts)
    except Corrupt:  # the receipts themselves are entries of their own
        return {}


def _audit(job: JobRecord, commit_id: str, verb: str, to: JobStatus) -> WriteOnce:
    header = job.header
    note: dict[str, Json] = {
        "verb": verb,
        "from": header.status if verb != "enqueue" else None,
        "to": to,
        "round": header.round,
        "attempt": header.attempts,
    }
    entry = Entry(key=(commit_id,), kind="audit", value=Inline(encode(note)), attempt=header.attempts)
    return WriteOnce(audit_scope(job.id), entry)


_FRESH_JOB = encode_job_state(JobState())
_FRESH_FRAME = encode_frame_state(FrameState())
