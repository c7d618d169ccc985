"""Step results: values as lossless JSON, and back as values."""

from __future__ import annotations

from typing import TypeVar, cast

from cattrs import Converter

from nodeagent import Json

_T = TypeVar("_T")
_CONVERTER = Converter(forbid_extra_keys=True, unstruct_collection_overrides={tuple: list})


def to_json(value: object) -> Json:
    """Return a value of this package as JSON: dicts, lists, text, numbers, True, False, None."""
    return cast("Json", _CONVERTER.unstructure(value))


def from_json(recorded: Json, shape: type[_T]) -> _T:
    """Return the value that was recorded."""
    return _CONVERTER.structure(recorded, shape)
