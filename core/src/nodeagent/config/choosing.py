"""Checking what a configuration selects against the plugins that are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, field, frozen

from nodeagent.config.hidden import Resolver
from nodeagent.config.model import PORT_KEYS
from nodeagent.config.paths import join
from nodeagent.config.strict import structured
from nodeagent.errors import ConfigError, PluginError
from nodeagent.plugins import Provider, load_extension, load_provider

_T = TypeVar("_T")

Tables = Mapping[str, dict[str, Any]]


@frozen(kw_only=True)
class Chosen:
    """What was selected: sound if there are no problems."""

    backend: str
    tables: Tables
    ports: Mapping[str, str]
    observers: tuple[str, ...]


@define(kw_only=True)
class Chooser:
    """Collects the problems of what is selected; ``cause`` is the first plugin's error."""

    environ: Mapping[str, str]
    folder: Path
    problems: list[str] = field(factory=list)
    cause: PluginError | None = None

    def choose(
        self,
        tables: Tables,
        backend: str | None,
        ports: Mapping[str, str],
        observers: tuple[str, ...],
    ) -> Chosen:
        """Import the selected plugins, and check their settings and what they offer."""
        names = dict.fromkeys([*([] if backend is None else [backend]), *ports.values()])
        providers: dict[str, Provider] = {}
        checked = dict(tables)
        for name in names:
            path = join("backends", name)
            provider = self._plugin(f"{path}.provider", load_provider, tables[name]["provider"])
            checked[name] = self._settings(path, tables[name], provider)
            if provider is not None:
                providers[name] = provider
        if backend in providers:
            self._check_ledger(join("backends", backend), providers[backend], ports)
        self._check_ports(ports, providers)
        self._check_observers(observers)
        return Chosen(backend=backend or "", tables=checked, ports=ports, observers=observers)

    def _plugin(self, path: str, load_plugin: Callable[[str], _T], name: str) -> _T | None:
        try:
            return load_plugin(name)
        except PluginError as error:
            self.problems.append(f"{path}: {error}")
            self.cause = self.cause or error
            return None

    def _settings(self, path: str, table: Mapping[str, Any], provider: Provider | None) -> dict[str, Any]:
        """Return the table with its references resolved, after fitting it to the provider's schema."""
        resolver = Resolver(self.environ, self.folder)
        own = {key: value for key, value in table.items() if key != "provider"}
        resolved = {key: resolver.resolve(value, join(path, key)) for key, value in own.items()}
        self.problems += [f"{at}: {problem}" for at, problem in resolver.problems.items()]
        if provider is not None:
            self.problems += [
                problem
                for problem in self._misfits(path, resolved, provider)
                if not problem.startswith(tuple(f"{at}: " for at in resolver.problems))
            ]
        return {"provider": table["provider"], **resolved}

    def _misfits(self, path: str, settings: Mapping[str, object], provider: Provider) -> tuple[str, ...]:
        try:
            structured(provider, settings, path, self.folder)
        except ConfigError as error:
            return error.problems
        except PluginError as error:
            self.cause = self.cause or error
            return (f"{path}.provider: {error}",)
        return ()

    def _check_ledger(self, path: str, provider: Provider, ports: Mapping[str, str]) -> None:
        if not provider.has_ledger:
            offers = ", ".join(sorted(provider.offers))
            self.problems.append(
                f"{path}.provider: {provider.name!r} offers {offers} but no ledger,"
                " so it can serve [ports] but cannot be the selected backend"
            )
        elif "artifacts" not in ports and "artifact_store" not in provider.offers:
            self.problems.append(f"ports.artifacts: {no_artifacts(provider.name)}")

    def _check_ports(self, ports: Mapping[str, str], providers: Mapping[str, Provider]) -> None:
        for key, name in ports.items():
            provider = providers.get(name)
            if provider is not None and PORT_KEYS[key] not in provider.offers:
                sentence = f"the provider {provider.name!r} of the backend {name!r} offers no {key}"
                self.problems.append(f"ports.{key}: {sentence}")

    def _check_observers(self, observers: tuple[str, ...]) -> None:
        for place, name in enumerate(observers):
            path = join("observers", place)
            if name in observers[:place]:
                self.problems.append(f"{path}: {name!r} is named twice")
                continue
            extension = self._plugin(path, load_extension, name)
            if extension is not None and "observe" not in extension.offers:
                self.problems.append(f"{path}: the extension {name!r} observes nothing")


def no_artifacts(provider: str) -> str:
    """Say what to do about a provider that stores no artifacts."""
    return (
        f"the provider {provider!r} stores no artifacts; add [backends.blobs] with"
        ' provider = "files", and artifacts = "blobs" under [ports]'
    )
