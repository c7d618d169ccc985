"""Immutable bytes, addressed by their content."""

from __future__ import annotations

from attrs import define, evolve

from nodeagent import ArtifactInfo, ArtifactRef, Corrupt, NotFound
from nodeagent.providers.memory.connection import MemoryConnection


@define(eq=False)
class MemoryArtifacts:
    """Bytes by the digest of what they are."""

    _connection: MemoryConnection

    def put(self, data: bytes, media_type: str) -> ArtifactRef:
        """Store a copy of the bytes; putting them again renews their age, the first type stays."""
        kept = bytes(data)
        ref = ArtifactRef.of(kept)
        store = self._connection.store
        with store.lock:
            now = self._connection.now()
            known = store.artifacts.get(ref)
            new = ArtifactInfo(ref=ref, size=len(kept), media_type=media_type, put_at=now)
            info = new if known is None else evolve(known[1], put_at=now)
            store.artifacts[ref] = (kept, info)
        return ref

    def get(self, ref: ArtifactRef) -> bytes:
        """Return the bytes, whose hash is checked."""
        with self._connection.store.lock:
            found = self._connection.store.artifacts.get(ref)
        if found is None:
            raise NotFound(f"no artifact {ref.id!r} is stored; it was purged or never put")
        if ArtifactRef.of(found[0]) != ref:
            raise Corrupt(f"the bytes of artifact {ref.id!r} are not the ones that were put")
        return found[0]

    def stat(self, ref: ArtifactRef) -> ArtifactInfo | None:
        """Return size, media type and age, or None."""
        with self._connection.store.lock:
            found = self._connection.store.artifacts.get(ref)
        return None if found is None else found[1]
