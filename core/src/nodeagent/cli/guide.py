"""The guided setup: from a provider's schema to a checked `nodeagent.toml`."""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nodeagent.cli.printing import clean, say

if TYPE_CHECKING:
    from nodeagent.plugins import Provider

_SECRET: Final = re.compile(r"dsn|url|password|secret|token|key", re.IGNORECASE)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
BACKEND: Final = "main"


def parse(pairs: Sequence[str]) -> dict[str, Any]:
    """Return ``--set`` options as settings: each value is TOML if it can be, else a string."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.UsageError(f"--set is written KEY=VALUE, but is {pair.partition('=')[0]!r}")
        if key in found:
            raise click.UsageError(f"--set {key} is given twice")
        found[key.strip()] = _value(text.strip())
    return found


def _value(text: str) -> Any:
    try:
        table = tomllib.loads(f"value = {text}")
    except ValueError:
        return text
    return table["value"] if list(table) == ["value"] else text


def settings(provider: Provider, given: Mapping[str, Any], *, asks: bool) -> dict[str, Any]:
    """Return the settings, after asking for those that have no default."""
    import attrs

    found = dict(given)
    for attribute in attrs.fields(provider.settings_type()):
        is_required = attribute.default is attrs.NOTHING
        if attribute.name in found or not attribute.init or not is_required:
            continue
        if not asks:
            raise click.UsageError(f"the provider {provider.name!r} needs --set {attribute.name}=…")
        found[attribute.name] = _ask(attribute.name)
    if asks and "path" in {a.name for a in attrs.fields(provider.settings_type())} and "path" not in found:
        default = next(a.default for a in attrs.fields(provider.settings_type()) if a.name == "path")
        found["path"] = click.prompt("where is the file", default=str(default), err=True)
    return found


def _ask(name: str) -> Any:
    if _SECRET.search(name):
        variable = click.prompt(f"which environment variable holds the {name}", default=name.upper(), err=True)
        return {"env": variable}
    return _value(click.prompt(name, err=True))


def namespace(*, asks: bool) -> str:
    """Return the namespace: the directory's name may be a good one."""
    if not asks:
        return "default"
    return str(click.prompt("which namespace", default="default", err=True))


def document(provider: str, found: Mapping[str, Any], *, namespace: str, app: str | None) -> str:
    """Return the text of the configuration."""
    lines = [] if app is None else [f"app = {toml(app)}"]
    lines += [f"backend = {toml(BACKEND)}", f"namespace = {toml(namespace)}", ""]
    lines += [f"[backends.{BACKEND}]", f"provider = {toml(provider)}"]
    lines += [f"{_key(name)} = {toml(value)}" for name, value in found.items()]
    return "\n".join([*lines, ""])


def toml(value: Any) -> str:
    """Return a value of TOML as it is written there."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_key(key)} = {toml(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(toml(item) for item in value)}]"
    return str(value)


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    safe = re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\u{ord(found[0]):04x}", escaped)
    return f'"{safe}"'


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _string(name)


def write(path: Path, text: str) -> None:
    """Check the configuration, and only then let it take the place of ``path``: nobody ever sees half a file."""
    from nodeagent.config import load

    number, name = tempfile.mkstemp(prefix=".nodeagent-", suffix=".toml", dir=path.parent)
    draft = Path(name)
    try:
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        load(path.parent, environ={**os.environ, "NODEAGENT_CONFIG": name})
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    if "NODEAGENT_CONFIG" in os.environ:
        say(f"note: NODEAGENT_CONFIG points to {clean(os.environ['NODEAGENT_CONFIG'])}, and that file counts")
