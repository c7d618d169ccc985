"""The total that ``scripts/test.py`` prints and what it refuses."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

SCRIPT = runpy.run_path(str(Path(__file__).parent.parent / "scripts" / "test.py"))
EVERY_OUTCOME = """
import pytest

@pytest.fixture
def broken():
    raise ValueError

def test_passes(): pass
def test_fails(): assert False
def test_errors(broken): pass
def test_skips(): pytest.skip("no moon")
@pytest.mark.xfail(reason="known")
def test_is_known(): assert False
"""


def test_every_outcome_is_counted_once(tmp_path: Path) -> None:
    """Errors count as failed and expected failures as skipped, each with its reason."""
    (tmp_path / "test_it.py").write_text(EVERY_OUTCOME, "utf-8")
    (tmp_path / "pytest.ini").touch()
    args = ["-q", "-n0", "--junit-xml=one.xml"]

    subprocess.run([sys.executable, "-m", "pytest", *args], cwd=tmp_path, check=False)

    outcomes, reasons = SCRIPT["count"](tmp_path)
    assert outcomes == {"passed": 1, "failed": 2, "skipped": 2}
    assert reasons == {"no moon": 1, "known": 1}


def test_a_skip_without_permission_is_a_complaint() -> None:
    """A reason that is not on the list fails the run."""
    (problem,) = SCRIPT["complaints"](Counter({"no moon": 2}))

    assert problem == "2 skipped for a reason that is not allowed: 'no moon'"
