"""Composite names as text, remembered: a step names the same scope and resource again and again."""

from __future__ import annotations

import functools
from typing import Final

from nodeagent import encode_key

REMEMBERED: Final = 1024

text_of = functools.lru_cache(REMEMBERED)(encode_key)
"""Return what :func:`nodeagent.encode_key` returns."""
