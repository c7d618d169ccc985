"""Terms: the words of a goal, what each weighs, and how much of the weight a passage covers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import frozen

NEAR: Final = 0.5
"""What a word counts that stands around a passage and not in it."""

LIGHT: Final = 0.25
"""What a light word counts: its rarity tells little, and it may be missing in the sources."""


class IndexUnavailable(Exception):
    """This Python's SQLite has no full-text index."""


@frozen(kw_only=True)
class Term:
    """A word of the goal: its weight, and in how many passages it stands (if in none, around how many)."""

    word: str
    weight: float
    passages: int
    light: bool


@frozen(kw_only=True)
class Ranked:
    """A passage's place (``number`` in the ranked sequence), score, and the goal's words it has.

    ``own`` and ``near`` are indexes into the terms: words in the passage, words around it.
    ``asked`` says that it belongs to what the goal asks for: under *Ports* for *Which port …*.
    """

    number: int
    score: float
    own: tuple[int, ...]
    near: tuple[int, ...]
    asked: bool


@frozen(kw_only=True)
class Ranking:
    """The words of a goal and the passages that bear on it, best first."""

    terms: tuple[Term, ...]
    passages: tuple[Ranked, ...]


def term_of(word: str, spread: int, total: int, *, light: bool) -> Term:
    """Return a goal's word with its weight: its rarity, a quarter of it if the word is light."""
    weight = rarity(spread, total) * (LIGHT if light else 1.0)
    return Term(word=word, weight=round(weight, 4), passages=spread, light=light)


def coverage(terms: Sequence[Term], own: Iterable[int], near: Iterable[int]) -> float:
    """Return the share of the terms' weight that is present; words around count by half."""
    total = sum(term.weight for term in terms)
    here = sum(terms[at].weight for at in own) + NEAR * sum(terms[at].weight for at in near)
    return here / total if total else 0.0


def rarity(spread: int, total: int) -> float:
    """Return the inverse document frequency as bm25 has it, always positive."""
    return math.log(1 + (total - spread + 0.5) / (spread + 0.5))
