"""A passage: a stretch of a document that can be quoted, and how text is cut into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from attrs import frozen

MAX_QUOTE: Final = 400
"""The most characters a quote may have; a longer sentence or line is cut between words."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]*_`]*(?:</\w+>)*(\s+)(?=[^\sa-z])")
_ABBREVIATION = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|dr|mr|mrs|ms|st|prof|inc|ltd|resp|incl|[a-z])\.$",
    re.IGNORECASE,
)
_GAP = re.compile(r"\s")


Form = Literal["sentence", "row", "title", "code"]
"""What a passage is: *row* is a list item, a row of a table or one of several short lines."""


@frozen(kw_only=True)
class Passage:
    """A stretch of one document that can be quoted.

    ``start`` and ``end`` are offsets into the decoded document, so that the slice between them is
    the quote; ``text`` says the same for people; ``label`` introduces it: the nearest heading above
    it, or the sentence that leads into its list. ``context`` has all words around it that count a
    little: headings, lead-in, column names. Passages of one ``block`` stand together. ``kind`` is
    what a row is one of: its heading and the name of its table's first column.
    """

    start: int
    end: int
    text: str
    label: str = ""
    context: str = ""
    block: int = 0
    form: Form = "sentence"
    kind: str = ""


def plain(text: str) -> str:
    """Return ``text`` with every run of white space as one blank."""
    return " ".join(text.split())


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends; an empty span if there is nothing else."""
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return start + left, max(start + left, start + len(piece.rstrip()))


def sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences between ``start`` and ``end``, none over ``MAX_QUOTE``."""
    begin = start
    for stop in _SENTENCE_END.finditer(text, start, end):
        if _ABBREVIATION.search(text, max(begin, stop.start() - 8), stop.start() + 1):
            continue
        yield from pieces(text, begin, stop.start(1))
        begin = stop.end()
    yield from pieces(text, begin, end)


def pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span, cut between words (or hard) into spans of at most ``MAX_QUOTE`` characters."""
    start, end = trimmed(text, start, end)
    while end - start > MAX_QUOTE:
        gaps = [gap.start() for gap in _GAP.finditer(text, start + MAX_QUOTE // 2, start + MAX_QUOTE)]
        cut = gaps[-1] if gaps else start + MAX_QUOTE
        yield trimmed(text, start, cut)
        start, end = trimmed(text, cut, end)
    if start < end:
        yield start, end
