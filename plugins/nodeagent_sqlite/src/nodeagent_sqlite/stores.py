"""Reading jobs, frames, runs and messages, one by one and in pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

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
    encode_key,
)
from nodeagent_sqlite import statements
from nodeagent_sqlite.connection import SqliteConnection
from nodeagent_sqlite.listing import Place, Row, page_of, place_of
from nodeagent_sqlite.records import FRAME, JOB, MESSAGE, RUN, Kind

SQL: Final = statements.load("records")

T = TypeVar("T")


class _Reader:
    """Reads the tables of one namespace."""

    def __init__(self, connection: SqliteConnection) -> None:
        self._database = connection.database
        self._namespace_id = connection.namespace_id
        self._remarks = connection.remarks

    def _one(self, kind: Kind[Any, Any], name: str) -> Any:
        key = (self._namespace_id, name)
        row = self._database.read(lambda c: c.execute(SQL[f"get_{kind.name}"], key).fetchone())
        return None if row is None else kind.whole(row)

    def _rows(self, statement: str, key: tuple[str, ...], after: Cursor | None, limit: int) -> list[Row]:
        asked = (self._namespace_id, *key, *place_of(after), limit + 1)
        return self._database.read(lambda c: c.execute(SQL[statement], asked).fetchall())

    def _page(
        self,
        kind: Kind[Any, Any],
        rows: list[Row],
        limit: int,
        read: Callable[[Row], T],
        place: Callable[[Row], Place],
    ) -> Page[T]:
        return page_of(rows, limit, read, place, lambda name: self._remarks.passed_over(kind.name, name))


def _age_of_job(row: Row) -> Place:
    return (row[4], row[0])


def _age(row: Row) -> Place:
    return (row[5], row[0])


class SqliteJobs(_Reader):
    """Jobs by id and by index."""

    def get(self, job_id: str) -> JobRecord | None:
        """Return the job as it is stored now, or None."""
        return cast("JobRecord | None", self._one(JOB, job_id))

    def list(self, index: JobIndex, after: Cursor | None, limit: int) -> Page[JobHeader]:
        """Return one page of the index."""
        key = (index.value, str(index.status)) if index.by == "lane" else (index.value,)
        rows = self._rows(f"jobs_by_{index.by}", key, after, limit)
        return self._page(JOB, rows, limit, JOB.header, _age_of_job)


class SqliteFrames(_Reader):
    """Frames by id and by index."""

    def get(self, frame_id: str) -> FrameRecord | None:
        """Return the frame as it is stored now, or None."""
        return cast("FrameRecord | None", self._one(FRAME, frame_id))

    def list(self, index: FrameIndex, after: Cursor | None, limit: int) -> Page[FrameHeader]:
        """Return one page of the index."""
        owner = encode_key(("job", index.value))
        rows = self._rows(f"frames_by_{index.by}", (owner,), after, limit)
        return self._page(FRAME, rows, limit, FRAME.header, _age)


class SqliteRuns(_Reader):
    """Agent runs by id and by index, and the messages of a conversation."""

    def get(self, run_id: str) -> RunRecord | None:
        """Return the run as it is stored now, or None."""
        return cast("RunRecord | None", self._one(RUN, run_id))

    def list(self, index: RunIndex, after: Cursor | None, limit: int) -> Page[RunHeader]:
        """Return one page of the index."""
        key = index.value if isinstance(index.value, str) else encode_key(index.value)
        rows = self._rows(f"runs_by_{index.by}", (key,), after, limit)
        return self._page(RUN, rows, limit, RUN.header, _age)

    def messages(self, conversation_id: str, after: Cursor | None, limit: int) -> Page[MessageRecord]:
        """Return one page of a conversation's messages, whole."""
        rows = self._rows("messages_by_conversation", (conversation_id,), after, limit)
        return self._page(MESSAGE, rows, limit, MESSAGE.whole, lambda row: (row[10], row[0]))
