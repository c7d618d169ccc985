"""`nodeagent status`: per lane what waits, runs, is stuck or has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click
from attrs import define, field

from nodeagent.cli import opening
from nodeagent.cli.jobs import PAGE, walk
from nodeagent.cli.printing import clean, put, put_json, put_table, say, span

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.records.job import JobHeader
    from nodeagent.records.lease import Lease

MOST: Final = 10_000
"""So many jobs of a status are counted; what is beyond is said to be more."""


@define
class Lane:
    """What was counted of one lane."""

    header: JobHeader
    counts: Counter[str] = field(factory=Counter)
    parked: int = 0
    expired: int = 0
    oldest_due: int | None = None

    def count(self, header: JobHeader, now: int) -> None:
        """Count one job."""
        from nodeagent.cli.views import due_at

        self.counts[header.status] += 1
        if header.status != "queued":
            return
        due = due_at(header.run_after)
        self.parked += due is None
        if due is not None and due <= now:
            self.oldest_due = due if self.oldest_due is None else min(due, self.oldest_due)


@define
class Tally:
    """What was counted of a store; ``cut`` names the statuses that have more jobs than were counted."""

    now: int
    lanes: dict[str, Lane] = field(factory=dict)
    running: dict[str, str] = field(factory=dict)
    cut: set[str] = field(factory=set)

    def shown(self, lane: Lane, status: str) -> str:
        """Return a count for people."""
        return f"{lane.counts[status]:,}{'+' if status in self.cut else ''}"

    def view(self) -> list[dict[str, Any]]:
        """Return the lanes for machines."""
        from nodeagent.records.job import JOB_STATUSES

        return [
            {
                "lane": name,
                "queue": lane.header.queue,
                "runner": lane.header.runner,
                "counts": {status: lane.counts[status] for status in JOB_STATUSES},
                "parked": lane.parked,
                "oldest_due": lane.oldest_due,
                "expired_leases": lane.expired,
            }
            for name, lane in sorted(self.lanes.items())
        ]


@click.command(short_help="Say per lane what waits, runs and is stuck.")
@click.option("--most", type=click.IntRange(1), default=MOST, show_default=True, help="Count no more of a status.")
@opening.backend_option
@opening.json_option
def status(*, most: int, backend: str | None, as_json: bool) -> None:
    """Say per lane how many jobs wait, run, are stuck or have ended.

    A lane is a queue and a runner. Counting ends at a bound, because a store may hold millions: 10,000+.
    """
    config = opening.configuration(backend)
    with opening.opened(config) as runtime:
        store = runtime.backend
        tally = counted(store, most)
    place = {"backend": store.name, "provider": store.provider, "namespace": store.namespace}
    if as_json:
        put_json({**place, "now": tally.now, "lanes": tally.view(), "cut": sorted(tally.cut)})
        return
    say(f"backend {clean(store.name)} ({clean(store.provider)}), namespace {clean(store.namespace)}")
    _put(tally, most)


def counted(backend: Backend, most: int) -> Tally:
    """Count the jobs of every lane by status, from headers alone."""
    from nodeagent.records.job import JOB_STATUSES
    from nodeagent.records.page import JobIndex

    tally = Tally(backend.now())
    for name in JOB_STATUSES:
        for number, header in enumerate(walk(backend, JobIndex.by_status(name))):
            if number == most:
                tally.cut.add(name)
                break
            tally.lanes.setdefault(header.lane, Lane(header)).count(header, tally.now)
            if name == "running":
                tally.running[header.id] = header.lane
    _count_expired(backend, tally, most)
    return tally


def _count_expired(backend: Backend, tally: Tally, most: int) -> None:
    for number, lease in enumerate(_expired(backend)):
        if number == most:
            tally.cut.add("expired leases")
            return
        # One whose job was not counted belongs to a lane that was cut, or has just been claimed again.
        lane = tally.running.get(lease.resource[1])
        if lane is not None:
            tally.lanes[lane].expired += 1


def _expired(backend: Backend) -> Iterator[Lease]:
    page = backend.leases.expired("job", None, PAGE)
    yield from page.items
    while page.next is not None:
        page = backend.leases.expired("job", page.next, PAGE)
        yield from page.items


def _put(tally: Tally, most: int) -> None:
    from nodeagent.records.job import JOB_STATUSES

    if not tally.lanes:
        put("nothing is stored here yet")
        return
    rows = []
    for _, lane in sorted(tally.lanes.items()):
        counts = [tally.shown(lane, name) for name in JOB_STATUSES]
        due = "-" if lane.oldest_due is None else f"{span(tally.now - lane.oldest_due)} ago"
        rows.append((lane.header.queue, lane.header.runner, *counts, lane.parked, due, lane.expired))
    put_table(("queue", "runner", *JOB_STATUSES, "parked", "oldest due", "expired leases"), rows)
    if tally.cut:
        say(f"counted up to {most:,} each of: {', '.join(sorted(tally.cut))}; --most counts further")
    if any(lane.expired for lane in tally.lanes.values()):
        say("a job with an expired lease lost its worker: any running worker of its lane goes on with it")
