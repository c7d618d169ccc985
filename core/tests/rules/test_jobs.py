"""The state machine of a job, verb by verb, without any store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from nodeagent import (
    After,
    At,
    Claim,
    Commit,
    Evidence,
    FrameRecord,
    FrameRequest,
    Invalid,
    JobRecord,
    Lease,
    Ms,
    Put,
    Release,
    Revoke,
    Stored,
    Token,
    Version,
    WriteOnce,
)
from nodeagent.lossless import decode
from nodeagent.records.commit import anchors
from nodeagent.records.ids import Revision
from nodeagent.rules import jobs
from nodeagent.rules.specs import (
    Failure,
    decode_frame_spec,
    decode_frame_state,
    decode_job_spec,
    lane_of,
)
from nodeagent.rules.verdict import Verdict

REQUEST = FrameRequest(goal="Which port?", runner="evidence", input={"sources": ["a"]})
FAILURE = Failure(kind="retryable", type="OSError", message="gone")
RECEIPT = Stored("sha256:" + "0" * 64, "0" * 64, 10)
MEMO = Stored("sha256:" + "1" * 64, "1" * 64, 20)
NOW = Ms(1_000)


def enqueue(request: FrameRequest = REQUEST) -> tuple[JobRecord, FrameRecord]:
    """Return a job and its frame as a store would have them after the enqueue."""
    commit = jobs.enqueue(request, job_id="j", frame_id="f", commit_id="c1", now=NOW)
    job, frame = jobs.enqueued_records(commit)
    version = Version(Revision(1), "c1")
    return (
        evolve(job, header=evolve(job.header, version=version, run_after=At(NOW))),
        evolve(frame, header=evolve(frame.header, version=version)),
    )


def claimed(*, attempts: int = 1, token: int = 1, number: int = 1) -> Claim:
    """Return a claim of the job as a store would hand it out."""
    job, frame = enqueue()
    header = evolve(
        job.header,
        status="running",
        attempts=attempts,
        token=Token(token),
        round=number,
        version=Version(Revision(2), "claim"),
    )
    lease = Lease(
        resource=("job", "j"), holder="w", token=Token(token), claim_id="claim", acquired_at=NOW, expires_at=Ms(2_000)
    )
    return Claim(lease=lease, job=evolve(job, header=header), frame=frame)


def finish(claim: Claim, decision: str = "completed", evidence: tuple[Evidence, ...] = ()) -> Commit:
    """Finish a claimed job."""
    verdict = Verdict(decision=decision, reason="because")  # type: ignore[arg-type]
    return jobs.finish(
        claim,
        verdict,
        receipt=RECEIPT,
        deliverables={"memo": MEMO},
        evidence=evidence,
        failure=None,
        commit_id="c2",
        now=Ms(5_000),
    )


def job_after(commit: Commit) -> JobRecord:
    """Return the job that a commit writes."""
    return next(w.after for w in commit.writes if isinstance(w, Put) and isinstance(w.after, JobRecord))


LEAVING: dict[str, Callable[[Claim], Commit]] = {
    "finish": finish,
    "reschedule": lambda claim: jobs.reschedule(claim, FAILURE, delay=Ms(7), commit_id="c2"),
    "give-back": lambda claim: jobs.give_back(claim, commit_id="c2"),
}
UNFENCED: dict[str, Callable[[], Commit]] = {
    "enqueue": lambda: jobs.enqueue(REQUEST, job_id="j", frame_id="f", commit_id="c", now=NOW),
    "cancel": lambda: jobs.cancel(enqueue()[0], commit_id="c", now=NOW),
    "retry": lambda: jobs.retry(ended("failed"), round=1, commit_id="c"),
    "unblock": lambda: jobs.unblock(ended("blocked"), round=1, commit_id="c"),
}


def ended(status: Any) -> JobRecord:
    """Return a job that has ended."""
    job, _ = enqueue()
    return evolve(job, header=evolve(job.header, status=status, ended_at=Ms(9), run_after=None, token=Token(4)))


@pytest.mark.parametrize("verb", LEAVING)
def test_every_leaving_verb_is_fenced_releases_last_and_is_audited(verb: str) -> None:
    """Leaving is one commit with the job, an audit entry keyed by the commit, and the release."""
    commit = LEAVING[verb](claimed())

    assert commit.fence == claimed().lease.fence
    assert isinstance(commit.writes[-1], Release)
    assert audit_of(commit) == {
        "verb": verb,
        "from": "running",
        "to": job_after(commit).header.status,
        "round": 1,
        "attempt": 1,
    }


@pytest.mark.parametrize("verb", UNFENCED)
def test_every_verb_of_others_is_audited_under_its_commit_id(verb: str) -> None:
    """The audit entry is an anchor, so a lost answer is recognised."""
    commit = UNFENCED[verb]()

    assert commit.fence is None
    assert anchors(commit)
    note = audit_of(commit)
    assert note["verb"] == verb


def audit_of(commit: Commit) -> dict[str, Any]:
    """Return the audit entry of a commit, whose key is the commit's id."""
    entry = next(w.entry for w in commit.writes if isinstance(w, WriteOnce) and w.entry.kind == "audit")
    assert entry.key == (commit.commit_id,)
    note = decode(entry.value.data)  # type: ignore[union-attr]
    assert isinstance(note, dict)
    return note


