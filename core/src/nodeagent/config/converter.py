"""A cattrs converter that coerces nothing and ignores nothing."""

from __future__ import annotations

import contextlib
import functools
import itertools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal, Union, get_args, get_origin

import attrs
from cattrs import ClassValidationError, Converter, IterableValidationError
from cattrs.errors import AttributeValidationNote, IterableValidationNote
from cattrs.gen import make_dict_structure_fn

_Hook = Callable[[Any, Any], Any]

_WORDS: Final[dict[type, str]] = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    list: "an array",
    dict: "a table",
    datetime: "a date-time",
    date: "a date",
    time: "a time",
    bytes: "bytes",
}
_SCALARS: Final = (str, bool, int, float, bytes, datetime, date, time)
_SEQUENCES: Final = (list, tuple, set, frozenset, Sequence)


class WrongTypeError(TypeError):
    """A value of another type than the one that is asked for. It keeps no value."""

    def __init__(self, expected: str, value: object) -> None:
        found = _WORDS.get(type(value), f"a {type(value).__name__}")
        sentence = f"must be {expected}, but is {found}"
        if isinstance(value, dict) and expected == _WORDS[str]:
            sentence += '; a reference is written { env = "NAME" } or { file = "path" }'
        super().__init__(sentence)


@functools.lru_cache(maxsize=8)
def strict(folder: Path | None) -> Converter:
    """Return the converter that makes relative paths relative to ``folder``."""
    converter = Converter(forbid_extra_keys=True, detailed_validation=True)

    factories: list[tuple[Callable[[Any], bool], Callable[[Any], _Hook]]] = [
        (attrs.has, lambda kind: _class_hook(kind, converter)),
        (_is_sequence, lambda kind: _sequence_hook(kind, converter)),
        (_is_table, lambda kind: _table_hook(kind, converter)),
        (_is_union, lambda kind: _union_hook(kind, converter)),
        (_is_literal, _choice_hook),
        (lambda kind: kind is object, lambda _: lambda value, _: value),
    ]
    for applies, factory in factories:
        converter.register_structure_hook_factory(applies, factory)
    for scalar in _SCALARS:
        converter.register_structure_hook(scalar, _scalar_hook(scalar))
    converter.register_structure_hook(Enum, lambda value, kind: _choice_hook(kind)(value, kind))
    converter.register_structure_hook(Path, _path_hook(folder))
    return converter


def _class_hook(kind: type, converter: Converter) -> _Hook:
    build: _Hook = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True)

    def structure(value: Any, _: Any) -> Any:
        try:
            return build(_expect(dict, value), kind)
        except ClassValidationError as error:
            raise _complete(error, kind, value, converter) from None

    return structure


def _complete(
    error: ClassValidationError, kind: type, value: Mapping[str, Any], converter: Converter
) -> ClassValidationError:
    """Add what the other fields' validators say: attrs asks none after a wrong type, and stops at the first."""
    named, unnamed = error.group_exceptions()
    wrong = {note.name for _, note in named}
    more: dict[str, Exception] = {}
    for field in attrs.fields(kind):
        if field.validator is not None and field.name in value and field.name not in wrong:
            found = converter.structure(value[field.name], field.type)
            try:
                field.validator(None, field, found)
            except ValueError as refusal:
                refusal.add_note(AttributeValidationNote("", field.name, field.type))
                more[str(refusal)] = refusal
            except Exception:  # noqa: BLE001, S112 - it wants a whole instance, so it is asked later
                continue
    rest = [inner for inner in unnamed if str(inner) not in more]
    return ClassValidationError("", [*(inner for inner, _ in named), *more.values(), *rest], kind)


def _scalar_hook(scalar: type) -> _Hook:
    """Structure a scalar that has exactly this type; cattrs asks for its subclasses here as well."""

    def exactly(value: Any, kind: Any) -> Any:
        if issubclass(kind, Enum):
            return _choice_hook(kind)(value, kind)
        if scalar is float and type(value) is int:
            return float(value)
        found = _expect(scalar, value)
        return found if kind is scalar else kind(found)

    return exactly


def _path_hook(folder: Path | None) -> _Hook:
    base = folder or Path()

    def locate(value: Any, _: Any) -> Path:
        path = value if isinstance(value, Path) else Path(_expect(str, value))
        if path == Path():
            raise WrongTypeError("the path of a file or folder", value)
        return base / path.expanduser()

    return locate


def _choice_hook(kind: Any) -> _Hook:
    """Structure a Literal or an Enum, whose members are told apart by type as well."""
    is_enum = isinstance(kind, type)
    members = [member.value for member in kind] if is_enum else list(get_args(kind))

    def choose(value: Any, _: Any) -> Any:
        if not any(type(value) is type(one) and value == one for one in members):
            raise WrongTypeError(f"one of {', '.join(map(repr, members))}", value)
        return kind(value) if is_enum else value

    return choose


def _union_hook(kind: Any, converter: Converter) -> _Hook:
    """Structure the first alternative that fits exactly."""
    options = get_args(kind)

    def choose(value: Any, _: Any) -> Any:
        if value is None and types.NoneType in options:
            return None
        wanted = [option for option in options if option is not types.NoneType]
        for option in wanted[:-1]:
            with contextlib.suppress(Exception):
                return converter.structure(value, option)
        return converter.structure(value, wanted[-1])

    return choose


def _sequence_hook(kind: Any, converter: Converter) -> _Hook:
    """Structure an array as a list, tuple or set; a tuple may also give the type of each place."""
    build = get_origin(kind) or kind
    build = tuple if build is Sequence else build
    elements = get_args(kind) or (Any, ...)
    is_fixed = build is tuple and elements[-1] is not ...

    def each(value: Any, _: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise WrongTypeError(_WORDS[list], value)
        if is_fixed and len(value) != len(elements):
            raise WrongTypeError(f"an array of {len(elements)}", value)
        wanted = elements if is_fixed else itertools.repeat(elements[0])
        return build(_each(zip(range(len(value)), value, wanted, strict=False), converter).values())

    return each


def _table_hook(kind: Any, converter: Converter) -> _Hook:
    element = (get_args(kind) or (Any, Any))[1]

    def each(value: Any, _: Any) -> Any:
        items = _expect(dict, value).items()
        return _each(((key, item, element) for key, item in items), converter)

    return each


def _each(items: Iterable[tuple[Any, Any, Any]], converter: Converter) -> dict[Any, Any]:
    """Structure every member as what is wanted in its place, and tell of each one that is wrong."""
    right: dict[Any, Any] = {}
    wrong: list[Exception] = []
    for index, item, element in items:
        try:
            right[index] = converter.structure(item, element)
        except Exception as error:  # noqa: BLE001 - carried on with its place
            error.add_note(IterableValidationNote("", index, element))
            wrong.append(error)
    if wrong:
        raise IterableValidationError("members", wrong, dict)
    return right


def _expect(kind: type, value: object) -> Any:
    if type(value) is not kind:
        raise WrongTypeError(_WORDS[kind], value)
    return value


def _is_sequence(kind: Any) -> bool:
    return (get_origin(kind) or kind) in _SEQUENCES


def _is_table(kind: Any) -> bool:
    return (get_origin(kind) or kind) in (dict, Mapping)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal
