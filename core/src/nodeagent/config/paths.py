"""The paths that lead to a problem, as a person would write them in TOML."""

from __future__ import annotations

import json
import re
from typing import Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")


def join(path: str, key: object) -> str:
    """Return the path of ``key`` within ``path``; a key that TOML would quote is quoted."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    name = str(key)
    name = name if _BARE.fullmatch(name) else json.dumps(name)
    return f"{path}.{name}" if path else name
