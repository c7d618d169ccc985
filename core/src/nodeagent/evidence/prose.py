"""Passages of prose: Markdown, reStructuredText and plain text with or without any marking.

Plain text marks little, so two shapes are recognised by measure. A *heading* is a paragraph of one
short line that ends without punctuation. A paragraph of several lines is *wrapped* if most of its
lines could not have held the first word of the next one, and not every line begins with a capital;
otherwise each line stands for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from attrs import define, field

from nodeagent.evidence.passage import Form, Passage, pieces, plain, sentences

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_ANY_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_UNDERLINE = re.compile(r"([=~^\"*+#-])\1{2,}\s*$")
_FENCE = re.compile(r"\s*(```+|~~~+)")
_ITEM = re.compile(r"\s*(?:[-*+•–‣]|\d{1,4}[.)]|[a-z][)])\s+(?=\S)")
_LINK_TARGET = re.compile(r" {0,3}\[[^\]]+\]:\s+\S+\s*$")
_TABLE = re.compile(r"\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"\s*\|[\s:|-]+\|\s*$")
_CELL = re.compile(r"(?<!\\)\|")
_QUOTE_MARK = re.compile(r"(?m)^\s*>[ \t]?")
_MAX_HEADING_CHARS: Final = 70
_MAX_HEADING_WORDS: Final = 9
_MIN_WRAP: Final = 50
_WRAPPED_SHARE: Final = 0.75


class Line(NamedTuple):
    """One line of a document: where it starts, and what it holds without its line ending."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The offset behind the last character."""
        return self.start + len(self.text)


def lines(text: str, start: int = 0, end: int | None = None) -> Iterator[Line]:
    r"""Yield the lines between two offsets; only ``\n`` ends a line, a ``\r`` before it is dropped."""
    at = start
    for piece in text[start:end].split("\n"):
        yield Line(at, piece.removesuffix("\r"))
        at += len(piece) + 1


def is_wrapped(block: list[Line]) -> bool:
    """Say whether the lines of a paragraph were broken by width rather than by meaning."""
    return _is_full(block) and not _is_begun_anew(block)


def _is_listed(block: list[Line]) -> bool:
    """Say whether the lines of a list item were broken by meaning."""
    return _is_begun_anew(block) and not _is_full(block)


def _is_full(block: list[Line]) -> bool:
    """Say whether most lines could not have held the first word of the next one."""
    texts = [line.text.rstrip() for line in block]
    width = max(len(text) for text in texts)
    if width < _MIN_WRAP:
        return False
    pairs = list(pairwise(texts))
    full = sum(len(a) + 1 + len((b.split() or [""])[0]) > 0.8 * width for a, b in pairs)
    return full >= _WRAPPED_SHARE * len(pairs)


def _is_begun_anew(block: list[Line]) -> bool:
    """Say whether every line but the first begins with a capital, after a line that does not go on."""
    texts = [line.text.strip() for line in block]
    return all(after[:1].isupper() and not before.endswith(",") for before, after in pairwise(texts))


def prose(text: str, start: int = 0, end: int | None = None, *, marked: bool | None = None) -> Iterator[Passage]:
    """Yield the passages of a text, or of the part of it between two offsets.

    ``marked`` says whether headings are marked as such; None: look whether the first line is, or any two.
    """
    if marked is None:
        marked = len(_ANY_HEADING.findall(text)) > 1 or _ANY_HEADING.match(text.lstrip()) is not None
    reader = ProseReader(text=text, marked=marked)
    for line in lines(text, start, end):
        yield from reader.feed(line)
    yield from reader.close()


