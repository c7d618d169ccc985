"""JSON that comes back equal and of the same type, or is refused with the path of the culprit.

A value is written once, to *canonical* bytes: UTF-8, keys sorted by code point, no spaces, one
spelling for every number and string. Equal values of equal types give equal bytes, so
:func:`digest` names a value and a replay can compare bytes.

- :func:`encode` refuses what JSON would bend: NaN, infinities, ``-0.0``, ints outside signed 64
  bits, lone surrogates, keys that are not str, every type but the seven of :data:`Json` (their
  subclasses too), cycles, and more than :data:`MAX_DEPTH` containers inside one another.
- :func:`decode` accepts exactly the bytes that :func:`encode` writes. It judges each number as it
  is parsed, writes the whole once more and compares: spaces, unsorted or repeated keys,
  long-winded escapes, ``1.50`` and trailing data all fall at that one comparison.

The writer works in two steps. A quick walk decides whether a value is sound and no more; only a
refused value is searched, slowly, for the path and the reason. No message holds a payload: paths,
made of keys and indexes and bounded in length, and names of types are all they tell.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NoReturn, TypeAlias, cast

from nodeagent.errors import Corrupt, NotLossless, TooLarge

__all__ = ["DEFAULT_MAX_BYTES", "MAX_DEPTH", "Json", "decode", "detached", "digest", "encode"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value that can be stored; the types are meant exactly, a subclass is refused."""

MAX_DEPTH = 100
"""How many containers may lie inside one another: a scalar has depth 0, ``[]`` has depth 1."""

DEFAULT_MAX_BYTES = 16 * 1024 * 1024
"""The largest encoding that :func:`encode` makes unless it is told otherwise."""


