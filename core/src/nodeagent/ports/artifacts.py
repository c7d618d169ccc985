"""Immutable bytes."""

from __future__ import annotations

from typing import Protocol

from nodeagent.records.artifact import ArtifactInfo, ArtifactRef


class ArtifactStore(Protocol):
    """Bytes addressed by their content, so that they can never change."""

    def put(self, data: bytes, media_type: str) -> ArtifactRef:
        """Store the bytes durably and return their name; putting bytes that are there renews their age.

        The first media type stays.
        """
        ...

    def get(self, ref: ArtifactRef) -> bytes:
        """Return the bytes, whose hash was checked.

        Raises:
            NotFound: no such artifact.
            Corrupt: the stored bytes are not the ones that were put.

        """
        ...

    def stat(self, ref: ArtifactRef) -> ArtifactInfo | None:
        """Return size, media type and age, or None."""
        ...
