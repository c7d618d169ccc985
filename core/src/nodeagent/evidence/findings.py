"""Findings: what the passages that hold amount to: statements, evidence and a confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from nodeagent import Confidence, Evidence, Statement
from nodeagent.evidence.choice import Chosen, choose
from nodeagent.evidence.confidence import assess
from nodeagent.evidence.gather import Skipped
from nodeagent.evidence.limits import Limits
from nodeagent.evidence.terms import Term
from nodeagent.evidence.verify import verify_citations

NEAREST: Final = 3
"""How many passages are shown when none is good enough to state."""


@frozen(kw_only=True)
class Bearing:
    """The words of the goal, and the passages that bear on it, best first."""

    terms: tuple[Term, ...] = ()
    passages: tuple[Chosen, ...] = ()
    unread: tuple[Skipped, ...] = ()


@frozen(kw_only=True)
class Findings:
    """What a memo says; ``reason`` explains the confidence, ``dropped`` names what did not hold."""

    confidence: Confidence = "low"
    reason: str = ""
    statements: tuple[Statement, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    dropped: tuple[Skipped, ...] = ()
    error: str | None = None


def find(bearing: Bearing, digests: Mapping[str, str], limits: Limits, left_out: str | None = None) -> Findings:
    """Verify the passages, choose among those that hold, and weigh them.

    ``digests`` has the sha256 of every document when it was gathered; ``left_out`` says what the limits left out.
    """
    quoted = [_evidence(str(at), each, digests) for at, each in enumerate(bearing.passages)]
    refuted = verify_citations(quoted, limits)
    held = [each for at, each in enumerate(bearing.passages) if str(at) not in refuted]
    groups = choose(held, limits.max_statements)
    verdict = assess(bearing.terms, [group[0] for group in groups], left_out)
    stated = groups if verdict.confidence != "low" else [group[:1] for group in groups[:NEAREST]]
    evidence = _numbered(stated, digests)
    dropped = [(quoted[int(at)].source, reason) for at, reason in refuted.items()]
    return Findings(
        confidence=verdict.confidence,
        reason=verdict.reason,
        statements=_statements(stated) if verdict.confidence != "low" else (),
        evidence=evidence,
        dropped=(
            *bearing.unread,
            *(Skipped(source=source, reason=reason) for source, reason in dict.fromkeys(dropped)),
        ),
    )


def _evidence(number: str, passage: Chosen, digests: Mapping[str, str]) -> Evidence:
    return Evidence(
        id=number,
        source=passage.source,
        line=passage.line,
        quote=passage.quote,
        sha256=digests[passage.source],
    )


def _numbered(groups: Sequence[Sequence[Chosen]], digests: Mapping[str, str]) -> tuple[Evidence, ...]:
    passages = [passage for group in groups for passage in group]
    return tuple(_evidence(str(at), each, digests) for at, each in enumerate(passages, 1))


def _statements(groups: Sequence[Sequence[Chosen]]) -> tuple[Statement, ...]:
    number = 0
    statements = []
    for group in groups:
        citations = tuple(str(number + at) for at in range(1, len(group) + 1))
        number += len(group)
        statements.append(Statement(text=group[0].text, citations=citations))
    return tuple(statements)
