"""Where an artifact lies: ``<path>/<namespace>/sha256/ab/abcd…``."""

from __future__ import annotations

import hashlib
import string
from pathlib import Path
from typing import Final

from nodeagent import ArtifactRef

UNFINISHED: Final = ".unfinished-"
"""What the name of a file begins with until it is whole; no digest begins so."""

_PLAIN: Final = frozenset((string.ascii_lowercase + string.digits + "-_").encode())
_LONGEST: Final = 200


def folder_of(namespace: str) -> str:
    """Return the name of a namespace's folder; two namespaces never share one.

    All but lower-case letters, digits, ``-`` and ``_`` is written as ``%`` and two digits, so no
    name leads out of its folder, no two differ only in case, and the prefix keeps off the names
    that some systems reserve. What gets too long for a file system is named by its digest.
    """
    data = namespace.encode("utf-8", "surrogatepass")
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in data)
    if len(name) <= _LONGEST:
        return f"n-{name}"
    return f"h-{hashlib.sha256(data).hexdigest()}"


def place_of(root: Path, ref: ArtifactRef) -> Path:
    """Return the path of an artifact under its namespace's folder."""
    return root / "sha256" / ref.sha256[:2] / ref.sha256
