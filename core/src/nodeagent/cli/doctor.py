"""`nodeagent doctor`: look for what is wrong, and say what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from nodeagent.cli import opening
from nodeagent.cli.printing import clean, count, put, put_json, tick

if TYPE_CHECKING:
    from nodeagent.records.maintenance import Check


@click.command(short_help="Look for what is wrong, and say what to do about it.")
@opening.app_option
@opening.backend_option
@opening.json_option
@click.pass_context
def doctor(ctx: click.Context, *, app: str | None, backend: str | None, as_json: bool) -> None:
    """Look for what is wrong with this computer, the configuration, the store and the plugins.

    It writes one frame into a namespace of its own, and drops that. Exit code 1 if something failed.
    """
    from nodeagent.cli.checks import Doctor

    looking = Doctor(backend=backend, app=app, shown=_quiet if as_json else _show)
    is_well = looking.look()
    if as_json:
        put_json({"ok": is_well, "checks": [_view(check) for check in looking.checks]})
    else:
        _sum_up(looking.checks)
    ctx.exit(0 if is_well else 1)


def _view(check: Check) -> dict[str, Any]:
    return {"name": check.name, "status": check.status, "found": check.found, "remedy": check.remedy}


def _show(check: Check) -> None:
    mark = "!" if check.status == "warning" else tick(ok=check.status == "ok")
    found = clean(check.found, keep="\n").replace("\n", "\n    ")
    put(f"{mark} {clean(check.name)}: {found}")
    if check.remedy is not None and check.status != "ok":
        put(f"    → {clean(check.remedy)}")


def _quiet(check: Check) -> None:
    del check


def _sum_up(checks: list[Check]) -> None:
    failed = sum(check.status == "failed" for check in checks)
    warnings = sum(check.status == "warning" for check in checks)
    if failed:
        put(f"\n{count(failed, 'check')} failed, {count(warnings, 'warning')}")
    else:
        put(f"\nall is well, {count(warnings, 'warning')}")
