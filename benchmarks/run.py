"""Measure the subject against its floors: ``python benchmarks/run.py [--quick] [--only NAME]``.

A whole run prints one table and writes it to ``docs/benchmarks.md``, and every number with its
spread to ``benchmarks/results.json``. A quick or partial run only prints.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.command import main  # noqa: E402 - the package lies beside this script

if __name__ == "__main__":
    sys.exit(main(ROOT))
