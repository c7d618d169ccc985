"""Passages of HTML: quotes are the raw text of the file, tags included where they stand inside.

One linear scan finds tags and comments; nothing is ever looked for behind an unclosed one twice,
so a hostile page costs no more than its length. Scripts, styles and templates are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple

from attrs import define, field

from nodeagent.evidence.passage import Form, Passage, pieces, plain, sentences, trimmed
from nodeagent.evidence.prose import lines, row_text

_MARK = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<raw>script|style|template|svg)\b[^<>]*>.*?(?:</(?P=raw)\s*>|\Z)"
    r"|<(?P<close>/?)(?P<tag>[a-z][a-z0-9-]*)(?:[\s/][^<>]*)?>"
    r"|<[!?][^<>]*>",
    re.IGNORECASE | re.DOTALL,
)
_INLINE_TAGS = (
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby"
    " s samp small span strike strong sub sup td th time tt u var wbr"
)
_INLINE: Final = frozenset(_INLINE_TAGS.split())
_HEADINGS: Final = {"title": 0, "h1": 1, "h2": 2, "h3": 3, "h4": 4, "h5": 5, "h6": 6}
_CELL_END = re.compile(r"</t[dh]\s*>", re.IGNORECASE)
_TAGS_AT_END = re.compile(r"\s*(?:</?[a-z][a-z0-9-]*>\s*)+$", re.IGNORECASE)


class Span(NamedTuple):
    """A stretch of the page."""

    start: int
    end: int


def markup(text: str) -> Iterator[Passage]:
    """Yield the passages of an HTML page."""
    reader = MarkupReader(text=text)
    at = 0
    for mark in _MARK.finditer(text):
        reader.run(at, mark.start())
        yield from reader.tag((mark["tag"] or "").lower(), closing=mark["close"] == "/")
        at = mark.end()
    reader.run(at, len(text))
    yield from reader.close()


@define(kw_only=True)
class MarkupReader:
    """Collects runs of text up to the next block tag, and knows the headings above them."""

    text: str
    headings: list[tuple[int, str]] = field(factory=list)
    columns: list[str] | None = None
    level: int | None = None
    preformatted: bool = False
    begin: int | None = None
    end: int = 0
    number: int = 0

    def run(self, start: int, end: int) -> None:
        """Take the text between two tags."""
        if self.text[start:end].strip():
            self.begin = start if self.begin is None else self.begin
            self.end = end

    def tag(self, name: str, *, closing: bool) -> Iterator[Passage]:
        """Take a tag; yield the passages that it completes."""
        if not name or name in _INLINE:
            return
        yield from self.close()
        if name in _HEADINGS:
            self.level = None if closing else _HEADINGS[name]
        elif name == "pre":
            self.preformatted = not closing
        elif name == "table":
            self.columns = None
        if name not in {"tr", "li", "br", "dt", "dd"}:
            self.number += 1

    def close(self) -> Iterator[Passage]:
        """Yield the passages of the block that is open, and end it."""
        begin, self.begin = self.begin, None
        if begin is None:
            return
        if self.level is not None:
            yield from self._heading(begin)
        elif self.preformatted:
            for line in lines(self.text, begin, self.end):
                yield from self._quoted(pieces(self.text, line.start, line.end), form="code")
        elif _CELL_END.search(self.text, begin, self.end):
            yield from self._table_row(begin)
        else:
            yield from self._quoted(sentences(self.text, begin, self.end), form="sentence")

    def _heading(self, begin: int) -> Iterator[Passage]:
        level = self.level or 0
        self.headings = [(at, name) for at, name in self.headings if at < level]
        yield from self._quoted(sentences(self.text, begin, self.end), form="title")
        self.headings.append((level, visible(self.text[begin : self.end])))

    def _table_row(self, begin: int) -> Iterator[Passage]:
        cells = [visible(cell) for cell in _CELL_END.split(self.text[begin : self.end])]
        if self.columns is None:
            self.columns = cells
            return
        near = " ".join(self.columns)
        spans = [Span(*span) for span in pieces(self.text, begin, self.end)]
        for span in spans:
            raw = self.text[span.start : span.end]
            said = row_text(cells, self.columns) if len(spans) == 1 else visible(raw)
            yield self._passage(span, said, near, form="row")

    def _quoted(self, spans: Iterator[tuple[int, int]], *, form: Form) -> Iterator[Passage]:
        for start, end in spans:
            span = _untagged_ends(self.text, start, end)
            said = visible(self.text[span.start : span.end])
            if said:
                yield self._passage(span, said, "", form=form)

    def _passage(self, span: Span, said: str, near: str, *, form: Form) -> Passage:
        chain = [name for _, name in self.headings]
        return Passage(
            start=span.start,
            end=span.end,
            text=said,
            label=chain[-1] if chain else "",
            context=" ".join([*chain, near]),
            block=self.number,
            form=form,
            kind=" ".join([*chain[-1:], *(self.columns or [])[:1]]) if form == "row" else "",
        )


def visible(raw: str) -> str:
    """Return what a reader of the page sees of ``raw``: no tags, no entities, single blanks."""
    return plain(unescape(_MARK.sub(_seen, raw)))


def _seen(mark: re.Match[str]) -> str:
    name = (mark["tag"] or "").lower()
    return "" if name in _INLINE and name not in {"td", "th", "img"} else " "


def _untagged_ends(text: str, start: int, end: int) -> Span:
    """Return the span without whole tags at its ends."""
    while (mark := _MARK.match(text, start, end)) is not None:
        start = trimmed(text, mark.end(), end)[0]
    tail = _TAGS_AT_END.search(text, start, end)
    return Span(start, tail.start() if tail else end)
