"""Names and numbers that every record is built from, and the limits they keep.

An id is a non-empty string of at most 512 UTF-8 bytes without lone surrogates; NUL and any other
character are legal. Composite names (resources, keys, scopes) are tuples of ids and are never joined
with a separator, so ``("a", "b:c")`` and ``("a:b", "c")`` stay two names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NewType

from nodeagent.clock import Ms
from nodeagent.errors import Invalid

if TYPE_CHECKING:
    from attrs import Attribute

__all__ = [
    "INT_LIMIT",
    "MAX_ID_BYTES",
    "MAX_PARTS",
    "Key",
    "Ms",
    "Owner",
    "Resource",
    "Revision",
    "Seq",
    "Token",
    "a_count",
    "an_id",
    "an_optional_count",
    "an_optional_id",
    "an_owner",
    "check_id",
    "check_int",
    "check_parts",
    "parts",
]

Token = NewType("Token", int)
"""A fencing token: positive, and rising for ever per resource. 0 stands for none."""
Seq = NewType("Seq", int)
"""A position in a journal scope: 1, 2, 3, … without gaps. 0 stands before the first."""
Revision = NewType("Revision", int)
"""How often a record was written: 1 when it is created."""

Owner = tuple[str, str]
"""Who a record or scope belongs to: ``("job", job_id)`` or ``("run", run_id)``."""
Resource = tuple[str, ...]
"""What a lease is about, such as ``("job", job_id)``."""
Key = tuple[str, ...]
"""The name of an entry within its scope."""

MAX_ID_BYTES: Final = 512
MAX_PARTS: Final = 8
INT_LIMIT: Final = 2**53
OWNER_KINDS: Final = ("job", "run")


def check_id(what: str, value: object) -> str:
    """Return ``value`` if it is a legal id; raise :class:`Invalid` that names ``what`` otherwise."""
    if type(value) is not str:
        raise Invalid(what, f"must be a string, but is of type {type(value).__name__}")
    if not value:
        raise Invalid(what, "must not be empty")
    try:
        size = len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError:
        raise Invalid(what, "must be valid Unicode, but holds a lone surrogate") from None
    if size > MAX_ID_BYTES:
        raise Invalid(what, f"must have at most {MAX_ID_BYTES} UTF-8 bytes, but has {size}")
    return value


def check_parts(what: str, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``value`` if it is a tuple of one to :data:`MAX_PARTS` legal ids."""
    if not isinstance(value, tuple):
        raise Invalid(what, f"must be a tuple of strings, but is of type {type(value).__name__}")
    if not 0 < len(value) <= MAX_PARTS:
        raise Invalid(what, f"must have 1 to {MAX_PARTS} parts, but has {len(value)}")
    for part in value:
        check_id(f"a part of {what}", part)
    return value


def check_int(what: str, value: object, low: int = 0, high: int = INT_LIMIT - 1) -> int:
    """Return ``value`` if it is an int (no bool) from ``low`` to ``high``, both included."""
    if type(value) is not int:
        raise Invalid(what, f"must be an integer, but is of type {type(value).__name__}")
    if not low <= value <= high:
        raise Invalid(what, f"must be from {low} to {high}, but is {value if abs(value) < 10**18 else 'far outside'}")
    return value


# attrs validators -------------------------------------------------------------------------------


def an_id(_: Any, attribute: Attribute[Any], value: object) -> None:
    """Validate an id field."""
    check_id(attribute.name, value)


def an_optional_id(_: Any, attribute: Attribute[Any], value: object) -> None:
    """Validate an id field that may be None."""
    if value is not None:
        check_id(attribute.name, value)


def parts(_: Any, attribute: Attribute[Any], value: Any) -> None:
    """Validate a tuple of ids."""
    check_parts(attribute.name, value)


def a_count(_: Any, attribute: Attribute[Any], value: object) -> None:
    """Validate an int from 0 to 2**53 - 1."""
    check_int(attribute.name, value)


def an_optional_count(_: Any, attribute: Attribute[Any], value: object) -> None:
    """Validate an int from 0 to 2**53 - 1, or None."""
    if value is not None:
        check_int(attribute.name, value)


def an_owner(_: Any, attribute: Attribute[Any], value: Any) -> None:
    """Validate an owner."""
    check_parts(attribute.name, value)
    if len(value) != len(("kind", "id")) or value[0] not in OWNER_KINDS:
        raise Invalid(attribute.name, f'must be ("job", id) or ("run", id), but is {value!r}')
