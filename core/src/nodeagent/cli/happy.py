"""`nodeagent happy-path`: the timed tour."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from nodeagent.cli import opening
from nodeagent.cli.printing import clean, command, flow, put, put_json, say, tick
from nodeagent.cli.proofs import Proof, Proofs, write_json
from nodeagent.cli.receipts import receipt_id


@click.command(short_help="Take the timed tour: a crash, a recovery, a receipt.")
@click.option("--json-out", type=click.Path(dir_okay=False, path_type=Path), help="Write the JSON to this file too.")
@opening.json_option
@click.pass_context
def happy_path(ctx: click.Context, *, json_out: Path | None, as_json: bool) -> None:
    """Take the timed tour: a frame on real documents survives the SIGKILL of its worker and leaves a receipt.

    Everything happens in a temporary folder that is removed afterwards.
    """
    from nodeagent.cli.tour import Tour
    from nodeagent.plugins import load_provider

    load_provider("sqlite")  # says what to install if it is missing
    proofs = Proofs("happy-path", shown=_quiet if as_json else _Steps())
    with TemporaryDirectory(prefix="nodeagent-tour-") as folder:
        tour = Tour(folder=Path(folder).resolve())
        try:
            tour.take(proofs)
            proofs.end()
            memo = tour.memo() if proofs.ok else None
        finally:
            tour.close()
    document = _document(proofs, tour.receipt)
    if json_out is not None:
        write_json(json_out, document)
    if as_json:
        put_json(document)
    else:
        _sum_up(document, memo)
    ctx.exit(0 if proofs.ok else 1)


class _Steps:
    """Shows each step as it is done, with its number."""

    def __init__(self) -> None:
        self._number = 0

    def __call__(self, proof: Proof) -> None:
        self._number += 1
        put(f"{self._number}. {tick(ok=proof.ok)} {clean(proof.name)}")
        put(flow(f"      {clean(proof.detail)}  ({proof.ms} ms)"))


def _quiet(proof: Proof) -> None:
    del proof


def _document(proofs: Proofs, receipt: bytes) -> dict[str, Any]:
    return {
        "ok": proofs.ok,
        "totalMs": proofs.total_ms,
        "steps": [proof.view() for proof in proofs.proofs],
        "provider": "sqlite",
        "receiptId": receipt_id(receipt) if receipt else None,
    }


def _sum_up(document: dict[str, Any], memo: str | None) -> None:
    if memo is not None:
        put("\nThe memo that the surviving frame wrote:\n")
        put(flow("\n".join(f"    {line}".rstrip() for line in memo.strip().splitlines())))
        put(f"\nreceipt: {document['receiptId']}")
    if document["ok"]:
        put(f"\nAll of it took {document['totalMs'] / 1000:.1f} s. A crash cost one step, and no recorded work.")
        say(f'now with your own documents: {command()} run --goal "…?" --sources PATH')
    else:
        put(f"\nThe tour failed after {document['totalMs'] / 1000:.1f} s. `{command()} doctor` may know why.")
