"""The memo: an answer as a page of Markdown that a person likes to read.

It depends on the goal, the manifest and the findings alone: no clock, no host, no order of
arrival, so equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nodeagent import Evidence, Statement
from nodeagent.evidence.files import bytes_in_words
from nodeagent.evidence.findings import Findings
from nodeagent.evidence.gather import Manifest
from nodeagent.evidence.limits import Limits
from nodeagent.evidence.markdown import block, inert, verbatim, visible_line
from nodeagent.evidence.passage import plain

_MOST_NAMES: Final = 5


def memo(goal: str, manifest: Manifest, findings: Findings, limits: Limits) -> str:
    """Return the memo as Markdown."""
    parts = [
        f"# {inert(visible_line(goal)) or 'No goal'}",
        "## Answer",
        *_answer(findings),
        *_confidence(findings),
        *_evidence(findings),
        *_sources(manifest, findings, limits.max_listed),
    ]
    return "\n\n".join(parts) + "\n"


def _answer(findings: Findings) -> Iterator[str]:
    if findings.error:
        yield inert(findings.error)
    elif findings.statements:
        yield "\n".join(_statement(each) for each in findings.statements)
    else:
        yield "The sources do not answer this."


def _confidence(findings: Findings) -> Iterator[str]:
    if not findings.error:
        yield "## Confidence"
        yield f"**{findings.confidence.capitalize()}**: {inert(findings.reason)}."


def _statement(statement: Statement) -> str:
    marks = "".join(f" [{number}]" for number in statement.citations)
    return f"- {inert(visible_line(statement.text, 1000))}{marks}"


def _evidence(findings: Findings) -> Iterator[str]:
    if findings.evidence:
        yield "## Evidence" if findings.statements else "## Nearest passages"
        yield from (citation(each) for each in findings.evidence)


def citation(evidence: Evidence) -> str:
    """Return one citation: ``[1] notes.md:12 — "the quote"``; a quote of several lines stands below as a block."""
    lines = [_one_line(line) for line in evidence.quote.split("\n")]
    source = verbatim(visible_line(evidence.source, 4096))
    place = source if evidence.line is None else f"{source}:{line_range(evidence.line, evidence.quote)}"
    if len(lines) == 1:
        return f'[{evidence.id}] {place} — "{verbatim(lines[0])}"'
    return f"[{evidence.id}] {place}\n\n{block(lines)}"


def line_range(line: int, quote: str) -> str:
    """Return the lines that a quote stands in: ``12``, or ``12-14``."""
    more = quote.count("\n")
    return f"{line}-{line + more}" if more else str(line)


def _one_line(line: str) -> str:
    """Return a line as it is; whatever else a reader's program may break a line at shows as a blank."""
    line = line.removesuffix("\r")
    return plain(line) if len(line.splitlines()) > 1 else line


def _sources(manifest: Manifest, findings: Findings, most: int) -> Iterator[str]:
    yield "## Sources"
    sources = manifest.sources
    size = sum(source.size for source in sources)
    read = [f"{verbatim(each.source)} ({_counted(each.lines, 'line')})" for each in sources]
    total = f"{_counted(len(sources), 'file')}, {bytes_in_words(size)}"
    yield _listing(f"Read: {total}", read, len(sources), most) if sources else "Read: nothing."
    if manifest.skipped:
        count = len(manifest.skipped) + sum(manifest.more_skipped.values())
        yield "\n".join([f"Skipped: {_counted(count, 'path')}", "", *_by_reason(manifest)])
    if findings.dropped:
        dropped = [f"{verbatim(each.source)} {inert(each.reason)}" for each in findings.dropped]
        yield _listing("Not cited, or not all of it, because on a second look it", dropped, len(dropped), most)


def _by_reason(manifest: Manifest) -> Iterator[str]:
    for reason in dict.fromkeys(each.reason for each in manifest.skipped):
        names = [each.source for each in manifest.skipped if each.reason == reason]
        shown = ", ".join(verbatim(visible_line(name, 4096)) for name in names[:_MOST_NAMES])
        more = len(names[_MOST_NAMES:]) + manifest.more_skipped.get(reason, 0)
        yield f"- {inert(reason)}: {shown}{f' and {more} more' if more else ''}"
    for reason in sorted(manifest.more_skipped.keys() - {each.reason for each in manifest.skipped}):
        yield f"- {inert(reason)}: {_counted(manifest.more_skipped[reason], 'path')}"


def _listing(title: str, entries: Sequence[str], count: int, most: int) -> str:
    rest = [f"… and {count - most} more"] if count > most else []
    return "\n".join([title, "", *(f"- {entry}" for entry in [*entries[:most], *rest])])


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
