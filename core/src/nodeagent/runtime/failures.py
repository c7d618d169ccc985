"""What an exception says about the next attempt, and how it is written down."""

from __future__ import annotations

from typing import Final

from nodeagent.errors import (
    Diverged,
    Invalid,
    NotLossless,
    PolicyDenied,
    TooLarge,
    UnknownOutcome,
)
from nodeagent.rules.specs import Failure

MAX_MESSAGE: Final = 2_000


class Permanent(Exception):  # noqa: N818 - reads as a claim where it is raised
    """Raised by a runner: this attempt failed, and another one would fail the same way."""


class Suspended(BaseException):  # noqa: N818 - not an error
    """The frame has left its lease, or lost it: this call and every later one is refused.

    A ``BaseException``, so that a body's ``except Exception`` does not swallow it. Let it pass.
    """


_PERMANENT: Final = (Permanent, NotLossless, Diverged, Invalid, PolicyDenied, TooLarge)


def failure_of(error: BaseException) -> Failure:
    """Describe an attempt's error. The text is bounded and printable, whatever the exception does."""
    return Failure(kind=_kind(error), type=_clean(type(error).__name__), message=_clean(_text(error)))


def _kind(error: BaseException) -> str:
    if isinstance(error, UnknownOutcome):
        return "unknown-outcome"
    return "permanent" if isinstance(error, _PERMANENT) else "retryable"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - somebody else's __str__
        return f"(its text cannot be read: {type(broken).__name__})"


def _clean(text: str) -> str:
    bounded = text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 3]}..."
    return bounded.encode("utf-8", "backslashreplace").decode()