def test_enqueue_keeps_what_was_asked_for() -> None:
    """Specs decode to the request, and the digest is that of the bytes."""
    job, frame = enqueue()

    assert decode_job_spec(job.spec).input == REQUEST.input
    assert decode_frame_spec(frame.spec).goal == REQUEST.goal
    assert job.header.spec_digest == hashlib.sha256(job.spec).hexdigest()
    assert job.header.lane == lane_of("default", "evidence")
    assert frame.header.owner == ("job", "j")


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "another"},
        {"phase": "other"},
        {"runner": "other"},
        {"input": {"sources": ["b"]}},
        {"queue": "other"},
        {"tenant": "other"},
        {"priority": 9},
        {"max_attempts": 4},
        {"timeout_ms": 5},
        {"minimum_confidence": "high"},
        {"deliverables": ("memo",)},
    ],
    ids=str,
)
def test_any_other_request_has_another_digest(change: dict[str, Any]) -> None:
    """A repeat under one id is a duplicate only if everything that was asked for is equal."""
    assert enqueue(evolve(REQUEST, **change))[0].header.spec_digest != enqueue()[0].header.spec_digest


def test_the_due_time_is_not_part_of_a_requests_identity() -> None:
    """A repeat that asks for another delay is still the same request."""
    later = evolve(REQUEST, run_after=After(Ms(99)))

    assert enqueue(later)[0].header.spec_digest == enqueue()[0].header.spec_digest


def test_finish_ends_the_job_and_points_to_the_receipt() -> None:
    """Job, frame and receipt entry agree."""
    evidence = (Evidence(id="e1", source="s", quote="q"),)

    commit = finish(claimed(), evidence=evidence)

    header = job_after(commit).header
    assert (header.status, header.run_after, header.ended_at) == ("completed", None, 5_000)
    frame = next(w.after for w in commit.writes if isinstance(w, Put) and isinstance(w.after, FrameRecord))
    assert frame.header.receipt == RECEIPT.ref
    assert decode_frame_state(frame.state).evidence == evidence
    entry = next(w.entry for w in commit.writes if isinstance(w, WriteOnce) and w.entry.kind == "receipt")
    assert (entry.key, entry.value) == (("1",), RECEIPT)


def test_finish_refers_to_every_deliverable_so_that_no_purge_takes_it() -> None:
    """A deliverable has an entry of its own, keyed by round and name."""
    writes = [w for w in finish(claimed(number=2)).writes if isinstance(w, WriteOnce)]

    found = [w.entry for w in writes if w.scope == jobs.deliverables_scope("j")]
    assert [(entry.key, entry.value) for entry in found] == [(("2", "memo"), MEMO)]


def test_a_later_rounds_receipt_leaves_the_earlier_one() -> None:
    """Receipts are keyed by round, in the journal and in the frame."""
    first = finish(claimed())
    frame = next(w.after for w in first.writes if isinstance(w, Put) and isinstance(w.after, FrameRecord))

    second = finish(evolve(claimed(number=2), frame=frame))

    after = next(w.after for w in second.writes if isinstance(w, Put) and isinstance(w.after, FrameRecord))
    assert set(decode_frame_state(after.state).receipts) == {"1", "2"}


def test_reschedule_counts_the_attempt_and_give_back_does_not() -> None:
    """Only crashes, losses and errors use attempts up."""
    assert job_after(LEAVING["reschedule"](claimed(attempts=2))).header.attempts == 2
    assert job_after(LEAVING["give-back"](claimed(attempts=2))).header.attempts == 1


