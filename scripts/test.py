"""Set up and pass all tests: ``python3 scripts/test.py``, with nothing but Python 3.11 or newer.

It makes ``.venv-test-X.Y`` for the Python that runs it, installs nox there, and runs lint, types,
each package's tests from its wheel, and the workspace's tests. The last line is the total of all
runs of pytest: ``N passed, N failed, N skipped``.

The exit status is 0 only if every session succeeded, at least one test ran, and every skip (or
expected failure) is allowed by ``scripts/allowed_skips.toml``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

ROOT = Path(__file__).resolve().parent.parent
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
SESSIONS = ["lint", f"types-{HERE}", f"tests-{HERE}", f"contract-{HERE}"]


def prepare() -> Path:
    """Make the environment that holds nox, if need be; return its folder of programs."""
    folder = ROOT / f".venv-test-{HERE}"
    if not (folder / "bin" / "nox").exists():
        venv.create(folder, clear=True, with_pip=True)
        toml = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
        pip = [str(folder / "bin" / "pip"), "--disable-pip-version-check", "install", "-q"]
        subprocess.run([*pip, *toml["dependency-groups"]["nox"]], check=True)
    return folder / "bin"


def run(reports: Path) -> int:
    """Run all sessions, their JUnit files going to ``reports``; return the exit status."""
    programs = prepare()
    path = os.pathsep.join([str(programs), os.environ.get("PATH", os.defpath)])
    nox = [str(programs / "nox"), "--error-on-missing-interpreters", "--sessions", *SESSIONS]
    env = os.environ | {"PATH": path, "NODEAGENT_REPORTS": str(reports)}
    return subprocess.run(nox, cwd=ROOT, env=env, check=False).returncode


def count(reports: Path) -> tuple[Counter[str], Counter[str]]:
    """Count the outcomes in all reports, and the reasons of what was skipped."""
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for report in reports.glob("*.xml"):
        for case in ET.parse(report).iter("testcase"):  # noqa: S314 - written by our own pytest
            skip = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None:
                outcomes["failed"] += 1
            elif skip is not None:
                outcomes["skipped"] += 1
                reasons[skip.get("message", "")] += 1
            else:
                outcomes["passed"] += 1
    return outcomes, reasons


def complaints(reasons: Counter[str]) -> list[str]:
    """Say which skips are not allowed; print those that are."""
    toml = tomllib.loads((ROOT / "scripts" / "allowed_skips.toml").read_text("utf-8"))
    allowed = {entry["reason"]: entry for entry in toml.get("skip", [])}
    problems = []
    for reason, number in sorted(reasons.items()):
        entry = allowed.get(reason)
        print(f"skipped {number} × {reason!r}: {entry['why'] if entry else 'NOT ALLOWED'}")
        if entry is None:
            problems.append(f"{number} skipped for a reason that is not allowed: {reason!r}")
        elif number > entry["at_most"]:
            problems.append(f"{number} skipped, {entry['at_most']} allowed: {reason!r}")
    return problems


def main() -> int:
    """Run everything, then sum up."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="nodeagent-test-") as folder:
        status = run(Path(folder))
        outcomes, reasons = count(Path(folder))
    print()
    problems = complaints(reasons)
    if status:
        problems.append("a session failed: see the summary of nox above")
    if outcomes["failed"]:
        problems.append("tests failed")
    if not outcomes["passed"]:
        problems.append("no test passed: nothing run is not green")
    for problem in problems:
        print(f"error: {problem}")
    print(f"{'FAILED' if problems else 'ok'} on Python {HERE} in {time.monotonic() - start:.0f} s")
    print(", ".join(f"{outcomes[name]} {name}" for name in ("passed", "failed", "skipped")))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
