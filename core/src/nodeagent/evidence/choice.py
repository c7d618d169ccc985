"""Choice: which of the ranked passages the answer states, and how each is put."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from attrs import evolve, frozen

from nodeagent.evidence.passage import Passage, plain, trimmed
from nodeagent.evidence.terms import Ranked
from nodeagent.evidence.words import words

FLOOR: Final = 0.4
"""A passage is stated only if it has this share of the best passage's score."""

_ALIKE: Final = 0.8
_MOST_PLACES: Final = 3
_MAX_LABEL: Final = 160
_INLINE = (
    (re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)"), r"\1"),
    (re.compile(r"!?\[([^\[\]]+)\]\[[^\[\]]*\]"), r"\1"),
    (re.compile(r"(?<!\w)(\*\*|__)(?=\S)(.+?)(?<=\S)\1(?!\w)"), r"\2"),
    (re.compile(r"(?<!`)`([^`]+)`(?!`)"), r"\1"),
)
_SEPARATOR = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f]")
"""A control character, or a whole sequence that tells a terminal how to look."""
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


@frozen(kw_only=True)
class Chosen:
    """A ranked passage, with all that is needed to cite and weigh it without its document."""

    source: str
    line: int
    quote: str
    text: str
    score: float
    own: tuple[int, ...]
    near: tuple[int, ...]
    asked: bool


def chosen(source: str, line: int, quote: str, passage: Passage, ranked: Ranked) -> Chosen:
    """Return a ranked passage as something that can be cited."""
    return Chosen(
        source=source,
        line=line,
        quote=quote,
        text=sentence(passage),
        score=ranked.score,
        own=ranked.own,
        near=ranked.near,
        asked=ranked.asked,
    )


def is_plain(text: str) -> bool:
    """Say whether a reader sees all of ``text``: no control characters, no hidden directions."""
    return _UNSEEN.search(text) is None


def hides(text: str) -> bool:
    """Say whether a text has marks nobody sees, control characters aside: what holds one is not quoted."""
    return not is_plain(_SEPARATOR.sub("", text))


def shown(text: str, passage: Passage) -> Iterator[Passage]:
    """Yield the parts of a passage of ``text`` that a reader sees as they are: control characters separate them."""
    if is_plain(text[passage.start : passage.end]):
        yield passage
        return
    begin = passage.start
    ends = [(mark.start(), mark.end()) for mark in _SEPARATOR.finditer(text, passage.start, passage.end)]
    for end, following in (*ends, (passage.end, passage.end)):
        start, stop = trimmed(text, begin, end)
        if start < stop and is_plain(text[start:stop]):
            yield evolve(passage, start=start, end=stop, text=plain(text[start:stop]))
        begin = following


def sentence(passage: Passage) -> str:
    """Return a passage as a sentence: marks taken off, and a row introduced by its label."""
    if passage.form == "code":
        return plain(passage.text)
    said = _unmarked(passage.text)
    if passage.form == "row" and passage.label and len(passage.label) <= _MAX_LABEL:
        said = f"{_unmarked(passage.label)}: {said}"
    return said if said.endswith((".", "!", "?", ":", ";")) else f"{said}."


def choose(pool: Sequence[Chosen], count: int) -> list[list[Chosen]]:
    """Return groups of passages to state, best first; a group says the same in several places.

    If the goal asks *which X*, up to half of the places (rounded up) are kept for rows that stand
    under *X*; the others go to the best of the rest.
    """
    floor = FLOOR * pool[0].score if pool else 0.0
    groups: list[list[Chosen]] = []
    for passage in pool:
        if passage.score >= floor:
            _file(passage, groups)
    asked = [group for group in groups if group[0].asked][: (count + 1) // 2]
    other = [group for group in groups if not group[0].asked][: count - len(asked)]
    kept = [*asked, *other]
    return [group for group in groups if any(group is each for each in kept)]


def _file(passage: Chosen, groups: list[list[Chosen]]) -> None:
    """Put a passage with those that say the same; drop it if it nearly does or adds a fourth."""
    for group in groups:
        alike = _alike(passage.text, group[0].text)
        if alike == 1 and len(group) < _MOST_PLACES:
            group.append(passage)
        if alike >= _ALIKE:
            return
    groups.append([passage])


def _alike(one: str, other: str) -> float:
    """Return how much of the shorter text's words the other one has; 1 if they say the same."""
    mine, others = set(words(one)), set(words(other))
    if mine == others:
        return 1.0
    return len(mine & others) / (min(len(mine), len(others)) + 1)


def _unmarked(text: str) -> str:
    said = plain(text)
    for mark, kept in _INLINE:
        said = mark.sub(kept, said)
    return said