def test_reschedule_is_due_after_the_delay_by_the_stores_clock() -> None:
    """The worker's clock plays no part."""
    after = job_after(LEAVING["reschedule"](claimed()))

    assert after.header.run_after == After(Ms(7))
    assert jobs.state_of(after).failure == FAILURE


@pytest.mark.parametrize("status", ["completed", "blocked", "failed", "canceled"])
def test_what_has_ended_cannot_be_canceled(status: str) -> None:
    """Cancel acts on queued and running jobs only, and says so."""
    with pytest.raises(Invalid, match=status):
        jobs.cancel(ended(status), commit_id="c", now=NOW)


def test_cancel_revokes_the_lease_in_the_same_commit() -> None:
    """A running job's holder can write nothing more."""
    commit = jobs.cancel(claimed().job, commit_id="c", now=NOW)

    assert Revoke(("job", "j")) in commit.writes
    assert job_after(commit).header.status == "canceled"


@pytest.mark.parametrize(("verb", "status"), [(jobs.retry, "failed"), (jobs.unblock, "blocked")])
def test_a_new_round_starts_fresh(verb: Callable[..., Commit], status: str) -> None:
    """The round rises, attempts are 0 again, and the token at its start is remembered."""
    after = job_after(verb(ended(status), round=1, commit_id="c"))

    assert (after.header.status, after.header.round, after.header.attempts) == ("queued", 2, 0)
    assert after.header.ended_at is None
    assert jobs.state_of(after).round_token == 4


@pytest.mark.parametrize("verb", [jobs.retry, jobs.unblock])
@pytest.mark.parametrize("status", ["completed", "canceled", "queued"])
def test_a_new_round_is_given_only_to_what_asks_for_it(verb: Callable[..., Commit], status: str) -> None:
    """Completed and canceled are final."""
    with pytest.raises(Invalid, match=status):
        verb(ended(status), round=1, commit_id="c")


@pytest.mark.parametrize(("verb", "status"), [(jobs.retry, "failed"), (jobs.unblock, "blocked")])
def test_a_verb_that_names_another_round_is_refused(verb: Callable[..., Commit], status: str) -> None:
    """Somebody else has acted on it already."""
    with pytest.raises(Invalid, match="round"):
        verb(ended(status), round=2, commit_id="c")


@given(st.lists(st.sampled_from(["reschedule", "give-back"]), max_size=30))
def test_attempts_never_fall_below_zero_and_count_only_failures(verbs: list[str]) -> None:
    """Whatever the order of failures and give-backs, attempts is the number of failures."""
    attempts = 0
    for verb in verbs:
        attempts = job_after(LEAVING[verb](claimed(attempts=attempts + 1))).header.attempts

    assert attempts == verbs.count("reschedule")


@pytest.mark.parametrize(
    "field",
    [
        {"goal": ""},
        {"goal": "  "},
        {"goal": "x" * 70_000},
        {"runner": ""},
        {"queue": "x" * 513},
        {"tenant": "\ud800"},
        {"max_attempts": 0},
        {"max_attempts": True},
        {"timeout_ms": -1},
        {"minimum_confidence": "certain"},
        {"deliverables": ("",)},
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_request_that_makes_no_sense_is_refused(field: dict[str, Any]) -> None:
    """Each field is checked when the request is built, and the error names it."""
    with pytest.raises(Invalid) as caught:
        evolve(REQUEST, **field)

    assert next(iter(field)) in str(caught.value)


@pytest.mark.parametrize("priority", [-1, 10, True, 5.0])
def test_a_priority_is_from_0_to_9(priority: Any) -> None:
    """The header refuses any other."""
    with pytest.raises(Invalid, match="priority"):
        enqueue(evolve(REQUEST, priority=priority))


def test_an_unreadable_state_does_not_keep_a_job_from_leaving() -> None:
    """The state only describes; a damaged one is taken as fresh."""
    claim = claimed()
    damaged = evolve(claim, job=evolve(claim.job, state=b"\xff{"), frame=evolve(claim.frame, state=b""))

    assert job_after(finish(damaged)).header.status == "completed"


@pytest.mark.parametrize("parts", [("", "r"), ("q", ""), ("q", "r", ""), ("x" * 513, "r")], ids=str)
def test_a_lane_of_illegal_names_is_refused(parts: tuple[str, ...]) -> None:
    """A worker of no queue would serve a lane that no job can have."""
    with pytest.raises(Invalid, match="lane"):
        lane_of(*parts)
