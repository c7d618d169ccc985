"""Reading jobs, frames, runs and messages."""

from __future__ import annotations

from typing import Protocol

from nodeagent.records.job import FrameHeader, FrameRecord, JobHeader, JobRecord
from nodeagent.records.page import Cursor, FrameIndex, JobIndex, Page, RunIndex
from nodeagent.records.run import MessageRecord, RunHeader, RunRecord


class JobStore(Protocol):
    """Jobs by id and by index. A listing returns headers only, never specs or states.

    Order is ``(created_at, id)``, ids bytewise. Every record that stays in the index during the walk
    appears exactly once; a page may be short or empty, and only ``next=None`` ends the walk.
    """

    def get(self, job_id: str) -> JobRecord | None:
        """Return the job as it is stored now, or None."""
        ...

    def list(self, index: JobIndex, after: Cursor | None, limit: int) -> Page[JobHeader]:
        """Return one page of the index; an unreadable row is passed over."""
        ...


class FrameStore(Protocol):
    """Frames by id and by index; pages as in :class:`JobStore`."""

    def get(self, frame_id: str) -> FrameRecord | None:
        """Return the frame as it is stored now, or None."""
        ...

    def list(self, index: FrameIndex, after: Cursor | None, limit: int) -> Page[FrameHeader]:
        """Return one page of the index; an unreadable row is passed over."""
        ...


class RunStore(Protocol):
    """Agent runs by id and by index, and the messages of a conversation; pages as in :class:`JobStore`."""

    def get(self, run_id: str) -> RunRecord | None:
        """Return the run as it is stored now, or None."""
        ...

    def list(self, index: RunIndex, after: Cursor | None, limit: int) -> Page[RunHeader]:
        """Return one page of the index; an unreadable row is passed over."""
        ...

    def messages(self, conversation_id: str, after: Cursor | None, limit: int) -> Page[MessageRecord]:
        """Return one page of a conversation's messages, whole, in order of ``(position, id)``."""
        ...
