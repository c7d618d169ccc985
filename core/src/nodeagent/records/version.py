"""What identifies one state of a record."""

from __future__ import annotations

from attrs import field, frozen

from nodeagent.records.ids import Revision, a_count


@frozen
class Version:
    """A revision *and* the id of the commit or claim that wrote it.

    Both are compared, so that a restored back-up cannot pass off one history as another:
    the same revision of another timeline was written by another commit.
    """

    revision: Revision = field(validator=a_count)
    written_by: str

    def next(self, written_by: str) -> Version:
        """Return the version that ``written_by`` makes of this one."""
        return Version(Revision(self.revision + 1), written_by)


UNWRITTEN = Version(Revision(0), "")
"""The version of a record that no store has seen."""
