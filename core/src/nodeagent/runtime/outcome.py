"""What became of one attempt to work on a job."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from nodeagent.records.job import FrameRecord, JobHeader

OutcomeStatus = Literal[
    "completed",
    "blocked",
    "failed",
    "leased",
    "not_due",
    "replayed",
    "suspended",
    "rescheduled",
    "canceled",
    "fenced",
]


@frozen(kw_only=True)
class Outcome:
    """The result of :func:`run_durable_reasoning_frame`.

    *completed, blocked, failed*: this call finished the round. *replayed*: an earlier call did, and its
    stored receipt is returned byte for byte while nothing was executed. *leased*: another worker holds the job.
    *not_due*: its time has not come. *suspended*: given back, for a shutdown or because its runner is not registered
    here. *rescheduled*: the attempt failed and another will follow. *canceled*: canceled for good. *fenced*: the
    lease was lost, so nothing more was written.
    """

    status: OutcomeStatus
    job: JobHeader
    reason: str | None = None
    frame: FrameRecord | None = None
    receipt: bytes | None = field(default=None, repr=False)

    @property
    def replayed(self) -> bool:
        """Say whether the receipt was stored before this call."""
        return self.status == "replayed"