def encode(value: object, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Return the canonical bytes of ``value``.

    Raises :class:`NotLossless` with the path of the first part that would not come back equal and
    of the same type, and :class:`TooLarge` if the encoding has more than ``max_bytes`` bytes.
    """
    # A list around the value lets the walk treat a scalar like any other member.
    data = _written(value) if _room_left([value], max_bytes + 1, MAX_DEPTH + 1) >= 0 else None
    if data is None:
        _search(value, (), {})
        raise _too_large(_size(value, {}), max_bytes)
    if len(data) > max_bytes:
        raise _too_large(len(data), max_bytes)
    return data


def decode(data: bytes, *, is_own: bool = False) -> Json:
    """Return the value whose canonical bytes are ``data``; ``is_own`` says that :func:`encode` has just made them.

    Raises :class:`Corrupt` for any bytes that :func:`encode` does not write. There is no limit of
    size: what a writer with a generous limit has stored stays readable.
    """
    if is_own:
        return _parsed(data)
    if _is_deep(data):
        raise Corrupt(f"expected stored JSON of at most {MAX_DEPTH} levels, found more")
    try:
        value = _parsed(data)
    # From None: the errors of the codec carry the payload.
    except UnicodeDecodeError as error:
        raise Corrupt(f"expected stored UTF-8, found another byte at {error.start}") from None
    except json.JSONDecodeError as error:
        raise Corrupt(f"expected stored JSON, found a fault at character {error.pos}") from None
    if _written(value) != data:
        raise Corrupt(
            "expected stored JSON in its canonical form, found another: spaces, keys unsorted or"
            " repeated, a longer escape or number, a lone surrogate or trailing data"
        )
    return value


def digest(data: bytes) -> str:
    """Return the sha256 of ``data`` as 64 lower-case hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def detached(value: object) -> Json:
    """Return an equal copy that shares nothing with ``value``; raises as :func:`encode` does."""
    return decode(encode(value), is_own=True)


# -- what is faithful -----------------------------------------------------------------------------

_MIN_INT, _MAX_INT = -(2**63), 2**63 - 1
_LONGEST_INT = len(str(_MIN_INT))


def _is_faithful(number: float) -> bool:
    """Tell whether every store keeps ``number``: it is finite and not a negative zero."""
    return math.isfinite(number) and (number != 0.0 or math.copysign(1.0, number) > 0.0)


# -- the quick way: write and parse ---------------------------------------------------------------


def _room_left(  # noqa: C901 - one loop, as it runs for every member of every value
    container: list[Any] | dict[Any, Any], room: int, levels: int
) -> int:
    """Return how much of ``room`` the members leave, or a negative number to refuse them.

    ``room`` shrinks by the least that a member can take, a byte and a comma, and by the length of
    strings. So the walk ends soon even where few objects stand for an endless text, as they do
    after ``x = [x, x]`` a hundred times; and once negative it stays so, and every further call
    returns at once. Lone surrogates are left to UTF-8, which refuses them.
    """
    room -= 2 * len(container)
    if room < 0 or levels == 0:
        return -1
    members: Iterable[Any] = container
    if type(container) is dict:
        members = container.values()
        for key in container:
            if type(key) is not str:
                return -1
            room -= len(key)
    for member in members:
        kind = type(member)
        if kind is str:
            room -= len(member)
        elif kind is int:
            if not _MIN_INT <= member <= _MAX_INT:
                return -1
        elif kind is dict or kind is list:
            room = _room_left(member, room, levels - 1)
        elif kind is float:
            if not _is_faithful(member):
                return -1
        elif kind is not bool and member is not None:
            return -1
    return room


_ENCODER = json.JSONEncoder(
    sort_keys=True,
    separators=(",", ":"),
    ensure_ascii=False,
    allow_nan=False,
    check_circular=False,  # The walk has bounded the depth.
)


def _written(value: object) -> bytes | None:
    """Return the canonical bytes of a sound value, or None if a string holds a lone surrogate."""
    try:
        return _ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        return None


def _read_int(text: str) -> int:
    """Parse an int of 64 bits; a longer text is refused unparsed, for that takes quadratic time."""
    if len(text) > _LONGEST_INT or not _MIN_INT <= (number := int(text)) <= _MAX_INT:
        raise Corrupt("expected stored ints of signed 64 bits, found one outside")
    return number


def _read_float(text: str) -> float:
    """Parse a float that the writer can have written."""
    if not _is_faithful(number := float(text)):
        raise Corrupt("expected stored floats to be finite and no negative zero, found another")
    return number


def _refuse_constant(_: str) -> NoReturn:
    """Refuse the tokens NaN, Infinity and -Infinity, which Python reads and JSON does not know."""
    raise Corrupt("expected stored JSON, found a token for a float that is not finite")


_DECODER = json.JSONDecoder(parse_int=_read_int, parse_float=_read_float, parse_constant=_refuse_constant)


def _parsed(data: bytes) -> Json:
    """Parse the value at the start of ``data``, which must not be too deep."""
    return cast("Json", _DECODER.raw_decode(str(data, "utf-8"))[0])


_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - set(_STEPS))


def _is_deep(data: bytes) -> bool:
    """Tell whether parsing ``data`` would go deeper than allowed, without parsing it.

    Few brackets settle it at once. Else escapes are dropped, then strings (every second part
    between quotes), and the brackets that remain are counted up and down. Where the text is not
    JSON this may be off, but only beyond the point where the parser stops.
    """
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    unescaped = data.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = b"".join(unescaped.split(b'"')[::2]).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > MAX_DEPTH


# -- the slow way: why and where a value is refused -----------------------------------------------

_OPEN = -1
_SHOWN_KEY, _SHOWN_PATH, _SHOWN_NAME = 40, 200, 80
_SURROGATE = re.compile("[\ud800-\udfff]")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def _search(value: object, path: tuple[str, ...], seen: dict[int, int]) -> None:
    """Raise NotLossless for the first fault in ``value``, which lies at ``path``, if there is one.

    ``seen`` knows containers by id: ``_OPEN`` while the search is inside one, afterwards the depth
    at which it was found sound; where it is shared it is searched again only if it lies deeper.
    """
    if reason := _objection(value):
        raise NotLossless(_rendered(path), reason)
    if not isinstance(value, list | dict):
        return
    before = seen.get(id(value))
    if before == _OPEN:
        raise NotLossless(_rendered(path), "it contains itself; refer to it by an id instead")
    if len(path) >= MAX_DEPTH:
        raise NotLossless(_rendered(path), f"it lies {MAX_DEPTH} containers deep; flatten it")
    if before is None or before < len(path):
        seen[id(value)] = _OPEN
        for step, member in _members(value, path):
            _search(member, (*path, step), seen)
        seen[id(value)] = len(path)


def _objection(value: object) -> str | None:
    """Say why a value cannot be stored, its members apart; None if it can."""
    kind = type(value)
    if kind not in _KINDS:
        return f"a value of type {_name(kind)} would not come back as such; convert it to {_KNOWN}"
    if isinstance(value, int) and not _MIN_INT <= value <= _MAX_INT:
        return "the int is outside signed 64 bits; store it as a str"
    if isinstance(value, float) and not math.isfinite(value):
        return "the float is not finite, which JSON cannot say; store None or a str"
    if isinstance(value, float) and not _is_faithful(value):
        return "the float is a negative zero, which not every store keeps; store 0.0"
    if isinstance(value, str) and _has_surrogate(value):
        return "the str holds a lone surrogate, which UTF-8 cannot say; write bytes as base64"
    return None


_KINDS = frozenset({type(None), bool, int, float, str, list, dict})
_KNOWN = "None, bool, int, float, str, list or dict"


def _members(container: list[object] | dict[object, object], path: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """Yield each member with its step of the path; raise NotLossless for a key that is no key."""
    if isinstance(container, list):
        yield from ((f"[{index}]", member) for index, member in enumerate(container))
        return
    for key, member in container.items():
        step = _step(key)
        if reason := _objection_to_key(key):
            raise NotLossless(_rendered((*path, step)), reason)
        yield step, member


def _objection_to_key(key: object) -> str | None:
    """Say why a key cannot be stored; None if it can."""
    if type(key) is not str:
        return f"a key of type {_name(type(key))} would not come back as such; use a str"
    if _has_surrogate(key):
        return "the key holds a lone surrogate, which UTF-8 cannot say; replace it"
    return None


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def _step(key: object) -> str:
    """Return a path's step to ``key``: ``.plain``, ``."odd key"``, ``.<int 1>`` or ``.<tuple>``."""
    if type(key) is not str:
        shown = f" {key!r}" if type(key) in {int, float, bool} and _objection(key) is None else ""
        return f".<{_name(type(key))}{shown}>"
    if _PLAIN_KEY.fullmatch(key) and len(key) <= _SHOWN_KEY:
        return f".{key}"
    return f".{json.dumps(_cut(key, _SHOWN_KEY))}"


def _rendered(path: tuple[str, ...]) -> str:
    return _cut("$" + "".join(path), _SHOWN_PATH)


def _name(kind: type) -> str:
    """Return the full name of a type, without the module of a builtin."""
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return _cut(f"{module}{kind.__qualname__}", _SHOWN_NAME)


def _cut(text: str, limit: int) -> str:
    """Return ``text`` if it is short enough, else its beginning and its end."""
    half = limit // 2 - 2
    return text if len(text) <= limit else f"{text[:half]}...{text[-half:]}"


def _too_large(size: int, limit: int) -> TooLarge:
    return TooLarge("the size of the encoded value in bytes", size, limit)


def _size(value: object, known: dict[int, int]) -> int:
    """Return the exact size of a faultless value's encoding, without making it.

    ``known`` holds sizes by id, for a part that is shared may occur without end.
    """
    if not isinstance(value, str | list | dict):
        return len(repr(value))  # True, False and None are as long in Python as in JSON.
    if id(value) not in known:
        known[id(value)] = _size_of_parts(value, known)
    return known[id(value)]


def _size_of_parts(value: str | list[object] | dict[str, object], known: dict[int, int]) -> int:
    """Return the size of a string, or of a container from those of its keys and members."""
    if isinstance(value, str):
        return len(_ENCODER.encode(value).encode())
    size = len("[]") + max(len(value) - 1, 0)
    if isinstance(value, dict):
        size += sum(_size(key, known) + 1 for key in value)
    members = value.values() if isinstance(value, dict) else value
    return size + sum(_size(member, known) for member in members)
