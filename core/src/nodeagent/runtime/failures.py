"""What an exception says about the next attempt, and how it is written down."""

from __future__ import annotations

from typing import Final, Literal

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
MAX_CAUSES: Final = 5

FailureKind = Literal["retryable", "permanent", "unknown-outcome"]


class Permanent(Exception):
    """Raised by a runner: this attempt failed, and another one would fail the same way."""


class Suspended(BaseException):
    """The frame has left its lease, or lost it: this call and every later one is refused.

    A ``BaseException``, so that a body's ``except Exception`` does not swallow it. Let it pass.
    """


_PERMANENT: Final = (Permanent, NotLossless, Diverged, Invalid, PolicyDenied, TooLarge)


def failure_of(error: BaseException, *, kind: FailureKind | None = None) -> Failure:
    """Describe an attempt's error and its causes. The text is bounded and printable, whatever the exception does."""
    message = printable(_described(error))
    return Failure(kind=kind or _kind(error), type=printable(type(error).__name__), message=message)


def printable(text: str) -> str:
    """Return the text bounded, and with lone surrogates escaped."""
    bounded = text if len(text) <= MAX_MESSAGE else f"{text[: MAX_MESSAGE - 3]}..."
    return bounded.encode("utf-8", "backslashreplace").decode()


def _kind(error: BaseException) -> FailureKind:
    if isinstance(error, UnknownOutcome):
        return "unknown-outcome"
    return "permanent" if isinstance(error, _PERMANENT) else "retryable"


def _described(error: BaseException) -> str:
    """Return the error's text, followed by those of the errors in a group and of the causes."""
    parts = [_text(error)]
    if isinstance(error, BaseExceptionGroup):
        parts += [f"{type(one).__name__}: {_text(one)}" for one in error.exceptions[:MAX_CAUSES]]
    cause = error.__cause__
    while cause is not None and len(parts) <= MAX_CAUSES:
        parts.append(f"caused by {type(cause).__name__}: {_text(cause)}")
        cause = cause.__cause__
    return "; ".join(parts)


def _text(error: BaseException) -> str:
    try:
        return str(error)[: MAX_MESSAGE + 1]
    except BaseException as broken:  # noqa: BLE001 - somebody else's __str__
        return f"(its text cannot be read: {type(broken).__name__})"
