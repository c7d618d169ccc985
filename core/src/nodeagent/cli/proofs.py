"""A list of proofs: each is tried, timed and told, and none hides another."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import define, field, frozen

from nodeagent.cli.failing import sentence_of
from nodeagent.cli.params import reason


@frozen
class Proof:
    """One promise, and whether it was kept; ``detail`` says what was seen."""

    name: str
    ok: bool
    detail: str
    ms: int

    def view(self) -> dict[str, Any]:
        """Return it for machines."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "ms": self.ms}


class Broken(Exception):
    """A proof failed; the text says what was expected and what was seen."""


@define
class Proofs:
    """Proofs of one smoke or tour, in order. ``absent`` says what could not apply, and why."""

    name: str
    shown: Callable[[Proof], None] = field(default=lambda _: None)
    proofs: list[Proof] = field(factory=list)
    absent: list[dict[str, str]] = field(factory=list)
    _began: float = field(factory=time.monotonic)
    _ended: float | None = None

    @property
    def ok(self) -> bool:
        """Say whether something was proved, and nothing failed."""
        return bool(self.proofs) and all(proof.ok for proof in self.proofs)

    @property
    def total_ms(self) -> int:
        """How long it took until :meth:`end`, or until now."""
        return round(((self._ended or time.monotonic()) - self._began) * 1000)

    def prove(self, name: str, body: Callable[[], str]) -> bool:
        """Try ``body``, which returns what was seen or raises; return whether it succeeded."""
        began = time.monotonic()
        try:
            ok, detail = True, body()
        except Broken as broken:
            ok, detail = False, str(broken)
        except Exception as error:  # noqa: BLE001 - whatever is raised, the proof failed and the others go on
            ok, detail = False, sentence_of(error)
        proof = Proof(name, ok, detail, round((time.monotonic() - began) * 1000))
        self.proofs.append(proof)
        self.shown(proof)
        return ok

    def cannot_apply(self, name: str, why: str) -> None:
        """Note a promise that this store does not make."""
        self.absent.append({"name": name, "why": why})

    def end(self) -> None:
        """Stop the clock."""
        self._ended = time.monotonic()

    def view(self) -> dict[str, Any]:
        """Return all for machines."""
        return {
            "name": self.name,
            "ok": self.ok,
            "totalMs": self.total_ms,
            "proofs": [proof.view() for proof in self.proofs],
            "notApplicable": self.absent,
        }


def expect(condition: object, sentence: str) -> None:
    """Raise :class:`Broken` with ``sentence`` unless ``condition`` holds."""
    if not condition:
        raise Broken(sentence)


def write_json(path: Path, document: Any) -> None:
    """Write a document so that nobody ever sees half of it. Raises :class:`~nodeagent.Invalid` if it cannot be."""
    from nodeagent.errors import Invalid

    text = json.dumps(document, indent=2) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, 0o644)  # noqa: PTH101 - a report, made for others to read
            os.replace(name, path)  # noqa: PTH105 - beside the call above
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise Invalid("--json-out", f"cannot be written to {str(path)!r}: {reason(error)}") from error
