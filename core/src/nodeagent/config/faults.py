"""What is wrong with a table: a tree of errors, told as paths and sentences."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
from cattrs import ClassValidationError, ForbiddenExtraKeysError, IterableValidationError

from nodeagent.config.converter import WrongTypeError
from nodeagent.config.hidden import redacted
from nodeagent.config.paths import join
from nodeagent.plugins.names import did_you_mean


class _MissingError(KeyError):
    """A key that must be there is not."""

    def __str__(self) -> str:
        return "is required, but it is missing"


def told(error: Exception, path: str, given: object) -> Iterator[tuple[str, str]]:
    """Yield path and sentence of every fault in a tree of errors."""
    match error:
        case ClassValidationError():
            named, unnamed = error.group_exceptions()
            for inner, note in named:
                yield from told(_explicit(inner), join(path, note.name), given)
            for inner in unnamed:
                yield from told(inner, path, given)
        case IterableValidationError():
            for inner, at in error.group_exceptions()[0]:
                yield from told(inner, join(path, at.index), given)
        case ForbiddenExtraKeysError():
            valid = [field.name for field in attrs.fields(error.cl)]
            for key in sorted(error.extra_fields):
                yield join(path, key), f"there is no such key{did_you_mean(key, valid)}"
        case WrongTypeError() | _MissingError():
            yield path, str(error)
        case _:
            yield path, _refusal(error, given)


def _explicit(error: Exception) -> Exception:
    """Tell a missing key, which cattrs reports as a KeyError of the field, from other faults."""
    return _MissingError() if isinstance(error, KeyError) else error


def _refusal(error: Exception, given: object) -> str:
    """Return a validator's own words without the values that were given to it."""
    # attrs puts the field, the rule and the value behind the sentence.
    first = error.args[0] if error.args else ""
    text = " ".join(redacted(first if isinstance(first, str) else str(error), given).split())
    if isinstance(error, (ValueError, TypeError)) and text:
        return f"is refused: {text}"
    return f"is refused with {type(error).__name__}: {text}"
