"""Confidence: how sure the runner is that the cited passages answer the goal, and why.

It rests on the goal's words and on nothing else, so that a reader can check it. Words are weighted
by rarity in the sources; stop words do not count, light words (*make*, *use*) count a quarter.
Three numbers decide:

- *best*: the share of the goal's weight that the best cited passage covers (words in the headings,
  lead-in or sentence around it by half);
- *together*: the share that the three best cited passages cover together;
- *missing*: the share of words that stand nowhere in the sources, light words aside.

========  =====================================================================================
high      best ≥ 0.75, or best ≥ 0.6 and together ≥ 0.9; nothing missing; and the best passage
          has at least two words of the goal
medium    best ≥ 0.5 and missing ≤ 0.3; and the best passage has at least two words of the goal,
          or the goal has only one
low       everything else: then nothing is stated, and the nearest passages are shown
========  =====================================================================================

What this cannot see: a passage that has the goal's words and answers another question.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from attrs import evolve, frozen

from nodeagent import Confidence
from nodeagent.evidence.choice import Chosen
from nodeagent.evidence.terms import Term, coverage

HIGH_BEST: Final = 0.75
HIGH_BEST_WITH_COMPANY: Final = 0.6
HIGH_TOGETHER: Final = 0.9
MEDIUM_BEST: Final = 0.5
MEDIUM_MISSING: Final = 0.3
ENOUGH_WORDS: Final = 2
_COMPANY: Final = 3


@frozen(kw_only=True)
class Assessment:
    """A confidence and the numbers and words that it rests on."""

    confidence: Confidence
    best: float = 0.0
    together: float = 0.0
    missing: float = 0.0
    absent: tuple[str, ...] = ()
    words: int = 0
    left_out: str | None = None

    @property
    def reason(self) -> str:
        """One sentence for people, which names the numbers that decided."""
        searched = "the sources" if self.left_out is None else f"what was read ({self.left_out})"
        nowhere = f"{_listed(self.absent)} {'stands' if len(self.absent) == 1 else 'stand'} nowhere in {searched}"
        if self.best == 0:
            return f"nothing bears on the goal: {nowhere}" if self.absent else "nothing bears on the goal"
        share = f"the best passage covers {self.best:.0%} of the goal's words, rare ones weighing more"
        if self.absent:
            return f"{share}, but {nowhere}"
        if self.confidence == "low" and self.words < ENOUGH_WORDS:
            return f"{share}, but it has only one of them"
        return f"{share}; the best {_COMPANY} cover {self.together:.0%}" if self.together > self.best else share


def assess(terms: Sequence[Term], cited: Sequence[Chosen], left_out: str | None = None) -> Assessment:
    """Return how far the cited passages, best first, cover the words of the goal.

    ``left_out`` says what was not read although it was named.
    """
    absent = [at for at, term in enumerate(terms) if not term.passages and not term.light]
    best = max(cited, key=lambda each: coverage(terms, each.own, each.near), default=None)
    company = cited[:_COMPANY]
    own = set[int]().union(*(each.own for each in company))
    near = set[int]().union(*(each.near for each in company)) - own
    found = Assessment(
        confidence="low",
        best=coverage(terms, best.own, best.near) if best else 0.0,
        together=coverage(terms, own, near),
        missing=coverage(terms, absent, ()),
        absent=tuple(terms[at].word for at in absent),
        words=_weighty(terms, (*best.own, *best.near)) if best else 0,
        left_out=left_out,
    )
    alone = _weighty(terms, range(len(terms))) < ENOUGH_WORDS
    return evolve(found, confidence=_decided(found, alone=alone))


def _decided(found: Assessment, *, alone: bool) -> Confidence:
    several = found.words >= ENOUGH_WORDS
    strong = found.best >= HIGH_BEST or (found.best >= HIGH_BEST_WITH_COMPANY and found.together >= HIGH_TOGETHER)
    if several and strong and not found.absent:
        return "high"
    if (several or alone) and found.best >= MEDIUM_BEST and found.missing <= MEDIUM_MISSING:
        return "medium"
    return "low"


def _weighty(terms: Sequence[Term], numbers: Sequence[int]) -> int:
    return sum(not terms[at].light for at in numbers)


def _listed(words: Sequence[str]) -> str:
    *rest, last = [f"“{word}”" for word in words[:5]] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last
