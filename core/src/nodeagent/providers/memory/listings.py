"""Jobs, frames, runs and messages, one by one and in pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import nsmallest
from typing import TypeVar

from attrs import define

from nodeagent import (
    Cursor,
    FrameHeader,
    FrameIndex,
    FrameRecord,
    JobHeader,
    JobIndex,
    JobRecord,
    MessageRecord,
    Page,
    RunHeader,
    RunIndex,
    RunRecord,
    decode_key,
    encode_key,
)
from nodeagent.providers.memory.connection import MemoryConnection

T = TypeVar("T")
H = TypeVar("H", JobHeader, FrameHeader, RunHeader)


def page(items: Iterable[T], place: Callable[[T], tuple[int, str]], after: Cursor | None, limit: int) -> Page[T]:
    """Return the ``limit`` items that follow ``after`` in order of their place.

    The cursor is the place of the last item that was returned, so what comes and goes elsewhere
    during a walk moves nothing.
    """
    start = None if after is None else _place_of(after)
    rest = (item for item in items if start is None or place(item) > start)
    found = nsmallest(limit + 1, rest, key=place)
    following = _cursor(place(found[limit - 1])) if len(found) > limit else None
    return Page(items=tuple(found[:limit]), next=following)


def _cursor(place: tuple[int, str]) -> Cursor:
    return Cursor(encode_key((str(place[0]), place[1])))


def _place_of(cursor: Cursor) -> tuple[int, str]:
    number, name = decode_key(cursor)
    return (int(number), name)


def _by_age(header: H) -> tuple[int, str]:
    return (header.created_at, header.id)


def _by_position(message: MessageRecord) -> tuple[int, str]:
    return (message.header.position, message.id)


@define(eq=False)
class MemoryJobs:
    """Jobs by id and by index."""

    _connection: MemoryConnection

    def get(self, job_id: str) -> JobRecord | None:
        """Return the job as it is stored now, or None."""
        with self._connection.store.lock:
            return self._connection.store.job(job_id)

    def list(self, index: JobIndex, after: Cursor | None, limit: int) -> Page[JobHeader]:
        """Return one page of the index."""
        with self._connection.store.lock:
            headers: list[JobHeader] = [job.header for job in self._connection.store.all("job")]
        return page((head for head in headers if _in_jobs(index, head)), _by_age, after, limit)


def _in_jobs(index: JobIndex, header: JobHeader) -> bool:
    match index.by:
        case "status":
            return header.status == index.value
        case "lane":
            return header.lane == index.value and header.status == index.status
        case "tenant":
            return header.tenant == index.value
        case "frame":
            return header.frame_id == index.value


@define(eq=False)
class MemoryFrames:
    """Frames by id and by index."""

    _connection: MemoryConnection

    def get(self, frame_id: str) -> FrameRecord | None:
        """Return the frame as it is stored now, or None."""
        with self._connection.store.lock:
            return self._connection.store.frame(frame_id)

    def list(self, index: FrameIndex, after: Cursor | None, limit: int) -> Page[FrameHeader]:
        """Return one page of the index."""
        with self._connection.store.lock:
            frames: list[FrameRecord] = self._connection.store.all("frame")
        owner = ("job", index.value)
        return page((each.header for each in frames if each.owner == owner), _by_age, after, limit)


@define(eq=False)
class MemoryRuns:
    """Agent runs by id and by index, and the messages of a conversation."""

    _connection: MemoryConnection

    def get(self, run_id: str) -> RunRecord | None:
        """Return the run as it is stored now, or None."""
        with self._connection.store.lock:
            return self._connection.store.run(run_id)

    def list(self, index: RunIndex, after: Cursor | None, limit: int) -> Page[RunHeader]:
        """Return one page of the index."""
        with self._connection.store.lock:
            headers: list[RunHeader] = [run.header for run in self._connection.store.all("run")]
        return page((head for head in headers if _in_runs(index, head)), _by_age, after, limit)

    def messages(self, conversation_id: str, after: Cursor | None, limit: int) -> Page[MessageRecord]:
        """Return one page of a conversation's messages, whole."""
        with self._connection.store.lock:
            every = self._connection.store.messages()
        found = (each for each in every if each.header.conversation_id == conversation_id)
        return page(found, _by_position, after, limit)


def _in_runs(index: RunIndex, header: RunHeader) -> bool:
    match index.by:
        case "conversation":
            return header.conversation_id == index.value
        case "status":
            return header.status == index.value
        case "owner":
            return header.owner == index.value
