"""What a frame's runner hands back: an answer, and what it stands on.

The runtime, not the runner, decides what the answer is worth (``rules/verdict.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from attrs import field, frozen

from nodeagent.errors import Invalid

Confidence = Literal["high", "medium", "low"]

CONFIDENCE_ORDER: Final[tuple[Confidence, ...]] = ("low", "medium", "high")


@frozen(kw_only=True)
class Evidence:
    """One passage that stands verbatim in a source.

    ``id`` is what statements cite; ``source`` names the document or system (a path, a URL, a record), ``quote``
    what it says. For a document, ``line`` is the one-based line where the quote begins and ``sha256`` the hex
    digest of its bytes.
    """

    id: str
    source: str
    quote: str
    line: int | None = None
    sha256: str | None = None


@frozen(kw_only=True)
class Statement:
    """One sentence of the answer and the ids of the evidence it cites; grounded if it cites any."""

    text: str
    citations: tuple[str, ...] = ()


@frozen(kw_only=True)
class Deliverable:
    """Bytes that the answer consists of; the runtime stores them as an artifact and the receipt refers to it."""

    data: bytes = field(repr=False)
    media_type: str = "text/plain; charset=utf-8"


def _a_confidence(_: Any, __: Any, value: Any) -> None:
    if value not in CONFIDENCE_ORDER:
        raise Invalid("confidence", f"must be one of {', '.join(CONFIDENCE_ORDER)}")


@frozen(kw_only=True)
class Answer:
    """A runner's result. ``error`` says why the agent could not answer; it makes the verdict *failed*."""

    confidence: Confidence = field(validator=_a_confidence)
    statements: tuple[Statement, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    deliverables: Mapping[str, Deliverable] = field(factory=dict)
    error: str | None = None
