"""Rows and records: how each of the four kinds is written to its table and read back.

A row that does not make a sound record raises :class:`~nodeagent.Corrupt`: the header's own validators judge the
columns, and the spec's digest its bytes.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar, cast

from attrs import frozen

from nodeagent import (
    After,
    At,
    Corrupt,
    FrameHeader,
    FrameRecord,
    Invalid,
    JobHeader,
    JobRecord,
    MessageHeader,
    MessageRecord,
    Ms,
    Owner,
    RecordKind,
    Revision,
    RunAfter,
    RunHeader,
    RunRecord,
    Token,
    Version,
    decode_key,
)

H = TypeVar("H")
R = TypeVar("R")
Row = tuple[Any, ...]
Columns = Callable[[Any], Row]

LAST_MS: Final = 2**53 - 1


def later(now: Ms, by: int) -> Ms:
    """Return the point in time ``by`` milliseconds after ``now``, at most the last that exists."""
    return Ms(min(now + by, LAST_MS))


@frozen
class Kind(Generic[H, R]):
    """How one kind of record is stored.

    Of a header, ``living`` returns the columns that its life changes and ``fixed`` those that rules never do.
    """

    name: RecordKind
    record: Callable[..., R]
    read_header: Callable[[Row], H]
    living: Columns
    fixed: Columns

    def header(self, row: Row) -> H:
        """Return the header that a row is. Raises Corrupt if it is none."""
        try:
            return self.read_header(row)
        except (Invalid, Corrupt, TypeError, ValueError) as error:
            raise self._corrupt(row) from error

    def whole(self, row: Row) -> R:
        """Return the record that a row is: its header, then spec and state."""
        header = self.header(row)
        *_, spec, state = row
        digest = cast("Any", header).spec_digest
        if type(spec) is not bytes or type(state) is not bytes:
            raise self._corrupt(row)
        if hashlib.sha256(spec).hexdigest() != digest:
            raise self._corrupt(row)
        return self.record(header=header, spec=spec, state=state)

    def _corrupt(self, row: Row) -> Corrupt:
        return Corrupt(
            f"the stored {self.name} {row[0]!r:.200} should be a sound record, but its row is damaged;"
            " restore it from a back-up"
        )


def _owner(text: str) -> Owner:
    return cast("Owner", decode_key(text))


def _version(revision: int, written_by: str) -> Version:
    return Version(Revision(revision), written_by)


def due_ms(run_after: RunAfter, now: Ms) -> int | None:
    """Return when a job is due as it is stored: a point in time, whatever the writer said."""
    if isinstance(run_after, After):
        return later(now, run_after.ms)
    return None if run_after is None else run_after.ms


def _job_header(row: Row) -> JobHeader:
    due = row[11]
    return JobHeader(
        id=row[0],
        version=_version(row[1], row[2]),
        spec_digest=row[3],
        created_at=row[4],
        ended_at=row[5],
        lane=row[6],
        queue=row[7],
        runner=row[8],
        tenant=row[9],
        priority=row[10],
        run_after=None if due is None else At(due),
        status=row[12],
        round=row[13],
        attempts=row[14],
        token=Token(row[15]),
        frame_id=row[16],
    )


def _frame_header(row: Row) -> FrameHeader:
    return FrameHeader(
        id=row[0],
        owner=_owner(row[1]),
        version=_version(row[2], row[3]),
        spec_digest=row[4],
        created_at=row[5],
        ended_at=row[6],
        receipt=row[7],
    )


def _run_header(row: Row) -> RunHeader:
    return RunHeader(
        id=row[0],
        owner=_owner(row[1]),
        version=_version(row[2], row[3]),
        spec_digest=row[4],
        created_at=row[5],
        ended_at=row[6],
        conversation_id=row[7],
        tenant=row[8],
        status=row[9],
        token=Token(row[10]),
    )


def _message_header(row: Row) -> MessageHeader:
    return MessageHeader(
        id=row[0],
        owner=_owner(row[1]),
        version=_version(row[2], row[3]),
        spec_digest=row[4],
        created_at=row[5],
        ended_at=row[6],
        conversation_id=row[7],
        run_id=row[8],
        role=row[9],
        position=row[10],
    )


def _columns(*names: str) -> Columns:
    """Return what reads these columns of a header."""
    read = operator.attrgetter(*names)
    return read if len(names) > 1 else lambda header: (read(header),)


JOB: Final = Kind(
    "job",
    JobRecord,
    _job_header,
    _columns("ended_at", "priority", "status", "round", "attempts", "token"),
    _columns("created_at", "lane", "queue", "runner", "tenant", "frame_id"),
)
FRAME: Final = Kind("frame", FrameRecord, _frame_header, _columns("ended_at", "receipt"), _columns("created_at"))
RUN: Final = Kind(
    "run",
    RunRecord,
    _run_header,
    _columns("ended_at", "status", "token"),
    _columns("created_at", "conversation_id", "tenant"),
)
MESSAGE: Final = Kind(
    "message",
    MessageRecord,
    _message_header,
    _columns("ended_at"),
    _columns("created_at", "conversation_id", "run_id", "role", "position"),
)
KINDS: Final[Mapping[str, Kind[Any, Any]]] = {
    "job": JOB,
    "frame": FRAME,
    "run": RUN,
    "message": MESSAGE,
}
