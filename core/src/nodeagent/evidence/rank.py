"""Ranking: which passages bear on a goal, by the full-text index of SQLite.

The passages of all documents go into an FTS5 table in memory, stemmed by its ``porter`` tokenizer,
camelCase taken apart, with the words around a passage (headings, lead-in, column names) in a
second column. FTS5's ``bm25()`` proposes candidates. They are scored again by what a person would
ask: which of the goal's words are here, weighted by how rare each is in the sources?

A second look goes beyond the goal's own words: words that stand in and beside the best passages,
and are rare elsewhere, lead to passages that say the same thing in other words (pseudo-relevance
feedback). That is how *duplicate, replay, receipt* leads to *journal* and *idempotency*.

This is the one module of the core that imports a database, and it is one in memory.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from typing import Final

from attrs import define

from nodeagent.evidence.passage import Passage
from nodeagent.evidence.terms import NEAR, IndexUnavailable, Ranked, Ranking, Term, coverage, rarity, term_of
from nodeagent.evidence.words import (
    LIGHT_WORDS,
    STOP_WORDS,
    apart,
    asked_for,
    content_words,
    wants_number,
    words,
)

CANDIDATES: Final = 200
"""How many passages of the index are scored."""

_BM25_SHARE: Final = 0.15
_FEEDBACK_SHARE: Final = 0.25
_FEEDBACK_PASSAGES: Final = 8
_FEEDBACK_FLOOR: Final = 0.6
_FEEDBACK_WORDS: Final = 10
_FEEDBACK_MAX_SHARE: Final = 0.2
_ASKED_BONUS: Final = 0.15
_NUMBER_BONUS: Final = 0.05
_FORM_PENALTY: Final = {"code": 0.1, "title": 0.05}
_TABLES: Final = (
    "CREATE VIRTUAL TABLE passage USING fts5(own, around, content='', tokenize='porter unicode61')",
    "CREATE VIRTUAL TABLE word USING fts5vocab(passage, 'row')",
    "CREATE VIRTUAL TABLE sample USING fts5(own, content='', tokenize='porter unicode61')",
    "CREATE VIRTUAL TABLE stem USING fts5vocab(sample, 'instance')",
)


def rank(goal: str, passages: Sequence[Passage], count: int) -> Ranking:
    """Return at most ``count`` passages that bear on ``goal``, best first.

    Raises :class:`IndexUnavailable` if this Python's SQLite has no FTS5.
    """
    with closing(sqlite3.connect(":memory:")) as connection:
        index = Index(connection=connection, passages=passages)
        index.fill()
        search = Search.of(goal, index)
        first = search.scored(None)
        ranked = search.scored(index.feedback(first, frozenset(search.stems))) if first else []
    return Ranking(terms=tuple(search.terms), passages=tuple(ranked[:count]))


@define(kw_only=True)
class Index:
    """The passages of all documents in a full-text table; a passage's row is its number + 1."""

    connection: sqlite3.Connection
    passages: Sequence[Passage]

    def fill(self) -> None:
        """Make the tables and index every passage."""
        try:
            for statement in _TABLES:
                self.connection.execute(statement)
        except sqlite3.OperationalError as error:
            raise IndexUnavailable from error
        around = {context: apart(context) for context in {each.context for each in self.passages}}
        self.connection.executemany(
            "INSERT INTO passage(rowid, own, around) VALUES (?, ?, ?)",
            ((number, apart(passage.text), around[passage.context]) for number, passage in enumerate(self.passages, 1)),
        )

    def stems(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the stems of each text, in order, as the index sees them."""
        self.connection.execute("INSERT INTO sample(sample) VALUES ('delete-all')")
        rows = list(enumerate(texts, 1))
        self.connection.executemany("INSERT INTO sample(rowid, own) VALUES (?, ?)", rows)
        found: dict[int, list[str]] = {number: [] for number, _ in rows}
        for term, doc in self.connection.execute('SELECT term, doc FROM stem ORDER BY doc, "offset"'):
            found[doc].append(term)
        return list(found.values())

    def having(self, column: str, word: str) -> set[int]:
        """Return the numbers of the passages that have a word in a column."""
        query = f"{column} : {quoted(word)}"
        rows = self.connection.execute("SELECT rowid FROM passage WHERE passage MATCH ?", (query,))
        return {row - 1 for (row,) in rows}

    def spread(self, stem: str) -> int:
        """Return in how many passages a stem stands."""
        row = self.connection.execute("SELECT doc FROM word WHERE term = ?", (stem,)).fetchone()
        return int(row[0]) if row else 0

    def candidates(self, query_words: Iterable[str]) -> dict[int, float]:
        """Return the best passages for any of the words, each with its share of the best bm25."""
        query = " OR ".join(quoted(word) for word in query_words)
        rows = self.connection.execute(
            "SELECT rowid, -bm25(passage, 1.0, 0.3) AS score FROM passage WHERE passage MATCH ?"
            " ORDER BY score DESC, rowid LIMIT ?",
            (query, CANDIDATES),
        ).fetchall()
        best = max((score for _, score in rows), default=0.0)
        return {row - 1: score / best if best > 0 else 0.0 for row, score in rows}

    def neighbours(self, number: int) -> list[int]:
        """Return the passages beside a passage in the same block."""
        block = self.passages[number].block
        around = (number - 1, number + 1)
        last = len(self.passages)
        return [at for at in around if 0 <= at < last and self.passages[at].block == block]

    def feedback(self, ranked: Sequence[Ranked], known: frozenset[str]) -> dict[str, float]:
        """Return words that stand in and beside the best passages and are rare, with weights."""
        shares: dict[int, float] = defaultdict(float)
        floor = _FEEDBACK_FLOOR * ranked[0].score
        for passage in ranked[:_FEEDBACK_PASSAGES]:
            if passage.score < floor:
                break
            shares[passage.number] = max(shares[passage.number], passage.score)
            for beside in self.neighbours(passage.number):
                shares[beside] = max(shares[beside], passage.score * NEAR)
        held = {number: set(words(self.passages[number].text)) - STOP_WORDS for number in shares}
        spoken = sorted(set[str]().union(*held.values()))
        stems = dict(zip(spoken, self.stems(spoken), strict=True))
        weights: dict[str, float] = defaultdict(float)
        for number, share in shares.items():
            for word in held[number]:
                if known.isdisjoint(stems[word]):
                    weights[word] += share / len(held[number])
        return self._rare(weights, stems)

    def _rare(self, weights: dict[str, float], stems: dict[str, list[str]]) -> dict[str, float]:
        total = len(self.passages)
        most = max(3, _FEEDBACK_MAX_SHARE * total)
        found: dict[str, tuple[str, float]] = {}
        for word, weight in sorted(weights.items()):
            stem = " ".join(stems[word])
            spread = self.spread(stem)
            if 1 < spread <= most and len(word) > 2 and not word.isdigit():  # noqa: PLR2004
                kept, so_far = found.get(stem, (word, 0.0))
                found[stem] = (kept, so_far + weight * rarity(spread, total))
        best = sorted(found.values(), key=lambda pair: (-pair[1], pair[0]))
        return dict(best[:_FEEDBACK_WORDS])


@define(kw_only=True)
class Search:
    """A goal's words against one index."""

    index: Index
    terms: list[Term]
    stems: list[str]
    own: list[set[int]]
    near: list[set[int]]
    kinds: frozenset[str]
    number: bool

    @classmethod
    def of(cls, goal: str, index: Index) -> Search:
        """Look up each word of a goal once; words with one stem are one word."""
        distinct: dict[str, str] = {}
        wanted = list(_as_written(goal, index))
        for word, stems in zip(wanted, index.stems(wanted), strict=True):
            for stem in stems:
                distinct.setdefault(stem, word)
        own = [index.having("own", word) for word in distinct.values()]
        near = [index.having("around", word) for word in distinct.values()]
        total = len(index.passages)
        light = {stem for stems in index.stems(sorted(LIGHT_WORDS)) for stem in stems}
        return cls(
            index=index,
            terms=[
                term_of(word, len(found) or len(around), total, light=stem in light)
                for (stem, word), found, around in zip(distinct.items(), own, near, strict=True)
            ],
            stems=list(distinct),
            own=own,
            near=near,
            kinds=_kinds(asked_for(goal), index),
            number=wants_number(goal),
        )

    def scored(self, feedback: dict[str, float] | None) -> list[Ranked]:
        """Return the candidates for the goal's words and the feedback's, best first.

        Without feedback only the goal's own words count, not what it asks for.
        """
        if not self.terms:
            return []
        candidates = self.index.candidates([term.word for term in self.terms])
        bonus = dict.fromkeys(candidates, 0.0)
        if feedback is not None:
            candidates = (self.index.candidates(feedback) if feedback else {}) | candidates
            bonus = self._bonuses(candidates, feedback)
        ranked = [self._ranked(number, share, bonus[number]) for number, share in candidates.items()]
        return sorted(ranked, key=lambda passage: (-passage.score, passage.number))

    def _bonuses(self, candidates: Iterable[int], feedback: dict[str, float]) -> dict[int, float]:
        """Return what each candidate earns by other than the goal's own words."""
        having = {word: self.index.having("own", word) for word in feedback}
        held = {
            number: sum(weight for word, weight in feedback.items() if number in having[word]) for number in candidates
        }
        most = max(held.values(), default=0.0) or 1.0
        return {
            number: _FEEDBACK_SHARE * weight / most
            + _ASKED_BONUS * self._is_asked(number)
            + _NUMBER_BONUS * (self.number and self._has_number(number))
            for number, weight in held.items()
        }

    def _ranked(self, number: int, share: float, bonus: float) -> Ranked:
        form = self.index.passages[number].form
        beside = [] if form == "row" else self.index.neighbours(number)
        own = tuple(at for at, found in enumerate(self.own) if number in found)
        near = tuple(
            at
            for at, found in enumerate(self.own)
            if number not in found and (number in self.near[at] or any(other in found for other in beside))
        )
        score = coverage(self.terms, own, near) + _BM25_SHARE * share + bonus
        score -= _FORM_PENALTY.get(form, 0.0)
        asked = self._is_asked(number)
        return Ranked(number=number, score=round(score, 4) + 0.0, own=own, near=near, asked=asked)

    def _is_asked(self, number: int) -> bool:
        passage = self.index.passages[number]
        return passage.form == "row" and passage.kind in self.kinds

    def _has_number(self, number: int) -> bool:
        return any(char.isdigit() for char in self.index.passages[number].text)


def quoted(word: str) -> str:
    """Return a word as an FTS5 string, so that nothing in it is query syntax."""
    return '"' + word.replace('"', '""') + '"'


def _as_written(goal: str, index: Index) -> Iterator[str]:
    """Yield the words of a goal; a camelCase one that no passage has is taken by its parts."""
    for word, parts in content_words(goal).items():
        yield from (word,) if not parts or index.having("own", word) else parts


def _kinds(asked: str | None, index: Index) -> frozenset[str]:
    """Return the kinds of rows that hold what a goal asks for: those whose name has its stem."""
    kinds = sorted({passage.kind for passage in index.passages if passage.form == "row"})
    wanted, *found = index.stems([asked or "", *(apart(kind) for kind in kinds)])
    return frozenset(kind for kind, stems in zip(kinds, found, strict=True) if wanted and wanted[0] in stems)
