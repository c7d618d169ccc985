"""Words: how a text is taken apart for the index, and which words of a goal carry meaning."""

from __future__ import annotations

import re
from typing import Final

MAX_WORDS: Final = 48
"""How many words of a goal are looked for."""

_STOP = """
    a about after all also am an and any anyone are as at be because been before being both but by
    can cannot could did do does doing done each either else ever for from had has have having he
    her here him his how i if in into is it its itself just least less many may me might more most
    much must my no nor not of off on or other our out over own per please same shall she should so
    some such tell than that the their them then there these they this those through to too under
    until up upon us very was we were what whatever when where whether which while who whom whose
    why will with within without would you your s t d ll m re ve don doesn didn isn aren wasn won
    """

STOP_WORDS: Final = frozenset(_STOP.split())
"""English words that say nothing about the subject; a goal of these alone cannot be answered."""

_LIGHT = """
    actual allow always answer become behave begin best bring call cause come concept contain correct
    definition describe description detail difference different exact example exist explain fact find
    first follow get give go good happen help inside keep kind know known last let like long look made
    main make mean meaning meant mention need new normal often one part perform possible proper provide
    purpose question reason say show shown sort take thing time two type typical use useful usual want
    way well work
    """

LIGHT_WORDS: Final = frozenset(_LIGHT.split())
"""Words that questions are built with, in any of their forms; see :data:`~nodeagent.evidence.terms.LIGHT`."""

_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")
_WORD = re.compile(r"[^\W_]+")
_ASKED = re.compile(
    r"\b(?:which|what|whose)\s+(?:(?:kind|kinds|type|types|sort)\s+of\s+|of\s+(?:the|these|those)\s+)?([^\W_]+)",
    re.IGNORECASE,
)
_NUMBER_WANTED = re.compile(
    r"\bhow\s+(?:many|much|long|often|large|big|hot|fast|old|far|high|deep|heavy)\b|\bwhen\b"
    r"|\b(?:number|size|limit|maximum|minimum|temperature|date|year)\b",
    re.IGNORECASE,
)

_QUESTION = re.compile(
    r"\?\W*$|^\W*(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|do|does|did|can|could|may|must"
    r"|shall|should|will|would|has|have|had|describe|explain|list|name|show|tell)\b",
    re.IGNORECASE,
)
_ENOUGH_TO_REPEAT: Final = 3


def apart(text: str) -> str:
    """Return ``text`` and, behind it, the parts of its camelCase words: ``… write Once``."""
    if _INNER_CAPITAL.search(text) is None:
        return text
    joined = [word for word in _WORD.findall(text) if _INNER_CAPITAL.search(word)]
    return " ".join([text, *(_SEAM.sub(" ", word) for word in joined)])


def words(text: str) -> list[str]:
    """Return the words of ``text`` in lower case, also those that camelCase ones consist of."""
    return [word.lower() for word in _WORD.findall(apart(text))]


def repeats(text: str, goal: str) -> bool:
    """Say whether ``text`` has the whole of a goal that is a question, whatever its case, punctuation and spacing.

    It asks, and does not answer. What is no question (*default rounding step*) may stand in its own answer.
    """
    asked = _WORD.findall(goal.lower())
    if len(asked) < _ENOUGH_TO_REPEAT or _QUESTION.search(goal) is None:
        return False
    return f" {' '.join(asked)} " in f" {' '.join(_WORD.findall(text.lower()))} "


def content_words(text: str) -> dict[str, tuple[str, ...]]:
    """Return the distinct words of ``text`` that are not stop words, in order.

    Of a very long text the first ``MAX_WORDS`` are taken. A camelCase word comes with its parts, in
    case the sources write it as several words.
    """
    found = {word.lower(): word for word in _WORD.findall(text)}
    kept = [word for word in found if word not in STOP_WORDS][:MAX_WORDS]
    parts = {word: tuple(_SEAM.sub(" ", found[word]).lower().split()) for word in kept}
    return {word: split if len(split) > 1 else () for word, split in parts.items()}


def asked_for(goal: str) -> str | None:
    """Return the thing a goal asks for by *which* or *what*: ``port`` in ``Which port …``."""
    found = _ASKED.search(goal)
    word = found[1].lower() if found else None
    return None if word is None or word in STOP_WORDS else word


def wants_number(goal: str) -> bool:
    """Say whether an answer to ``goal`` probably holds a number: *how many*, *when*, *limit*."""
    return _NUMBER_WANTED.search(goal) is not None
