"""Pages of a listing, and the indexes that can be listed."""

from __future__ import annotations

from typing import Generic, Literal, NewType, TypeVar

from attrs import field, frozen

from nodeagent.records.ids import Owner, an_id

T = TypeVar("T")

Cursor = NewType("Cursor", str)
"""Where a listing goes on: opaque, made by the store that reads it."""


@frozen(kw_only=True)
class Page(Generic[T]):
    """Some items in order. A page may be short or empty; only ``next=None`` ends the walk."""

    items: tuple[T, ...]
    next: Cursor | None = None


@frozen(kw_only=True)
class JobIndex:
    """Which jobs to list, in order of ``(created_at, id)``. Build it with one of the class methods."""

    by: Literal["status", "lane", "tenant", "frame"]
    value: str = field(validator=an_id)
    status: str | None = None

    @classmethod
    def by_status(cls, status: str) -> JobIndex:
        """List the jobs of one status."""
        return cls(by="status", value=status)

    @classmethod
    def by_lane(cls, lane: str, status: str) -> JobIndex:
        """List the jobs of one lane and status."""
        return cls(by="lane", value=lane, status=status)

    @classmethod
    def by_tenant(cls, tenant: str) -> JobIndex:
        """List the jobs of one tenant."""
        return cls(by="tenant", value=tenant)

    @classmethod
    def by_frame(cls, frame_id: str) -> JobIndex:
        """List the one job that a frame belongs to."""
        return cls(by="frame", value=frame_id)


@frozen(kw_only=True)
class FrameIndex:
    """Which frames to list, in order of ``(created_at, id)``."""

    by: Literal["job"]
    value: str = field(validator=an_id)

    @classmethod
    def by_job(cls, job_id: str) -> FrameIndex:
        """List the frame of one job."""
        return cls(by="job", value=job_id)


@frozen(kw_only=True)
class RunIndex:
    """Which runs to list, in order of ``(created_at, id)``."""

    by: Literal["conversation", "status", "owner"]
    value: str | Owner

    @classmethod
    def by_conversation(cls, conversation_id: str) -> RunIndex:
        """List the runs of one conversation."""
        return cls(by="conversation", value=conversation_id)

    @classmethod
    def by_status(cls, status: str) -> RunIndex:
        """List the runs of one status."""
        return cls(by="status", value=status)

    @classmethod
    def by_owner(cls, owner: Owner) -> RunIndex:
        """List the runs that belong to one job."""
        return cls(by="owner", value=owner)
