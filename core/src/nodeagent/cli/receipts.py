"""Receipts and memos as people read them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from nodeagent.cli.printing import clean, when

if TYPE_CHECKING:
    from nodeagent.backend import Backend

MEMO: Final = "memo"
QUOTE_WIDTH: Final = 160
_BEFORE_PATH: Final = r"(?<![^\s\"'`(\[<:=])"
"""A path begins at the start, or after what separates words."""


def receipt_id(data: bytes) -> str:
    """Return the name under which a receipt's bytes are stored."""
    from nodeagent.records.artifact import ArtifactRef

    return ArtifactRef.of(data).id


def parsed(data: bytes) -> dict[str, Any]:
    """Return what a receipt says. Raises :class:`~nodeagent.Corrupt`."""
    from nodeagent.errors import Corrupt
    from nodeagent.lossless import decode

    found = decode(data)
    if not isinstance(found, dict):
        raise Corrupt("the receipt is readable JSON but no object; restore it from a back-up")
    return found


def deliverable(backend: Backend, receipt: Mapping[str, Any], name: str) -> bytes | None:
    """Return the bytes of a deliverable, or None if the receipt has none of this name."""
    from nodeagent.runtime.receipts import load_deliverable

    found = cast("dict[str, Any]", receipt["deliverables"]).get(name)
    return None if found is None else load_deliverable(backend, found["ref"])


def memo_text(backend: Backend, receipt: Mapping[str, Any]) -> str | None:
    """Return the memo for people: clean, with paths below the working directory relative to it."""
    data = deliverable(backend, receipt, MEMO)
    return None if data is None else near(clean(data.decode("utf-8", "backslashreplace"), keep="\n\t"))


def near(text: str) -> str:
    """Return ``text`` with the paths below the working directory relative to it."""
    here = str(Path.cwd())
    return text if here == os.sep else re.sub(_BEFORE_PATH + re.escape(here + os.sep), "", text)


def told(receipt: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that tell a receipt's statements and the evidence they cite."""
    evidence = {item["id"]: item for item in receipt["evidence"]}
    for statement in receipt["statements"]:
        cited = [evidence[name] for name in statement["citations"] if name in evidence]
        marks = "".join(f"[{clean(item['id'])}]" for item in cited)
        yield f"- {clean(statement['text'])} {marks}".rstrip()
    if evidence:
        yield ""
    for item in evidence.values():
        yield f"[{clean(item['id'])}] {place_of(item)}: “{clean(item['quote'], limit=QUOTE_WIDTH)}”"


def place_of(item: Mapping[str, Any]) -> str:
    """Return where a piece of evidence stands: source and lines."""
    from nodeagent.evidence.memo import line_range

    line = "" if item["line"] is None else f":{line_range(item['line'], item['quote'])}"
    return near(clean(item["source"])) + line


def facts(receipt: Mapping[str, Any], data: bytes) -> Iterator[tuple[str, str]]:
    """Yield what a receipt says besides its statements, by name."""
    yield "verdict", f"{receipt['verdict']}: {clean(receipt['reason'])}"
    if receipt["confidence"] is not None:
        yield "confidence", clean(receipt["confidence"])
    yield "job", clean(receipt["job_id"])
    yield "round", f"{receipt['round']}, attempt {receipt['attempt']}, fencing token {receipt['token']}"
    yield "finished", when(receipt["finished_at"])
    for name, item in receipt["deliverables"].items():
        yield clean(name), f"{item['size']:,} bytes, {clean(item['ref'])}"
    yield "receipt", receipt_id(data)
