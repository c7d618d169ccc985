"""Receipts: what a round came to, as immutable bytes.

A receipt holds verdict, evidence, citations and references. Goals, inputs, prompts, messages and the bytes
of deliverables are never copied into it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from nodeagent.lossless import Json, encode
from nodeagent.records.answer import Answer, Evidence
from nodeagent.records.artifact import ArtifactRef
from nodeagent.records.ids import Ms
from nodeagent.records.journal import Stored
from nodeagent.records.lease import Claim
from nodeagent.rules.jobs import receipts_scope
from nodeagent.rules.specs import Failure
from nodeagent.rules.verdict import Verdict
from nodeagent.runtime.values import load_value, put_artifact

if TYPE_CHECKING:
    from nodeagent.backend import Backend

SCHEMA: Final = "nodeagent.receipt/1"
MEDIA_TYPE: Final = "application/vnd.nodeagent.receipt+json"


@frozen(kw_only=True)
class StoredReceipt:
    """A receipt whose bytes, and those of its deliverables, are with the artifact port."""

    value: Stored
    data: bytes = field(repr=False)
    deliverables: Mapping[str, Stored]


def store_receipt(
    backend: Backend, claim: Claim, verdict: Verdict, answer: Answer | None, failure: Failure | None, *, now: Ms
) -> StoredReceipt:
    """Put the deliverables and then the receipt to the artifact port."""
    items = dict(sorted(answer.deliverables.items())) if answer else {}
    stored = {name: put_artifact(backend, item.data, item.media_type) for name, item in items.items()}
    header = claim.job.header
    receipt: dict[str, Json] = {
        "schema": SCHEMA,
        "job_id": header.id,
        "frame_id": header.frame_id,
        "frame_digest": claim.frame.header.spec_digest,
        "runner": header.runner,
        "round": header.round,
        "attempt": header.attempts,
        "token": claim.lease.token,
        "verdict": verdict.decision,
        "reason": verdict.reason,
        "confidence": answer.confidence if answer else None,
        "statements": [_statement(s.text, s.citations) for s in answer.statements] if answer else [],
        "evidence": [_evidence(item) for item in answer.evidence] if answer else [],
        "deliverables": {name: _deliverable(stored[name], item.media_type) for name, item in items.items()},
        "failure": _failure(failure),
        "finished_at": now,
    }
    data = encode(receipt)
    return StoredReceipt(value=put_artifact(backend, data, MEDIA_TYPE), data=data, deliverables=stored)


def load_receipt(backend: Backend, job_id: str, round: int) -> bytes | None:  # noqa: A002 - the record's word
    """Return the stored receipt of a round byte for byte, or None if the round has none."""
    entry = backend.journal.get(receipts_scope(job_id), (str(round),))
    return None if entry is None else load_value(backend, entry)


def load_deliverable(backend: Backend, ref: str) -> bytes:
    """Return the bytes of a deliverable that a receipt refers to."""
    return backend.artifacts.get(ArtifactRef(ref))


def _deliverable(stored: Stored, media_type: str) -> Json:
    return {"ref": stored.ref, "size": stored.size, "media_type": media_type}


def _statement(text: str, citations: tuple[str, ...]) -> Json:
    return {"text": text, "citations": list(citations)}


def _evidence(item: Evidence) -> Json:
    return {"id": item.id, "source": item.source, "line": item.line, "quote": item.quote, "sha256": item.sha256}


def _failure(failure: Failure | None) -> Json:
    return None if failure is None else {"kind": failure.kind, "type": failure.type, "message": failure.message}
