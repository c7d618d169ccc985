"""The console script. It imports nothing before it can answer Ctrl-C."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the code to exit with; ``arguments`` default to the process's own."""
    try:
        from nodeagent.cli.root import called

        return called(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
