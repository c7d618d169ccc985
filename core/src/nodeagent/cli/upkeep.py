"""`nodeagent migrate`, `purge`, `restored`: the verbs of an operator."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from nodeagent.cli import opening
from nodeagent.cli.jobs import walk
from nodeagent.cli.params import DURATION
from nodeagent.cli.printing import agreed, clean, count, put, put_json, say, span, when

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.records.maintenance import SchemaStatus

MAINTENANCE: Final = ("maintenance",)
BATCH: Final = 500
SHORTEST_MS: Final = 3_600_000
KINDS: Final = ("jobs", "runs", "entries", "artifacts")


@click.command(short_help="Bring the store's schema up to date.")
@click.option(
    "--phase",
    type=click.Choice(("pre", "post")),
    help="Only what must happen before (pre) or after (post) all workers have the new version.  [default: both]",
)
@opening.backend_option
@opening.json_option
def migrate(*, phase: Literal["pre", "post"] | None, backend: str | None, as_json: bool) -> None:
    """Bring the store's schema up to date. Safe to run many at once, and to repeat."""
    config = opening.configuration(backend)
    phases: tuple[Literal["pre", "post"], ...] = ("pre", "post") if phase is None else (phase,)
    with opening.opened_ports(config, MAINTENANCE) as opened:
        for each in phases:
            say(f"migrating: phase {each}")
            found = opened.maintenance.migrate(each)
    if as_json:
        put_json(_schema(found))
    else:
        put(_told(found))


def _schema(found: SchemaStatus) -> dict[str, Any]:
    return {
        "found": found.found,
        "wanted": found.wanted,
        "pending": list(found.pending),
        "is_current": found.is_current,
    }


def _told(found: SchemaStatus) -> str:
    if found.is_current:
        return f"the schema is current: version {found.wanted}"
    pending = ", ".join(clean(name) for name in found.pending) or "nothing"
    return f"the schema has version {found.found}, and version {found.wanted} is wanted; pending: {pending}"


@click.command(short_help="Remove jobs that ended long ago.")
@click.option("--older-than", type=DURATION, required=True, help="Only what ended longer ago than this: 30d, 12h.")
@click.option("--limit", type=click.IntRange(1), help="Remove no more than so many jobs and runs.")
@click.option("--dry-run", is_flag=True, help="Only count the jobs.")
@click.option("--force", is_flag=True, help="Allow less than an hour.")
@opening.backend_option
@opening.json_option
def purge(
    *, older_than: int, limit: int | None, dry_run: bool, force: bool, backend: str | None, as_json: bool
) -> None:
    """Remove jobs that ended long ago, with all that they own. Their ids may be enqueued anew.

    A job that is blocked or failed has ended too: it can be retried until it is purged.
    """
    if older_than < SHORTEST_MS and not force:
        raise click.UsageError("--older-than is less than an hour, so jobs may go that somebody waits for; add --force")
    config = opening.configuration(backend)
    with opening.opened(config) as runtime:
        before = runtime.backend.now() - older_than
        say(f"what ended before {when(before)}, {span(older_than)} ago")
        removed = Counter(jobs=_ended(runtime.backend, before)) if dry_run else _purge(runtime.backend, before, limit)
    if as_json:
        put_json({**{kind: removed[kind] for kind in KINDS}, "ended_before": before, "dry_run": dry_run})
        return
    verb = "would be removed" if dry_run else "removed"
    kinds = KINDS[:1] if dry_run else KINDS
    words = {"jobs": "job", "runs": "run", "entries": "journal entry", "artifacts": "artifact"}
    plural = {"entries": "journal entries"}
    parts = [count(removed[kind], words[kind], plural.get(kind)) for kind in kinds]
    put(f"{', '.join(parts)} {verb}")


def _ended(backend: Backend, before: int) -> int:
    from nodeagent.records.page import JobIndex

    statuses = ("completed", "blocked", "failed", "canceled")
    return sum(
        header.ended_at is not None and header.ended_at < before
        for status in statuses
        for header in walk(backend, JobIndex.by_status(status))
    )


def _purge(backend: Backend, before: int, limit: int | None) -> Counter[str]:
    from nodeagent.records.ids import Ms

    removed: Counter[str] = Counter()
    while True:
        done = removed["jobs"] + removed["runs"]
        batch = BATCH if limit is None else min(BATCH, limit - done)
        if batch <= 0:
            return removed
        found = backend.maintenance.purge(Ms(before), batch)
        removed.update({kind: getattr(found, kind) for kind in KINDS})
        if not found.more:
            return removed
        say(f"{removed['jobs']:,} jobs removed so far")


@click.command(short_help="Make a store safe after a back-up came back.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@opening.backend_option
def restored(*, yes: bool, backend: str | None) -> None:
    """Make a store safe after a back-up came back: every lease ends, and tokens go on beyond those that were lost.

    Stop all workers first. What was done between the back-up and its return may be done again.
    """
    config = opening.configuration(backend)
    say(clean(config.describe()))
    if not yes:
        agreed("have all workers been stopped, and is this the restored store?")
    with opening.opened_ports(config, MAINTENANCE) as opened:
        opened.maintenance.restored()
    put("every lease was ended, and every token was raised; workers may start again")
