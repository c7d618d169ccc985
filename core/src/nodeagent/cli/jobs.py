"""`nodeagent jobs`: what is stored, and the verbs of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from nodeagent.cli import opening
from nodeagent.cli.printing import ago, clean, command, put, put_json, put_table, say, when

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.records.job import JobHeader
    from nodeagent.records.page import JobIndex
    from nodeagent.runtime.client import Runtime

STATUSES: Final = ("failed", "blocked", "running", "queued", "completed", "canceled")
"""In the order in which people want to hear of them."""
PAGE: Final = 200
GOAL_WIDTH: Final = 300
MAX_STEPS: Final = 1000


@click.group(short_help="List, show, retry, cancel and unblock jobs.")
def jobs() -> None:
    """List, show, retry, cancel and unblock jobs."""


@jobs.command("list", short_help="List jobs, oldest first.")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only these; repeat it.")
@click.option("--lane", help="Only this lane, as `status --json` names it.")
@click.option("--queue", help="Only this queue.")
@click.option("--runner", help="Only this runner.")
@click.option("--tenant", help="Only this tenant.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="No more than so many.")
@opening.backend_option
@opening.json_option
def list_(*, statuses: tuple[str, ...], limit: int, backend: str | None, as_json: bool, **only: str | None) -> None:
    """List jobs by status, and within a status oldest first."""
    config = opening.configuration(backend)
    with opening.opened(config) as runtime:
        now = runtime.backend.now()
        found = list(islice(_chosen(runtime.backend, statuses or STATUSES, only), limit + 1))
    shown, is_more = found[:limit], len(found) > limit
    if as_json:
        from nodeagent.cli.views import header_view

        put_json({"jobs": [header_view(header) for header in shown], "more": is_more})
        return
    is_narrowed = bool(statuses) or any(value is not None for value in only.values())
    if not shown:
        say("no job matches" if is_narrowed else "there are no jobs")
        return
    _put_list(shown, now)
    if is_more:
        say(f"there are more than {limit}; use --limit")


def _chosen(backend: Backend, statuses: Sequence[str], only: Mapping[str, str | None]) -> Iterator[JobHeader]:
    wanted = {name: value for name, value in only.items() if value is not None}
    for index in _indexes(statuses, only):
        for header in walk(backend, index):
            is_wanted = all(getattr(header, name) == value for name, value in wanted.items())
            if is_wanted and header.status in statuses:
                yield header


def _indexes(statuses: Sequence[str], only: Mapping[str, str | None]) -> list[JobIndex]:
    """Return the narrowest indexes that hold what is wanted."""
    from nodeagent.records.page import JobIndex

    lane, tenant = only.get("lane"), only.get("tenant")
    if lane is not None:
        return [JobIndex.by_lane(lane, status) for status in statuses]
    if tenant is not None:
        return [JobIndex.by_tenant(tenant)]
    return [JobIndex.by_status(status) for status in statuses]


def walk(backend: Backend, index: JobIndex) -> Iterator[JobHeader]:
    """Yield the headers of an index, page by page."""
    page = backend.jobs.list(index, None, PAGE)
    yield from page.items
    while page.next is not None:
        page = backend.jobs.list(index, page.next, PAGE)
        yield from page.items


def _put_list(shown: Sequence[JobHeader], now: int) -> None:
    columns = ("job", "status", "queue", "runner", "tries", "created")
    rows = ((h.id, h.status, h.queue, h.runner, h.attempts, ago(h.created_at, now)) for h in shown)
    put_table(columns, rows)


# --- one job ------------------------------------------------------------------------------------


@jobs.command(short_help="Show one job: what was asked, what happened, why.")
@click.argument("job_id", metavar="JOB")
@click.option("--input", "with_input", is_flag=True, help="With --json: show the runner's input too.")
@opening.backend_option
@opening.json_option
def show(*, job_id: str, with_input: bool, backend: str | None, as_json: bool) -> None:
    """Show one job: what was asked, its timeline, its recorded steps, and why it is where it is."""
    from nodeagent.cli.views import job_view

    config = opening.configuration(backend)
    with opening.opened(config) as runtime:
        job = runtime.job(job_id)
        view = job_view(runtime.backend, job, most=MAX_STEPS, with_input=with_input and as_json)
    if as_json:
        put_json(view)
        return
    for name, text in _facts(view):
        put(f"{name:<10} {text}")
    _put_timeline(view)
    _put_steps(view)


def _facts(view: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "job", clean(view["job_id"])
    is_told = view["reason"] is None or view["reason"] == view["status"]
    yield "status", view["status"] + ("" if is_told else f": {clean(view['reason'])}")
    yield "goal", clean(view["goal"] or "(its frame is missing)", limit=GOAL_WIDTH)
    yield "runner", f"{clean(view['runner'])}, in queue {clean(view['queue'])} for tenant {clean(view['tenant'])}"
    yield "round", f"{view['round']}, attempt {view['attempts']} of {view['max_attempts']}"
    yield "created", when(view["created_at"])
    if view["status"] == "queued":
        yield "due", "parked until a delivery" if view["due_at"] is None else when(view["due_at"])
    if view["ended_at"] is not None:
        yield "ended", when(view["ended_at"])
    if (failure := view["failure"]) is not None:
        yield "failure", f"{clean(failure['type'])} ({failure['kind']}): {clean(failure['message'])}"
    if (lease := view["lease"]) is not None:
        verb = "expired" if lease["is_expired"] else "expires"
        until = when(lease["expires_at"])
        yield "lease", f"held by {clean(lease['holder'])} with token {lease['token']}, {verb} {until}"
    for receipt in view["receipts"]:
        yield "receipt", f"{clean(str(receipt['receipt_id']))} of round {receipt['round']}"


def _put_timeline(view: Mapping[str, Any]) -> None:
    put("\ntimeline")
    rows = []
    for note in view["timeline"]:
        change = f"{note.get('from') or '-'} → {note.get('to')}"
        rows.append((when(note["at"]), note.get("verb"), change, note.get("round"), note.get("attempt")))
    put_table(("at", "verb", "status", "round", "attempt"), rows)


def _put_steps(view: Mapping[str, Any]) -> None:
    if not view["steps"]:
        put("\nno step is recorded")
        return
    put("\nrecorded steps")
    rows = [(" ".join(step["step"]), when(step["at"]), step["attempt"], f"{step['size']:,}") for step in view["steps"]]
    put_table(("step", "at", "attempt", "bytes"), rows)
    if view["more_steps"]:
        say(f"only the first {MAX_STEPS:,} steps are shown")


# --- verbs --------------------------------------------------------------------------------------


@jobs.command(short_help="Give a failed job another round.")
@click.argument("job_id", metavar="JOB")
@click.option("--round", "number", type=click.IntRange(1), help="Only if it failed in this round.")
@opening.backend_option
@opening.json_option
def retry(*, job_id: str, number: int | None, backend: str | None, as_json: bool) -> None:
    """Give a failed job another round. Recorded steps are not repeated."""
    _change("retry", job_id, backend, as_json=as_json, round=number)


@jobs.command(short_help="Give a blocked job another round.")
@click.argument("job_id", metavar="JOB")
@click.option("--round", "number", type=click.IntRange(1), help="Only if it was blocked in this round.")
@opening.backend_option
@opening.json_option
def unblock(*, job_id: str, number: int | None, backend: str | None, as_json: bool) -> None:
    """Give a blocked job another round, after you have done what its reason asks for."""
    _change("unblock", job_id, backend, as_json=as_json, round=number)


@jobs.command(short_help="End a job for good.")
@click.argument("job_id", metavar="JOB")
@opening.backend_option
@opening.json_option
def cancel(*, job_id: str, backend: str | None, as_json: bool) -> None:
    """End a queued, parked or running job for good; whoever runs it can write nothing more."""
    _change("cancel", job_id, backend, as_json=as_json)


def _change(verb: str, job_id: str, backend: str | None, *, as_json: bool, **details: int | None) -> None:
    config = opening.configuration(backend)
    with opening.opened(config) as runtime:
        header = _verb(runtime, verb)(job_id, **details)
    if as_json:
        from nodeagent.cli.views import header_view

        put_json(header_view(header))
        return
    put(f"job {clean(header.id)} is {header.status}, round {header.round}")
    if header.status == "queued":
        say(f"a worker goes on with it: {command()} worker --until-idle")


def _verb(runtime: Runtime, name: str) -> Any:
    return getattr(runtime, name)
