"""Random names."""

from __future__ import annotations

import os
import random
from typing import Final

# Seeded by the operating system. Asking it for every name would cost a system call, and a switch of threads, a step.
_RANDOM: Final = random.Random(os.urandom(32))  # noqa: S311 - names are unique, not secret


def new_id() -> str:
    """Return 128 random bits as 32 hex digits: the name of a job, commit or claim."""
    return f"{_RANDOM.getrandbits(128):032x}"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _RANDOM.seed(os.urandom(32)))
