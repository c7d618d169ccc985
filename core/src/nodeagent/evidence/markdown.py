"""Text made safe for Markdown: what a document or a user wrote is shown, never acted upon."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from nodeagent.evidence.passage import plain

_ACTIVE = re.compile(r"[\\`*\[\]<>|~]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|!(?=\[)|\$(?=\S)")
_OPENING = re.compile(r"^(?:[-+=#>]|\d{1,9}(?=[.)]))")
_CONTROL = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_TICKS = re.compile(r"`+")
_ELLIPSIS: Final = "…"
_SHORTEST_FENCE: Final = 3


def visible_line(text: str, limit: int = 300) -> str:
    """Return ``text`` as one line without control characters, cut at ``limit`` characters."""
    line = plain(_CONTROL.sub(" ", text))
    return line if len(line) <= limit else line[:limit].rstrip() + _ELLIPSIS


def inert(text: str) -> str:
    """Return one line of text with every character escaped that Markdown would act upon."""
    escaped = _ACTIVE.sub(r"\\\g<0>", text)
    return _OPENING.sub(_escaped_opening, escaped)


def verbatim(text: str) -> str:
    """Return text that shows exactly as it is: plain where Markdown leaves it alone, else as code."""
    if inert(text) == text:
        return text
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def block(lines: Sequence[str]) -> str:
    """Return lines as a block that shows them exactly as they are, between fences that they cannot close."""
    text = "\n".join(lines)
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, _SHORTEST_FENCE)
    return f"{fence}text\n{text}\n{fence}"


def _escaped_opening(opening: re.Match[str]) -> str:
    mark = opening[0]
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"
