"""The command: choose cases, run each in a folder of its own, print and write the table."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.cases import CASES
from benchmarks.measuring import Bench, Row


def main(root: Path, arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status: 1 if a case failed, whatever the numbers are."""
    chosen = _options().parse_args(arguments)
    names = [name for name in CASES if any(wanted in name for wanted in chosen.only or [""])]
    if not names:
        print(f"no case has such a name; there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    tell = _progress()
    rows: list[Row] = []
    failed: list[str] = []
    with tempfile.TemporaryDirectory(prefix=".scratch-", dir=chosen.folder) as folder:
        for name in names:
            tell(name)
            try:
                rows += _run(name, Path(folder), tell, is_quick=chosen.quick)
            except Exception:  # noqa: BLE001 - one broken case leaves the others their rows
                traceback.print_exc()
                failed.append(name)
    tell("done")
    print(report.markdown(rows))
    if (noise := report.noise(rows)) is not None:
        print(noise)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    if len(names) == len(CASES) and not chosen.quick:
        _write(root, rows)
    return 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure nodeagent against raw SQLite.")
    parser.add_argument("--quick", action="store_true", help="a smoke run; its numbers mean little")
    parser.add_argument("--only", action="append", metavar="NAME", help="cases whose name has this in it")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(__file__).parent,
        help="where the databases are made and removed again; must be on a local disk",
    )
    return parser


def _run(name: str, folder: Path, tell: Callable[[str], None], *, is_quick: bool) -> list[Row]:
    """Run one case in a folder of its own, which is gone before the next one."""
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=folder) as own:
        return list(CASES[name](Bench(folder=Path(own), is_quick=is_quick, tell=tell)))


def _progress() -> Callable[[str], None]:
    started = time.monotonic()

    def tell(what: str) -> None:
        print(f"[{time.monotonic() - started:4.0f} s] {what}", file=sys.stderr, flush=True)

    return tell


def _write(root: Path, rows: Sequence[Row]) -> None:
    page = root / "docs" / "benchmarks.md"
    page.write_text(report.placed(page.read_text("utf-8"), rows), "utf-8")
    data = json.dumps(report.as_data(rows), indent=2, ensure_ascii=False)
    (root / "benchmarks" / "results.json").write_text(f"{data}\n", "utf-8")