@define(kw_only=True)
class ProseReader:
    """Reads lines one by one and knows what block, list and section they stand in."""

    text: str
    marked: bool = False
    headings: list[tuple[int, str]] = field(factory=list)
    block: list[Line] = field(factory=list)
    item: int | None = None
    table: list[str] | None = None
    lead: str = ""
    number: int = 0
    fence: str | None = None

    def feed(self, line: Line) -> Iterator[Passage]:
        """Take one line; yield the passages that it completes."""
        fence = _FENCE.match(line.text)
        if self.fence is not None:
            yield from self._fenced(line, closes=fence is not None and fence[1].startswith(self.fence))
        elif fence:
            yield from self.close()
            self.fence = fence[1]
        elif not line.text.strip():
            yield from self.close()
            self._leave_block()
        else:
            yield from self._marked_line(line)

    def close(self) -> Iterator[Passage]:
        """Yield the passages of the block that is open, and end it."""
        block, self.block = self.block, []
        item, self.item = self.item, None
        if not block:
            return
        if item is not None:
            begins = [item, *(line.start for line in block[1:])] if _is_listed(block) else [item]
            ends = [line.end for line in block[-len(begins) :]]
            for start, end in zip(begins, ends, strict=True):
                yield from self._sentences(start, end, form="row")
        elif len(block) == 1 and not self.marked and _looks_like_heading(block[0].text):
            yield from self._heading(block[0], 2 if self.headings else 1)
        elif len(block) == 1 or is_wrapped(block):
            yield from self._sentences(block[0].start, block[-1].end, form="sentence")
            self._lead_in(block)
        else:
            for line in block:
                yield from self._sentences(line.start, line.end, form="row", near=plain(block[0].text))

    def _marked_line(self, line: Line) -> Iterator[Passage]:
        item = _ITEM.match(line.text)
        heading = _HEADING.match(line.text) if self.marked else None
        if self.marked and _LINK_TARGET.match(line.text):
            return
        if heading:
            yield from self.close()
            yield from self._heading(Line(line.start + heading.start(2), heading[2]), len(heading[1]))
        elif _TABLE.match(line.text):
            yield from self.close()
            yield from self._table_row(line)
        elif _UNDERLINE.match(line.text):
            yield from self._underline(line.text)
        elif item:
            yield from self.close()
            self.item, self.block = line.start + item.end(), [line]
        else:
            self.block.append(line)

    def _leave_block(self) -> None:
        self.table = None
        if not self.lead:
            self.number += 1

    def _fenced(self, line: Line, *, closes: bool) -> Iterator[Passage]:
        if closes:
            self.fence = None
            self._leave_block()
            return
        for start, end in pieces(self.text, line.start, line.end):
            yield self._passage(start, end, plain(self.text[start:end]), form="code")

    def _underline(self, text: str) -> Iterator[Passage]:
        title = self.block[0] if len(self.block) == 1 and self.item is None else None
        if title is None:
            yield from self.close()
            return
        self.block = []
        yield from self._heading(title, 1 if text.lstrip().startswith("=") else 2)

    def _heading(self, line: Line, level: int) -> Iterator[Passage]:
        self.headings = [(at, name) for at, name in self.headings if at < level]
        self.number, self.lead, self.table = self.number + 1, "", None
        yield from self._sentences(line.start, line.end, form="title")
        self.headings.append((level, plain(line.text)))
        self.number += 1

    def _table_row(self, line: Line) -> Iterator[Passage]:
        if _TABLE_RULE.match(line.text):
            return
        stripped = line.text.strip().strip("|")
        cells = [plain(cell.replace("\\|", "|")) for cell in _CELL.split(stripped)]
        if self.table is None:
            self.table = cells
            return
        first = line.start + line.text.index(stripped) + len(stripped) - len(stripped.lstrip())
        if stripped.strip():
            end = first + len(stripped.strip())
            yield self._passage(first, end, row_text(cells, self.table), " ".join(self.table), form="row")

    def _sentences(self, start: int, end: int, *, form: Form, near: str = "") -> Iterator[Passage]:
        for left, right in sentences(self.text, start, end):
            said = plain(_QUOTE_MARK.sub("", self.text[left:right]))
            if said:
                yield self._passage(left, right, said, near, form=form)

    def _passage(self, start: int, end: int, said: str, near: str = "", *, form: Form = "sentence") -> Passage:
        chain = [name for _, name in self.headings]
        lead = self.lead if form == "row" else ""
        return Passage(
            start=start,
            end=end,
            text=said,
            label=lead or (chain[-1] if chain else ""),
            context=" ".join([*chain, lead, near]),
            block=self.number,
            form=form,
            kind=" ".join([*chain[-1:], *(self.table or [])[:1]]) if form == "row" else "",
        )

    def _lead_in(self, block: list[Line]) -> None:
        self.lead = ""
        if block[-1].text.rstrip().endswith(":"):
            *_, (start, end) = sentences(self.text, block[0].start, block[-1].end)
            self.lead = plain(self.text[start:end]).removesuffix(":")
        else:
            self.number += 1


def row_text(cells: list[str], columns: list[str]) -> str:
    """Return a table row as a sentence: ``StepJournal — Required behavior: writeOnce …``."""
    named = [
        f"{column}: {cell}" if column else cell
        for column, cell in zip([*columns[1:], *[""] * len(cells)], cells[1:], strict=False)
        if cell
    ]
    return " — ".join(part for part in (cells[0], "; ".join(named)) if part)


def _looks_like_heading(text: str) -> bool:
    said = text.strip()
    return (
        len(said) <= _MAX_HEADING_CHARS
        and len(said.split()) <= _MAX_HEADING_WORDS
        and (said[0].isupper() or said[0].isdigit())
        and said[-1].isalnum()
    )
