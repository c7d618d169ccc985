"""Immutable bytes, addressed by their content."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from attrs import field, frozen

from nodeagent.errors import Invalid
from nodeagent.records.ids import Ms, a_count, an_id

_ID: Final = re.compile(r"sha256:[0-9a-f]{64}")


def _an_artifact_id(_: Any, __: Any, value: Any) -> None:
    if not isinstance(value, str) or not _ID.fullmatch(value):
        raise Invalid("an artifact id", 'must be "sha256:" and 64 lower-case hex digits')


@frozen
class ArtifactRef:
    """The name of an artifact: ``sha256:`` and the hex digest of its bytes."""

    id: str = field(validator=_an_artifact_id)

    @classmethod
    def of(cls, data: bytes) -> ArtifactRef:
        """Name these bytes."""
        return cls(f"sha256:{hashlib.sha256(data).hexdigest()}")

    @property
    def sha256(self) -> str:
        """The hex digest."""
        return self.id.removeprefix("sha256:")


@frozen(kw_only=True)
class ArtifactInfo:
    """What a store knows of an artifact. ``put_at`` is when its bytes were put last, which renews its age."""

    ref: ArtifactRef
    size: int = field(validator=a_count)
    media_type: str = field(validator=an_id)
    put_at: Ms = field(validator=a_count)
