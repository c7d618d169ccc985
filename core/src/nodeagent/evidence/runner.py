"""The evidence runner: gather, rank, write - three durable steps, then an answer.

Each step records a small lossless-JSON result, so that a crash between any two loses no work:

- ``gather`` records which documents there are (digest, size, lines) and which were skipped;
- ``rank`` records the passages that bear on the goal, with their quotes;
- ``write`` verifies every quote against the bytes once more and records statements and confidence.

The contents themselves are not recorded: a resumed run reads a document again when it needs it, and
one that has changed meanwhile is not cited. The memo is computed from the recorded results alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import Protocol

from attrs import define, field

from nodeagent import Answer, Deliverable, Json
from nodeagent.evidence.choice import chosen, hides, is_plain, shown
from nodeagent.evidence.documents import line_of, passages
from nodeagent.evidence.files import Content, Unreadable, read
from nodeagent.evidence.findings import Bearing, Findings, find
from nodeagent.evidence.gather import Gathering, Manifest, Skipped, Source, gather
from nodeagent.evidence.limits import Limits
from nodeagent.evidence.memo import memo
from nodeagent.evidence.passage import Passage
from nodeagent.evidence.shape import from_json, to_json
from nodeagent.evidence.terms import IndexUnavailable
from nodeagent.evidence.words import content_words, repeats, words

MEMO_TYPE = "text/markdown; charset=utf-8"
"""The media type of the memo."""

_NO_INDEX = "This Python's SQLite has no full-text index (FTS5): run the agent on one that has."

_HIDDEN = "has lines with hidden characters, which are not quoted"

_POOL = 16
"""How many passages are recorded, so that some are left when a few do not hold."""


class Frame(Protocol):
    """What the runner needs of a frame's durable context."""

    @property
    def goal(self) -> str:
        """What is asked."""
        ...

    @property
    def input(self) -> Json:
        """``{"sources": ["path", …]}``: files and folders."""
        ...

    @property
    def round(self) -> int:
        """Which round of the job this is: whoever unblocks it wants the sources to be read anew."""
        ...

    def step(self, name: str, fn: Callable[[], Json], /, *, index: int | None = None) -> Json:
        """Run ``fn`` once ever, record its result, and return the recorded result."""
        ...


@define(kw_only=True)
class _Once:
    """The context of a call that nobody resumes: every step runs."""

    goal: str
    input: Json
    round: int = 1

    def step(self, _name: str, fn: Callable[[], Json], /, *, index: int | None = None) -> Json:
        del index
        return fn()


def answer(goal: str, sources: Sequence[str | PathLike[str]], limits: Limits | None = None) -> Answer:
    """Answer ``goal`` from files and folders, citing them line by line.

    The answer's deliverable ``memo`` is a page of Markdown. What cannot be read is skipped and
    named in the memo; ``error`` is set if nothing can be, or if the goal asks nothing.
    """
    paths: list[Json] = [fspath(source) for source in sources]
    return _run(_Once(goal=goal, input={"sources": paths}), limits or Limits())


def evidence_runner(frame: Frame) -> Answer:
    """Answer a frame's goal from the files and folders named by its input's ``sources``.

    A path is taken relative to the working directory of the worker.
    """
    return _run(frame, Limits())


def _run(frame: Frame, limits: Limits) -> Answer:
    problem = _goal_problem(frame.goal) or _input_problem(frame.input)
    if problem:
        return _failed(frame.goal, Manifest(), problem, limits)
    work = Work(goal=frame.goal, paths=_paths(frame.input), limits=limits)
    manifest = from_json(frame.step("gather", work.gather, index=frame.round), Manifest)
    if not manifest.sources:
        return _failed(frame.goal, manifest, _nothing_read(work.paths, manifest), limits)
    try:
        bearing = from_json(frame.step("rank", lambda: work.rank(manifest), index=frame.round), Bearing)
    except IndexUnavailable:
        return _failed(frame.goal, manifest, _NO_INDEX, limits)
    findings = from_json(frame.step("write", lambda: work.write(manifest, bearing), index=frame.round), Findings)
    return _answered(frame.goal, manifest, findings, limits)


