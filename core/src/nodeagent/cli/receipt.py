"""`nodeagent receipt`: show what a job came to."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from nodeagent.cli import opening
from nodeagent.cli.printing import clean, command, flow, put
from nodeagent.cli.receipts import MEMO, deliverable, facts, memo_text, parsed, told

if TYPE_CHECKING:
    from nodeagent.runtime.client import Runtime


@click.command(short_help="Show what a job came to.")
@click.argument("job_id", metavar="JOB")
@click.option("--round", "number", type=click.IntRange(1), help="Of this round.  [default: the latest]")
@click.option("--memo", is_flag=True, help="Print the memo instead: its stored bytes, unless on a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print the stored bytes, which are JSON; sha256sum agrees.")
@opening.backend_option
def receipt(*, job_id: str, number: int | None, memo: bool, as_json: bool, backend: str | None) -> None:
    """Show the receipt of a job: verdict, statements, evidence, references."""
    if memo and as_json:
        raise click.UsageError("--memo and --json exclude each other")
    config = opening.configuration(backend)
    with opening.opened(config) as runtime:
        data = _receipt(runtime, job_id, number)
        found = parsed(data)
        if as_json:
            _put_bytes(data)
        elif not memo:
            _put_receipt(data)
        elif sys.stdout.isatty():
            put(flow(memo_text(runtime.backend, found) or _no_memo(job_id)))
        else:
            _put_bytes(deliverable(runtime.backend, found, MEMO) or _no_memo(job_id).encode())


def _receipt(runtime: Runtime, job_id: str, number: int | None) -> bytes:
    from nodeagent.errors import NotFound

    try:
        return runtime.receipt(job_id, round=number)
    except NotFound:
        if runtime.job(job_id).header.status != "canceled":
            raise
    of_round = "" if number is None else f" of round {number}"
    raise NotFound(f"job {clean(job_id)!r} was canceled and has no receipt{of_round}: a canceled round leaves none")


def _put_receipt(data: bytes) -> None:
    found = parsed(data)
    for name, text in facts(found, data):
        put(f"{name:<10} {text}")
    lines = list(told(found))
    put(flow("\n".join(["", *lines])) if lines else "\nno statement")


def _put_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    if sys.stdout.isatty():
        put("")


def _no_memo(job_id: str) -> str:
    from nodeagent.errors import NotFound

    raise NotFound(f"the receipt of job {clean(job_id)!r} refers to no memo; look at `{command()} receipt JOB`")
