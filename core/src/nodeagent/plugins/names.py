"""Comparing names that people type."""

from __future__ import annotations

import re
from collections.abc import Iterable


def normalised(name: str) -> str:
    """Return ``name`` as it is compared: without case, and with one spelling of separators."""
    return re.sub(r"[-_.]+", "-", name).lower()


def nearest(name: str, choices: Iterable[str]) -> str | None:
    """Return the choice that ``name`` was probably meant to be, or None."""
    import difflib  # noqa: PLC0415 - needed only when something is wrong

    spelled = {normalised(choice): choice for choice in sorted(choices, reverse=True)}
    close = difflib.get_close_matches(normalised(name), spelled, n=1, cutoff=0.6)
    return spelled[close[0]] if close else None


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return the end of a sentence that suggests the nearest choice; empty if none is near."""
    near = nearest(name, choices)
    return f"; did you mean {near!r}?" if near is not None else ""


def listed(names: Iterable[str]) -> str:
    """Return the names for a sentence."""
    return ", ".join(map(repr, names)) or "none"
