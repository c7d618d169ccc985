"""The environment variables that count, and those that were probably meant to."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from typing import Final

from nodeagent.config.places import VARIABLE
from nodeagent.plugins.names import did_you_mean

BACKEND: Final = "NODEAGENT_BACKEND"
KNOWN: Final = (VARIABLE, BACKEND)

_PREFIX: Final = "NODEAGENT_"
_TOOLS: Final = ("NODEAGENT_TEST_", "NODEAGENT_CONFORMANCE_", "NODEAGENT_REPORTS")
"""Left to the conformance kit and to tests."""
_SERVICE: Final = re.compile(
    r"NODEAGENT_(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""What Kubernetes sets in every container for a service whose name begins with *nodeagent*."""


def strangers(environ: Mapping[str, str], referenced: Container[str]) -> Iterator[str]:
    """Yield a problem for each variable that begins like ours but is neither ours nor referenced."""
    for name in sorted(environ):
        if not name.startswith(_PREFIX) or name in KNOWN or name in referenced:
            continue
        if not name.startswith(_TOOLS) and not _SERVICE.fullmatch(name):
            yield f"{name}: nodeagent has no such environment variable{did_you_mean(name, KNOWN)}"
