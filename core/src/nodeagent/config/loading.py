"""Reading a configuration: all of it, or one error with everything that is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import define, field

from nodeagent.config.choosing import Chooser, Chosen
from nodeagent.config.environment import BACKEND, strangers
from nodeagent.config.hidden import variables_in
from nodeagent.config.model import (
    DEFAULT_BACKEND,
    DEFAULT_PATH,
    PORT_KEYS,
    BackendConfig,
    Config,
    WorkerConfig,
)
from nodeagent.config.paths import join
from nodeagent.config.places import Place, find
from nodeagent.config.strict import structure
from nodeagent.errors import ConfigError, Invalid
from nodeagent.plugins import LEDGER
from nodeagent.plugins.names import did_you_mean, listed
from nodeagent.records.ids import check_id

_APP: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
_KEYS: Final = ("app", "backend", "namespace", "backends", "ports", "worker", "observers")
_DEFAULT: Final[dict[str, Any]] = {
    "backend": DEFAULT_BACKEND,
    "backends": {DEFAULT_BACKEND: {"provider": "sqlite", "path": DEFAULT_PATH}},
}


def load(
    directory: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    backend: str | None = None,
) -> Config:
    """Return the configuration that counts in ``directory`` (None: the working directory).

    ``backend`` selects a backend by its name, before ``NODEAGENT_BACKEND`` and before the file.
    Nothing is opened or created; only the providers and observers that are selected are imported.

    Raises:
        ConfigError: it is wrong; ``problems`` lists everything that is, each with its path.

    """
    folder = Path.cwd() if directory is None else Path(directory).absolute()
    variables = os.environ if environ is None else environ
    place = find(folder, variables)
    return _Reader(
        place=place,
        folder=folder if place is None else place.path.parent,
        table=_DEFAULT if place is None else place.table,
        environ=variables,
        asked=backend,
    ).read()


@define(kw_only=True)
class _Reader:
    """One reading. It goes on after a problem, so that all of them are found."""

    place: Place | None
    folder: Path
    table: Mapping[str, Any]
    environ: Mapping[str, str]
    asked: str | None
    problems: list[str] = field(factory=list)

    def read(self) -> Config:
        """Return the configuration, or raise what is wrong with it."""
        self.problems += strangers(self.environ, set(variables_in(dict(self.table))))
        self._refuse_strangers()
        app, namespace = self._app(), self._namespace()
        tables = self._tables()
        backend, ports = self._selected(tables), self._ports(tables)
        worker = self._take("worker", WorkerConfig, WorkerConfig())
        chosen = Chooser(environ=self.environ, folder=self.folder)
        found = chosen.choose(tables, backend, ports, self._take("observers", tuple[str, ...], ()))
        self.problems += chosen.problems
        if self.problems:
            self._fail(chosen.cause)
        return self._config(found, app=app, namespace=namespace, worker=worker)

    def _config(self, found: Chosen, **rest: Any) -> Config:
        source = None if self.place is None else self.place.path
        backends = {
            name: BackendConfig(provider=table.pop("provider"), settings=table) for name, table in found.tables.items()
        }
        return Config(
            backend=found.backend,
            backends=backends,
            ports=found.ports,
            observers=found.observers,
            source=source,
            folder=self.folder,
            **rest,
        )

    def _fail(self, cause: Exception | None) -> None:
        error = ConfigError(self.problems)
        where = "no configuration was found" if self.place is None else f"read from {self.place.path}"
        error.add_note(where)
        raise error from cause

    def _refuse_strangers(self) -> None:
        for key in self.table:
            if key not in _KEYS:
                near = did_you_mean(key, _KEYS)
                self.problems.append(f"{join('', key)}: there is no such key{near}")

    def _take(self, key: str, kind: Any, default: Any, *, silently: bool = False) -> Any:
        """Return the value of a top-level key if it is a ``kind``, else the default and a problem."""
        if key not in self.table:
            return default
        value, problems = structure(kind, self.table[key], key)
        self.problems += [] if silently else problems
        return default if problems else value

    def _app(self) -> str | None:
        app: str | None = self._take("app", str, None)
        if app is not None and not _APP.fullmatch(app):
            self.problems.append(f'app: must be written "package.module:object", but is {app!r}')
        return app

    def _namespace(self) -> str:
        namespace: str = self._take("namespace", str, "default")
        try:
            check_id("namespace", namespace)
        except Invalid as error:
            self.problems.append(f"namespace: {str(error).removeprefix('namespace ')}")
        return namespace

    def _tables(self) -> dict[str, dict[str, Any]]:
        """Return the tables of ``[backends]`` that are sound enough to be looked at."""
        if not {"backend", "backends"} & set(self.table):
            return dict(_DEFAULT["backends"])
        sound = {}
        for name, table in self._take("backends", dict[str, Any], {}).items():
            path = join("backends", name)
            problems = structure(dict[str, Any], table, path)[1]
            problems = problems or _provider_problems(table, path)
            self.problems += problems
            if not problems:
                sound[name] = dict(table)
        return sound

    def _selected(self, tables: Mapping[str, Any]) -> str | None:
        """Return the name of the selected backend, None if there is a problem with it."""
        written = self._take("backend", str, None)
        names = {"backend": written, BACKEND: self.environ.get(BACKEND), "--backend": self.asked}
        given = {path: name for path, name in names.items() if name is not None}
        everything = self._take("backends", dict[str, Any], tables, silently=True)
        for path, name in given.items():
            if name not in everything:
                near = did_you_mean(name, everything)
                sentence = f"there is no backend {name!r}; configured: {listed(everything)}{near}"
                self.problems.append(f"{path}: {sentence}")
        if given:
            name = given[list(given)[-1]]
            return name if name in tables else None
        return self._only(tables)

    def _only(self, tables: Mapping[str, Any]) -> str | None:
        """Return the one backend that there is, if the file need not say which."""
        if len(tables) == 1 and "backend" not in self.table:
            return next(iter(tables))
        if len(tables) > 1 and "backend" not in self.table:
            self.problems.append(f"backend: is required to name one of {listed(tables)}")
        return None

    def _ports(self, tables: Mapping[str, Any]) -> dict[str, str]:
        sound = {}
        everything = self._take("backends", dict[str, Any], tables, silently=True)
        for key, name in self._take("ports", dict[str, str], {}).items():
            path = join("ports", key)
            if key not in PORT_KEYS:
                self.problems.append(f"{path}: {_no_port(key)}")
            elif name not in everything:
                near = did_you_mean(name, everything)
                self.problems.append(f"{path}: there is no backend {name!r}{near}")
            elif name in tables:
                sound[key] = name
        return sound


def _provider_problems(table: Mapping[str, Any], path: str) -> list[str]:
    if "provider" not in table:
        return [f"{path}.provider: is required, but it is missing"]
    return structure(str, table["provider"], f"{path}.provider")[1]


def _no_port(key: str) -> str:
    if key in LEDGER:
        return "is a part of the ledger, which comes as a whole from the selected backend"
    return f"there is no such port{did_you_mean(key, PORT_KEYS)}"