@define(kw_only=True)
class Work:
    """The bodies of the three steps; ``gathered`` is at hand only in the process that gathered."""

    goal: str
    paths: list[str]
    limits: Limits
    gathered: dict[str, Content] = field(factory=dict)

    def gather(self) -> Json:
        """Read the sources; record what there is."""
        gathering: Gathering = gather(self.paths, self.limits)
        self.gathered = gathering.contents
        return to_json(gathering.manifest())

    def rank(self, manifest: Manifest) -> Json:
        """Take the documents apart; record the passages that bear on the goal."""
        from nodeagent.evidence.rank import rank  # noqa: PLC0415 - loads a database only when needed

        texts, unread = self._contents(manifest)
        unread += [Skipped(source=source, reason=_HIDDEN) for source, text in texts.items() if hides(text)]
        self.gathered = {}
        found = [
            (source, passage)
            for source, text in texts.items()
            for passage in _quotable(source, text)
            if not repeats(passage.text, self.goal)
        ]
        ranking = rank(self.goal, [passage for _, passage in found], _POOL)
        pool = []
        for ranked in ranking.passages:
            source, passage = found[ranked.number]
            text = texts[source]
            quote = text[passage.start : passage.end]
            pool.append(chosen(source, line_of(text, passage.start), quote, passage, ranked))
        return to_json(Bearing(terms=ranking.terms, passages=tuple(pool), unread=tuple(unread)))

    def write(self, manifest: Manifest, bearing: Bearing) -> Json:
        """Verify the quotes; record statements, evidence and confidence."""
        digests = {source.source: source.sha256 for source in manifest.sources}
        return to_json(find(bearing, digests, self.limits, manifest.left_out(self.limits)))

    def _contents(self, manifest: Manifest) -> tuple[dict[str, str], list[Skipped]]:
        texts, unread = {}, []
        for source in manifest.sources:
            try:
                texts[source.source] = self._text(source)
            except Unreadable as refusal:
                unread.append(Skipped(source=source.source, reason=refusal.reason))
        return texts, unread

    def _text(self, source: Source) -> str:
        content = self.gathered.get(source.source)
        if content is None:
            content = read(source.source, self.limits.max_file_bytes)
        if content.sha256 != source.sha256:
            raise Unreadable("was changed after it was read")
        return content.text


def _quotable(source: str, text: str) -> Iterator[Passage]:
    """Yield the passages of a document, or parts of them, that show themselves as they are."""
    clean = is_plain(text)
    for passage in passages(source, text):
        yield from (passage,) if clean else shown(text, passage)


def _goal_problem(goal: str) -> str | None:
    if not words(goal):
        return "The goal is empty: ask a question or name a subject."
    if not content_words(goal):
        return "The goal has stop words only: name the subject that the sources should tell about."
    return None


def _input_problem(given: Json) -> str | None:
    sources = given.get("sources") if isinstance(given, Mapping) else None
    if not isinstance(sources, list):
        return 'The input names no sources: it must be {"sources": ["path", …]}.'
    if not sources:
        return "The list of sources is empty: name at least one file or folder."
    if not all(isinstance(path, str) and path and "\0" not in path for path in sources):
        return "The list of sources must hold paths only: non-empty strings without NUL characters."
    return None


def _paths(given: Json) -> list[str]:
    sources = given.get("sources") if isinstance(given, Mapping) else None
    return [path for path in sources or [] if isinstance(path, str)] if isinstance(sources, list) else []


def _nothing_read(paths: Sequence[str], manifest: Manifest) -> str:
    told = [f"{skipped.source} {skipped.reason}" for skipped in manifest.skipped[:3]]
    more = len(manifest.skipped) - len(told) + sum(manifest.more_skipped.values())
    if not told:
        told = [f"{', '.join(paths[:3])} {'holds' if len(paths) == 1 else 'hold'} no files"]
    return f"No source could be read: {'; '.join(told)}{f'; and {more} more' if more else ''}."


def _failed(goal: str, manifest: Manifest, problem: str, limits: Limits) -> Answer:
    return _answered(goal, manifest, Findings(error=problem), limits)


def _answered(goal: str, manifest: Manifest, findings: Findings, limits: Limits) -> Answer:
    page = memo(goal, manifest, findings, limits).encode("utf-8", "backslashreplace")
    return Answer(
        confidence=findings.confidence,
        statements=findings.statements,
        evidence=findings.evidence,
        deliverables={"memo": Deliverable(data=page, media_type=MEMO_TYPE)},
        error=findings.error,
    )
