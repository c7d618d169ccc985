"""Composite names as one text, for stores whose keys are text."""

from __future__ import annotations

import json
from json.encoder import encode_basestring

from nodeagent.errors import Corrupt


def encode_key(parts: tuple[str, ...]) -> str:
    """Return the parts as a JSON array: injective, readable, without control characters."""
    # Every call of a port needs one; json.dumps would build an encoder each time, at three times the cost.
    return f"[{','.join(map(encode_basestring, parts))}]"


def decode_key(text: str) -> tuple[str, ...]:
    """Return the parts that :func:`encode_key` was given. Raises :class:`~nodeagent.Corrupt` on other text."""
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError):  # the latter of text that is nested without end
        parts = None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise Corrupt("a stored key is not a JSON array of strings; restore it from a back-up")
    return tuple(parts)
