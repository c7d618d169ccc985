"""The verifier's order: confidence, error, deliverables, grounding."""

from __future__ import annotations

import pytest

from nodeagent import Answer, Deliverable, Evidence, Statement
from nodeagent.rules.specs import FrameSpec
from nodeagent.rules.verdict import judge

EVIDENCE = Evidence(id="e1", source="a.md", line=1, quote="q", sha256="0" * 64)
GROUNDED = Statement(text="It is so.", citations=("e1",))
SPEC = FrameSpec(goal="g", phase="answer", minimum_confidence="medium", deliverables=("memo",))
MEMO = {"memo": Deliverable(data=b"m")}


def test_a_grounded_confident_complete_answer_is_completed() -> None:
    """Nothing is wrong, so the frame is completed."""
    answer = Answer(confidence="medium", statements=(GROUNDED,), evidence=(EVIDENCE,), deliverables=MEMO)

    assert judge(SPEC, answer).decision == "completed"


def test_low_confidence_blocks_before_anything_else() -> None:
    """An answer that also has an error and lacks everything is blocked for its confidence, and says the error."""
    verdict = judge(SPEC, Answer(confidence="low", error="no such folder"))

    assert verdict.decision == "blocked"
    assert "confidence is low" in verdict.reason
    assert "no such folder" in verdict.reason


def test_an_agent_error_fails_before_deliverables_are_looked_at() -> None:
    """A confident answer with an error is failed, not blocked."""
    verdict = judge(SPEC, Answer(confidence="high", error="the service is gone"))

    assert verdict.decision == "failed"
    assert "the service is gone" in verdict.reason


def test_a_missing_deliverable_blocks_and_is_named() -> None:
    """The reason names what is missing."""
    verdict = judge(SPEC, Answer(confidence="high", statements=(GROUNDED,), evidence=(EVIDENCE,)))

    assert verdict.decision == "blocked"
    assert "memo" in verdict.reason


@pytest.mark.parametrize(
    "statements",
    [
        (),
        (Statement(text="It is so."),),
        (Statement(text="It is so.", citations=("e2",)),),
        (Statement(text="It is so.", citations=("e1", "e2")),),
    ],
    ids=["none", "uncited", "unknown", "half"],
)
def test_an_answer_without_a_grounded_statement_is_blocked(statements: tuple[Statement, ...]) -> None:
    """A citation counts only if the answer holds the evidence."""
    answer = Answer(confidence="high", statements=statements, evidence=(EVIDENCE,), deliverables=MEMO)

    verdict = judge(SPEC, answer)

    assert verdict.decision == "blocked"
    assert "cites" in verdict.reason


def test_an_empty_error_text_is_an_error() -> None:
    """Existence counts, not truth."""
    answer = Answer(confidence="high", statements=(GROUNDED,), evidence=(EVIDENCE,), deliverables=MEMO, error="")

    assert judge(SPEC, answer).decision == "failed"
