"""Where a value's bytes go: into the ledger, or to the artifact port when they are too large for it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from nodeagent.errors import Corrupt
from nodeagent.records.artifact import ArtifactRef
from nodeagent.records.journal import Entry, Inline, Stored, Value

if TYPE_CHECKING:
    from nodeagent.backend import Backend

INLINE_BYTES: Final = 128 * 1024
"""Larger values are spilled even where the ledger would take them, so that replay reads stay light."""
JSON_TYPE: Final = "application/json"


def fits_ledger(backend: Backend, data: bytes) -> bool:
    """Say whether ``data`` goes into the ledger itself."""
    declared = backend.capabilities
    limits = (INLINE_BYTES, declared.max_value_bytes, declared.max_commit_bytes)
    return all(limit is None or len(data) <= limit for limit in limits)


def store_value(backend: Backend, data: bytes) -> Value:
    """Return ``data`` as a value, putting it to the artifact port first if it is large."""
    return Inline(data) if fits_ledger(backend, data) else put_artifact(backend, data, JSON_TYPE)


def put_artifact(backend: Backend, data: bytes, media_type: str) -> Stored:
    """Put ``data`` to the artifact port and return the reference to it."""
    ref = backend.artifacts.put(data, media_type)
    return Stored(ref.id, ref.sha256, len(data))


def load_value(backend: Backend, entry: Entry) -> bytes:
    """Return the bytes of an entry's value. Raises :class:`~nodeagent.Corrupt` if they are not what was written."""
    value = entry.value
    if isinstance(value, Stored):
        return backend.artifacts.get(ArtifactRef(value.ref))
    if hashlib.sha256(value.data).hexdigest() != entry.sha256:
        raise Corrupt(f"the entry {entry.key!r} does not match its digest; restore it from a back-up")
    return value.data
