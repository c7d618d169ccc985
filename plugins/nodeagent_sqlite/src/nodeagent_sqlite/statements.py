"""SQL lives in ``.sql`` files; this loads the named statements of one.

A statement begins with ``-- name: its_name`` and a comment that describes it, and ends with a semicolon.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import Final

_NAME: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)


@functools.cache
def load(module: str) -> Mapping[str, str]:
    """Return the statements of ``sql/<module>.sql`` by name."""
    parts = _NAME.split(_text(f"{module}.sql"))
    return MappingProxyType({name: _bare(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)})


@functools.cache
def scripts() -> Mapping[str, str]:
    """Return the migration scripts by file name, in order."""
    folder = resources.files("nodeagent_sqlite") / "sql"
    names = sorted(item.name for item in folder.iterdir() if item.name[:4].isdigit())
    return MappingProxyType({name: _text(name) for name in names})


def _text(name: str) -> str:
    return (resources.files("nodeagent_sqlite") / "sql" / name).read_text("utf-8")


def _bare(body: str) -> str:
    """Drop comments and the semicolon: they would only be compared on every look-up of a prepared statement."""
    lines = (line.strip() for line in body.splitlines())
    return " ".join(line for line in lines if line and not line.startswith("--")).removesuffix(";")
