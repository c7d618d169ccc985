"""Passages of source code and of configuration and data files.

No language is parsed. What nearly all of them share is enough to cite well: comments and
documentation strings are prose, every other line stands for itself, and the definitions, sections
or keys that a line is indented under are its headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from attrs import define, evolve, field

from nodeagent.evidence.passage import Form, Passage, pieces, plain, sentences, trimmed
from nodeagent.evidence.prose import Line, is_wrapped, lines, prose

MAX_LINE: Final = 2000
"""A longer line of a program was made by a machine for a machine; it is never quoted."""

_DEFINITION = re.compile(
    r"\s*(?:(?:export|default|pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract"
    r"|async|unsafe|const|extern|open|override|data|sealed)\s+)*"
    r"(?:class|def|defp|defmodule|func|function|fn|fun|struct|enum|interface|trait|impl|type|module"
    r"|namespace|package|object|record|protocol|sub|proc|procedure|table)\b\s+([\w.:$]+)"
)
_SECTION = re.compile(r"\s*\[+\s*([^\[\]]+?)\s*\]+\s*$")
_KEY = re.compile(r"\s*[\"']?([\w.-]+)[\"']?\s*:\s*[{\[]?\s*$")
_COMMENT = re.compile(r"\s*(?:#+!?|//[/!]?|--|;+|%+|/\*+|\*(?!/)|<!--|\"\"\"|''')(?=\s|$)[ \t]*")
_COMMENT_MARKS = re.compile(r"(?m)^\s*(?:#+!?|//[/!]?|--|;+|%+|/\*+|\*)(?=\s|$)[ \t]*")
_TEXT_QUOTES: Final = ('"""', "'''")
_SECTION_LEVEL: Final = -1
"""A section such as ``[table]`` stands above the lines below it although they are not indented."""

_HAS_WORD = re.compile(r"[^\W\d_]{2}")


def program(text: str) -> Iterator[Passage]:
    """Yield the passages of a file of source code, configuration or data."""
    reader = ProgramReader(text=text)
    for line in lines(text):
        yield from reader.feed(line)
    yield from reader.close()


@define(kw_only=True)
class ProgramReader:
    """Reads lines one by one and knows the definitions around them."""

    text: str
    scopes: list[tuple[int, str]] = field(factory=list)
    comment: list[Line] = field(factory=list)
    quote: str | None = None
    quoted_from: int = 0
    number: int = 0

    def feed(self, line: Line) -> Iterator[Passage]:
        """Take one line; yield the passages that it completes."""
        if self.quote is not None:
            yield from self._inside_text(line, 0)
        elif not line.text.strip():
            yield from self.close()
            self.number += 1
        elif (opened := _opened_text(line.text)) is not None:
            yield from self.close()
            self.quote, at = opened
            self.quoted_from = line.start + at
            yield from self._inside_text(line, at)
        elif _COMMENT.match(line.text):
            self.comment.append(line)
        else:
            yield from self.close()
            yield from self._statement(line)

    def close(self) -> Iterator[Passage]:
        """Yield the passages of the comment or text that is open, and end it."""
        block, self.comment = self.comment, []
        if self.quote is not None:
            self.quote = None
            yield from self._text_block(self.quoted_from, len(self.text))
        if not block:
            return
        for group in [block] if is_wrapped(block) else [[line] for line in block]:
            mark = _COMMENT.match(group[0].text)
            begin = group[0].start + (mark.end() if mark else 0)
            for start, end in sentences(self.text, begin, group[-1].end):
                said = plain(_COMMENT_MARKS.sub("", self.text[start:end]))
                yield self._passage(start, end, said or self.text[start:end], "sentence")

    def _inside_text(self, line: Line, after: int) -> Iterator[Passage]:
        at = line.text.find(self.quote or "", after)
        if at >= 0:
            self.quote = None
            yield from self._text_block(self.quoted_from, line.start + at)

    def _text_block(self, start: int, end: int) -> Iterator[Passage]:
        start, end = trimmed(self.text, start, end)
        for found in prose(self.text, start, end, marked=True):
            passage = self._passage(found.start, found.end, found.text, found.form)
            yield evolve(passage, block=self.number + found.block)
        self.number += self.text.count("\n\n", start, end) + 1

    def _statement(self, line: Line) -> Iterator[Passage]:
        indent = len(line.text) - len(line.text.lstrip())
        section = _SECTION.match(line.text)
        named = _DEFINITION.match(line.text) or section or _KEY.match(line.text)
        level = _SECTION_LEVEL if section else indent
        if named or line.text[indent] not in ")]}":
            self.scopes = [(at, name) for at, name in self.scopes if at < level]
        spans = pieces(self.text, line.start, line.end) if len(line.text) <= MAX_LINE else ()
        for start, end in spans:
            if _HAS_WORD.search(self.text, start, end):
                yield self._passage(start, end, plain(self.text[start:end]), "code")
        if named:
            self.scopes.append((level, named[1]))

    def _passage(self, start: int, end: int, said: str, form: Form) -> Passage:
        chain = [name for _, name in self.scopes]
        return Passage(
            start=start,
            end=end,
            text=said,
            label=".".join(chain),
            context=" ".join(chain),
            block=self.number,
            form=form,
            kind=chain[-1] if chain else "",
        )


def _opened_text(text: str) -> tuple[str, int] | None:
    """Return the mark of a long text that a line opens, and the offset behind it."""
    found = [(text.find(mark), mark) for mark in _TEXT_QUOTES if mark in text]
    if not found:
        return None
    at, mark = min(found)
    return mark, at + len(mark)
