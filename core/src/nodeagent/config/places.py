"""Where a configuration is found, and how its file is read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from nodeagent.errors import ConfigError

OWN: Final = "nodeagent.toml"
SHARED: Final = "pyproject.toml"
VARIABLE: Final = "NODEAGENT_CONFIG"

_LARGEST: Final = 1024 * 1024
_TRUSTED: Final[tuple[int, ...]] = (0,)


@frozen
class Place:
    """A configuration as it was written, and the file it stands in."""

    path: Path
    table: Mapping[str, Any]


def find(directory: Path, environ: Mapping[str, str]) -> Place | None:
    """Return the configuration that counts in ``directory``, or None if there is none.

    Raises:
        ConfigError: a file that should count cannot be read, or is not TOML.

    """
    named = environ.get(VARIABLE)
    if named is not None:
        return _named(directory, named)
    for folder in (directory, *directory.parents):
        for place in _candidates(folder):
            _check_owner(place.path, directory)
            return place
    return None


def _named(directory: Path, named: str) -> Place:
    if not named:
        raise ConfigError([f"{VARIABLE}: is empty; unset it, or let it name a file"])
    path = directory / named
    if not os.path.lexists(path):
        raise ConfigError([f"{VARIABLE}: there is no file {str(path)!r}"])
    table = _parsed(path, _bytes(path))
    if path.name != SHARED:
        return Place(path, table)
    own = _own_table(table)
    if own is None:
        raise ConfigError([f"{VARIABLE}: {str(path)!r} has no table [tool.nodeagent]"])
    return Place(path, own)


def _candidates(folder: Path) -> Iterator[Place]:
    own, shared = folder / OWN, folder / SHARED
    if os.path.lexists(own):
        yield Place(own, _parsed(own, _bytes(own)))
    elif shared.is_file():
        data = _bytes(shared)
        # A project file that does not speak of us is not ours to judge.
        table = _own_table(_parsed(shared, data)) if b"nodeagent" in data else None
        if table is not None:
            yield Place(shared, table)


def _own_table(project: Mapping[str, Any]) -> Mapping[str, Any] | None:
    tools = project.get("tool")
    table = tools.get("nodeagent") if isinstance(tools, dict) else None
    return table if isinstance(table, dict) else None


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read: {error.strerror}"]) from error
    if len(data) > _LARGEST:
        raise ConfigError([f"{path}: is larger than {_LARGEST} bytes, so it is no configuration"])
    return data


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 - only where there is a file

    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"is not UTF-8 (at line {line})"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError as error:  # also an integer with too many digits
        problem = f"is not valid TOML: {error}"
    raise ConfigError([f"{path}: {problem}"])


def _check_owner(path: Path, directory: Path) -> None:
    """Refuse a file that somebody else put into a directory above: it names the code that is run."""
    if path.parent == directory or not hasattr(os, "geteuid"):
        return
    if path.stat().st_uid not in (*_TRUSTED, os.geteuid()):
        sentence = f"{path}: belongs to another user; if you trust it, let {VARIABLE} name it"
        raise ConfigError([sentence])
