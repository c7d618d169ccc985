"""The operator's verbs."""

from __future__ import annotations

from typing import Literal, Protocol

from nodeagent.records.ids import Ms
from nodeagent.records.maintenance import Purged, SchemaStatus


class Maintenance(Protocol):
    """Schema, retention, and what follows a restored back-up."""

    def schema(self) -> SchemaStatus:
        """Compare the store's schema with the provider's, without changing it."""
        ...

    def migrate(self, phase: Literal["pre", "post"]) -> SchemaStatus:
        """Apply the migrations of before (``pre``) or after (``post``) the code upgrade; safe to run many at once."""
        ...

    def purge(self, ended_before: Ms, limit: int) -> Purged:
        """Remove up to ``limit`` jobs and runs that ended before then, with all that they own.

        Their frames, journals, leases and the artifacts of this store that nothing refers to any more and that
        were put before then, and at least 24 hours ago by the store's clock: bytes are put before the commit that
        refers to them, so what was put lately is never garbage, however little refers to it yet. A later token of
        the same resource is still higher.
        """
        ...

    def drop_namespace(self) -> None:
        """Remove everything of this namespace, and nothing of any other."""
        ...

    def restored(self) -> None:
        """After a back-up came back: revoke every lease and raise every mark beyond what was lost."""
        ...
