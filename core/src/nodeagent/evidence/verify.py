"""Verifying: every quote is looked up once more in the bytes of its document."""

from __future__ import annotations

from collections.abc import Iterable

from nodeagent import Evidence
from nodeagent.evidence.files import Content, Unreadable, read
from nodeagent.evidence.limits import Limits

_DEFAULT = Limits()


def stands(text: str, line: int, quote: str) -> bool:
    r"""Say whether ``quote`` is a part of ``text`` that begins in the one-based ``line``.

    Only ``\n`` ends a line. A quote may go on over the following lines.
    """
    if line < 1 or not quote:
        return False
    begin = 0
    for _ in range(line - 1):
        begin = text.find("\n", begin) + 1
        if begin == 0:
            return False
    stop = text.find("\n", begin)
    end = len(text) if stop < 0 else stop
    return text.find(quote, begin, end + len(quote) - 1) >= 0


def verify_citations(evidence: Iterable[Evidence], limits: Limits = _DEFAULT) -> dict[str, str]:
    """Return the ids of the evidence that does not hold, each with the reason as a clause.

    Evidence holds if its document can be read as it could when it was gathered, still has the
    recorded sha256, and has the quote, character for character, beginning in the cited line.
    """
    documents: dict[str, Content | Unreadable] = {}
    refuted = {}
    for item in evidence:
        if item.source not in documents:
            documents[item.source] = _read(item.source, limits)
        reason = _objection(item, documents[item.source])
        if reason:
            refuted[item.id] = reason
    return refuted


def _read(source: str, limits: Limits) -> Content | Unreadable:
    try:
        return read(source, limits.max_file_bytes)
    except Unreadable as refusal:
        return refusal


def _objection(item: Evidence, document: Content | Unreadable) -> str | None:
    if item.line is None or item.sha256 is None:
        return "is cited without a line and a digest"
    if isinstance(document, Unreadable):
        return document.reason
    if document.sha256 != item.sha256:
        return "was changed after it was read"
    if not stands(document.text, item.line, item.quote):
        return f"does not have the quote in line {item.line}"
    return None
