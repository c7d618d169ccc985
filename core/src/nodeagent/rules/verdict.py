"""The verifier: what an answer is worth."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from nodeagent.records.answer import CONFIDENCE_ORDER, Answer
from nodeagent.rules.specs import FrameSpec

Decision = Literal["completed", "blocked", "failed"]


@frozen(kw_only=True)
class Verdict:
    """A decision and its reason in one sentence. Blocked is actionable, not failed."""

    decision: Decision
    reason: str


def judge(spec: FrameSpec, answer: Answer) -> Verdict:
    """Decide in this order: confidence, agent error, deliverables, grounding."""
    if _rank(answer.confidence) < _rank(spec.minimum_confidence):
        return Verdict(decision="blocked", reason=_too_low(spec, answer))
    if answer.error is not None:
        return Verdict(decision="failed", reason=f"the agent reported an error: {answer.error}")
    missing = [name for name in spec.deliverables if name not in answer.deliverables]
    if missing:
        return Verdict(decision="blocked", reason=f"required deliverables are missing: {', '.join(missing)}")
    if not any(is_grounded(answer, index) for index in range(len(answer.statements))):
        return Verdict(decision="blocked", reason="no statement of the answer cites evidence that the answer holds")
    return Verdict(decision="completed", reason="the answer is grounded and complete")


def is_grounded(answer: Answer, index: int) -> bool:
    """Say whether a statement cites evidence, and only evidence that the answer holds."""
    held = {item.id for item in answer.evidence}
    cited = answer.statements[index].citations
    return bool(cited) and all(citation in held for citation in cited)


def _rank(confidence: str) -> int:
    return CONFIDENCE_ORDER.index(confidence)


def _too_low(spec: FrameSpec, answer: Answer) -> str:
    text = f"confidence is {answer.confidence}, but the frame asks for at least {spec.minimum_confidence}"
    return text if answer.error is None else f"{text} ({answer.error})"
