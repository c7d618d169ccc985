"""What a runner hands back: judged, stored in a receipt, or refused for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import Answer, Deliverable, Evidence, FrameContext, Statement, TooLarge

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

UNSTORABLE: dict[str, Callable[[Lab], Any]] = {
    "none": lambda _: None,
    "text": lambda _: "an answer",
    "surrogate in a statement": lambda lab: lab.answer("x\udc97"),
    "surrogate in the evidence": lambda lab: lab.answer(evidence=(Evidence(id="e", source="s", quote="\udc97"),)),
    "surrogate in a name": lambda lab: lab.answer(deliverables={"\udc97": lab.memo()}),
    "number as a name": lambda lab: lab.answer(deliverables={1: lab.memo(), "a": lab.memo()}),
    "unknown confidence": lambda lab: lab.answer(confidence="certain"),
    "no confidence": lambda lab: lab.answer(confidence=None),
    "statements that are none": lambda lab: lab.answer(statements=7),
    "statement that is a text": lambda lab: lab.answer(statements=("so",)),
    "evidence that is none": lambda lab: lab.answer(evidence=None),
    "quote of bytes": lambda lab: lab.answer(evidence=(Evidence(id="e", source="s", quote=b"q"),)),  # type: ignore[arg-type]
    "deliverables that are none": lambda lab: lab.answer(deliverables=7),
    "deliverable that is a text": lambda lab: lab.answer(deliverables={"memo": "text"}),
    "deliverable of text": lambda lab: lab.answer(deliverables={"memo": Deliverable(data="text")}),  # type: ignore[arg-type]
    "media type that is none": lambda lab: lab.answer(deliverables={"memo": Deliverable(data=b"", media_type="")}),
}


@pytest.mark.parametrize("name", UNSTORABLE)
def test_an_answer_that_cannot_be_judged_or_stored_fails_for_good(lab: Lab, name: str) -> None:
    """With the reason, after one attempt, and never left pending."""
    lab.app.add_runner("work", lambda _: UNSTORABLE[name](lab))
    job = lab.enqueue()
    lab.drain()

    header, receipt = lab.header(job), lab.receipt(job)
    assert (header.status, header.attempts) == ("failed", 1)
    assert receipt["verdict"] == "failed"
    assert receipt["reason"]
    assert receipt["failure"]["kind"] == "permanent"
    assert lab.backend.leases.get(("job", job)) is None


@pytest.mark.parametrize(
    ("changes", "status", "reason"),
    [
        ({}, "completed", "grounded"),
        ({"confidence": "low"}, "blocked", "confidence is low"),
        ({"confidence": "low", "error": "no model"}, "blocked", "no model"),
        ({"error": "no model"}, "failed", "no model"),
        ({"error": "x\udc97"}, "failed", "x\\udc97"),
        ({"deliverables": {}}, "blocked", "memo"),
        ({"statements": (Statement(text="so", citations=("other",)),)}, "blocked", "cites"),
    ],
    ids=str,
)
def test_an_answer_is_judged(lab: Lab, changes: dict[str, Any], status: str, reason: str) -> None:
    """The verdict stands in the job, the outcome and the receipt, with its reason in words."""
    answer = lab.answer(**({"deliverables": {"memo": lab.memo()}} | changes))
    lab.app.add_runner("work", lambda _: answer)
    job = lab.enqueue(deliverables=("memo",))
    outcome = lab.run(job)

    assert outcome.status == lab.header(job).status == lab.receipt(job)["verdict"] == status
    assert reason in (outcome.reason or "")
    assert outcome.reason == lab.receipt(job)["reason"]


def test_a_reason_is_bounded(lab: Lab) -> None:
    """A job's state is small, whatever the agent has to say."""
    lab.app.add_runner("work", lambda _: lab.answer(error="x" * 5_000_000))
    job = lab.enqueue()
    lab.drain()

    assert lab.header(job).status == "failed"
    assert len(lab.job(job).state) < 10_000


def test_evidence_that_no_commit_can_hold_fails_for_good(lab: Lab) -> None:
    """The job is finished without it, and says why."""
    lab.app.add_runner("work", lambda _: lab.answer())

    def tamper(send: Callable[[Any], Any], commit: Any) -> Any:
        states = [len(write.after.state) for write in commit.writes if hasattr(write, "after")]
        if (
            max(states) > 100
            and "receipt" in repr(commit)
            and b'"quote"' in b"".join(write.after.state for write in commit.writes if hasattr(write, "after"))
        ):
            raise TooLarge("the size of a value in bytes", max(states), 100)
        return send(commit)

    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(transactions_commit=tamper)))

    assert outcome.status == "failed"
    assert "the size of a value" in (outcome.reason or "")


def test_a_receipt_holds_evidence_and_references_and_nothing_that_was_asked(lab: Lab) -> None:
    """No goal, no input, no step's result, no bytes of a deliverable."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("secret-4", lambda: "secret-5")
        return lab.answer(deliverables={"memo": lab.memo("secret-6")})

    job = lab.enqueue(goal="secret-1", input={"key": "secret-2"}, deliverables=("memo",))
    lab.drain()
    data = lab.runtime().receipt(job)
    receipt = lab.receipt(job)

    assert b"secret" not in data
    assert (receipt["job_id"], receipt["round"], receipt["attempt"], receipt["token"]) == (job, 1, 1, 1)
    assert receipt["evidence"] == [{"id": "e", "source": "a.md", "line": 1, "quote": "so", "sha256": None}]
    assert receipt["statements"] == [{"text": "It is so.", "citations": ["e"]}]
    assert receipt["deliverables"]["memo"]["size"] == len("secret-6")
    assert receipt["finished_at"] == lab.clock.now()


def test_the_frame_keeps_evidence_and_the_reference_of_its_receipt(lab: Lab) -> None:
    """The receipt's bytes are an artifact; its name is that of its content."""
    lab.app.add_runner("work", lambda _: lab.answer())
    job = lab.enqueue()
    outcome = lab.run(job)
    frame = lab.backend.frames.get(job)

    assert frame is not None
    assert b'"quote":"so"' in frame.state
    assert outcome.receipt == lab.runtime().receipt(job)
    (entry,) = lab.receipts(job)
    assert frame.header.receipt == getattr(entry.value, "ref", None)
    assert frame.header.ended_at == lab.header(job).ended_at
