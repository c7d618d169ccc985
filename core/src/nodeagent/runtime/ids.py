"""Random names."""

from __future__ import annotations

import secrets


def new_id() -> str:
    """Return 128 random bits as 32 hex digits: the name of a job, commit or claim."""
    return secrets.token_hex(16)
