"""Settings whose values are shown to nobody, and secrets that are written as references."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from nodeagent.config.paths import join

REFERENCES: Final = ("env", "file")
_UNRESOLVED: Final = object()


class Hidden(Mapping[str, object]):
    """A read-only mapping whose ``repr`` and ``str`` tell its keys and nothing else."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = dict(values)

    def __getitem__(self, key: str) -> object:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<values of {', '.join(self._values) or 'nothing'}>"


class Resolver:
    """Puts the values of ``{ env = "NAME" }`` and ``{ file = "path" }`` in the places of the references.

    A table with exactly one key, *env* or *file*, is a reference wherever it stands. One line end
    at the end of a file does not count. ``problems`` says what could not be resolved, by path.
    """

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self.problems: dict[str, str] = {}
        self._environ = environ
        self._folder = folder

    def resolve(self, value: object, path: str) -> object:
        """Return ``value`` with every reference in it replaced; an unresolvable one fits no type."""
        if isinstance(value, list):
            return [self.resolve(item, f"{path}[{place}]") for place, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        reference = reference_of(value)
        if reference is None:
            return {key: self.resolve(item, join(path, key)) for key, item in value.items()}
        return self._look_up(*reference, path)

    def _look_up(self, kind: str, name: str, path: str) -> object:
        found, problem = self._variable(name) if kind == "env" else self._file(name)
        if problem is None and not found:
            problem = "is empty"
        if problem is None:
            return found
        word = "environment variable" if kind == "env" else "file"
        self.problems[path] = f"the {word} {name!r} {problem}"
        return _UNRESOLVED

    def _variable(self, name: str) -> tuple[str, str | None]:
        value = self._environ.get(name)
        if value is None:
            return "", "is not set"
        return value, None if _is_unicode(value) else "is not valid UTF-8"

    def _file(self, name: str) -> tuple[str, str | None]:
        try:
            text = (self._folder / name).read_bytes().decode()
        except OSError as error:
            return "", f"cannot be read: {error.strerror}"
        except ValueError:  # not UTF-8, or a NUL in the name
            return "", "cannot be read as UTF-8 text"
        return text.removesuffix("\n").removesuffix("\r"), None


def reference_of(value: object) -> tuple[str, str] | None:
    """Return kind and name if ``value`` is a reference."""
    if not isinstance(value, dict) or len(value) != 1:
        return None
    ((kind, name),) = value.items()
    return (kind, name) if kind in REFERENCES and isinstance(name, str) else None


def variables_in(value: object) -> Iterator[str]:
    """Yield the names of the environment variables that references anywhere in ``value`` name."""
    found = reference_of(value)
    if found is not None:
        if found[0] == "env":
            yield found[1]
    elif isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from variables_in(item)


def redacted(text: str, settings: object) -> str:
    """Return ``text`` without any string of ``settings``, because each of them may be a secret."""
    for secret in sorted(_strings(settings), key=len, reverse=True):
        for spelling in (secret, repr(secret)[1:-1]):
            text = text.replace(spelling, "…")
    return text


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(item)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
