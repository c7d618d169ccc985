"""Types of options: durations, points in time, JSON."""

from __future__ import annotations

import json
import math
import re
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import click

if TYPE_CHECKING:
    from nodeagent.lossless import Json

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|d|w)?")
_MS: Final = {
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_LONGEST_MS: Final = 100 * 366 * 86_400_000
_MAX_JSON: Final = 64 * 1024 * 1024


class Duration(click.ParamType[int]):
    """A duration in milliseconds, written ``90``, ``90s``, ``1.5h`` or ``30d``; plain numbers are seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return milliseconds."""
        if isinstance(value, int):
            return value
        try:
            return duration_ms(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def duration_ms(text: str) -> int:
    """Return a written duration in milliseconds. Raises :class:`ValueError`."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a duration such as 90, 90s, 5m, 1.5h or 30d")
    ms = float(found[1]) * _MS[found[2] or "s"]
    if not math.isfinite(ms) or ms > _LONGEST_MS:
        raise ValueError(f"{text!r} is longer than a century")
    return round(ms)


class Due(click.ParamType[Any]):
    """When a job is due: a duration from now, or a point in time with its zone."""

    name = "when"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return an ``After`` or an ``At``."""
        try:
            return due(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def due(text: str) -> Any:
    """Return a written due time as ``After`` or ``At``. Raises :class:`ValueError`."""
    from nodeagent.records import After, At, Ms

    if _DURATION.fullmatch(text.strip()):
        return After(Ms(duration_ms(text)))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a duration such as 10m nor a time such as 2030-01-31T08:00Z") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone; write {text}Z for UTC, or {text}+02:00")
    return At(Ms(round(moment.timestamp() * 1000)))


class JsonInput(click.ParamType[Any]):
    """A JSON value, or ``@file`` that holds one."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Json:
        """Return the value."""
        try:
            return cast("Json", parse_json(_text(value), "the input"))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def _text(value: str) -> str:
    if not value.startswith("@"):
        return value
    path = Path(value[1:])
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_JSON + 1)
    except (OSError, ValueError) as error:
        raise ValueError(f"{str(path)!r} cannot be read: {reason(error)}") from None
    if len(data) > _MAX_JSON:
        raise ValueError(f"{str(path)!r} is larger than {_MAX_JSON} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{str(path)!r} is not UTF-8") from None


def reason(error: Exception) -> str:
    """Return why the operating system refused, without the path, which the caller names."""
    return (error.strerror if isinstance(error, OSError) else None) or type(error).__name__


def parse_json(text: str, what: str) -> Any:
    """Return the value of a JSON text; refuse NaN, infinities and repeated keys. Raises :class:`ValueError`."""
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        raise ValueError(f"{what} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{what} is not JSON that can be stored: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for at, (key, _) in enumerate(pairs) if key in dict(pairs[:at]))
        raise ValueError(f"the key {twice!r} stands there twice")
    return found


DURATION: Final = Duration()
DUE: Final = Due()
JSON: Final = JsonInput()
