"""From the command line to an open runtime: configuration, application, backend."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodeagent.cli.printing import clean, say

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.config import Config
    from nodeagent.runtime.app import App
    from nodeagent.runtime.client import Runtime

F = TypeVar("F", bound=Callable[..., Any])
BUILT_IN = "nodeagent.cli.builtin:app"
"""The application where none is configured: the evidence runner."""

backend_option = click.option(
    "--backend", metavar="NAME", help="Use this backend of the configuration instead of the selected one."
)
app_option = click.option(
    "--app", metavar="MODULE:NAME", help="The application that has the runners.  [default: the configured one]"
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


def configuration(backend: str | None = None) -> Config:
    """Load the configuration of this directory; say so if there is none."""
    from nodeagent.config import load

    config = load(backend=backend)
    if config.source is None:
        say(clean(config.describe()))
    return config


def application(config: Config, spec: str | None) -> App:
    """Import the application: the one asked for, else the configured one, else the built-in one."""
    if spec is not None:
        return load_app(spec, Path.cwd(), "--app")
    if config.app is not None:
        return load_app(config.app, config.folder or Path.cwd(), "app")
    return load_app(BUILT_IN, Path.cwd(), "app")


def app_name(config: Config, spec: str | None) -> str:
    """Return what :func:`application` imports."""
    return spec or config.app or BUILT_IN


def load_app(spec: str, folder: Path, where: str) -> App:
    """Import ``package.module:object`` with ``folder`` on the path.

    Raises :class:`~nodeagent.ConfigError`, whose problem begins with ``where``.
    """
    from nodeagent.errors import ConfigError
    from nodeagent.runtime.app import App

    module, _, name = spec.partition(":")
    if not module or not name:
        raise ConfigError([f'{where}: must be written "package.module:object", but is {spec!r}'])
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        why = clean(str(error), limit=300)
        sentence = f"{where}: {spec!r} cannot be imported: {type(error).__name__}: {why}"
        raise ConfigError([sentence]) from error
    if not isinstance(found, App):
        raise ConfigError([f"{where}: {spec!r} is no App but of type {type(found).__name__}"])
    return found


@contextmanager
def opened(config: Config, app: App | None = None) -> Iterator[Runtime]:
    """Open the configured backend for ``app`` (None: no runner is needed), and close it afterwards."""
    from nodeagent.runtime.app import App

    with (app or App()).open(config) as runtime:
        yield runtime


@contextmanager
def opened_ports(config: Config, ports: Sequence[str]) -> Iterator[Backend]:
    """Open only some ports of the configured backend, and close it afterwards."""
    from nodeagent.backend import open_backend

    with open_backend(config, ports=ports) as backend:
        yield backend
