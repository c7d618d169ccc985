"""Opening what was selected, or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from nodeagent.backend.facade import Backend
from nodeagent.backend.guards import guarded
from nodeagent.backend.singles import NoWakeups
from nodeagent.clock import Clock
from nodeagent.config import PORT_KEYS, Config, structured
from nodeagent.errors import ConfigError, Invalid
from nodeagent.plugins import PORTS, Provider, load_provider
from nodeagent.plugins.names import did_you_mean
from nodeagent.ports import Connection
from nodeagent.records.capabilities import Capabilities
from nodeagent.records.ids import check_id


def open_provider(
    provider: str,
    settings: Mapping[str, object] | None = None,
    *,
    namespace: str = "default",
    clock: Clock | None = None,
    ports: Sequence[str] | None = None,
) -> Backend:
    """Open one provider by its name, without a configuration.

    ``ports`` names the wanted ports as their hooks do (``"scheduler"``); None: all that it offers.

    Raises:
        ConfigError: the settings do not fit the provider's schema; every problem is listed.
        PluginError: the provider cannot be loaded.
        BackendError: it cannot be opened.

    """
    part = _Part(name=provider, provider=load_provider(provider), settings=settings or {})
    routes = {port: provider for port in _wanted(ports) if port in part.provider.offers}
    return _open({provider: part}, routes, provider, namespace, clock)


def open_backend(config: Config, *, clock: Clock | None = None, ports: Sequence[str] | None = None) -> Backend:
    """Open the backend that ``config`` selects, with the ports that it takes from other backends.

    A provider is connected once, and only if a wanted port is its own. If one cannot be opened,
    those that were are closed again. Raises as :func:`open_provider` does.
    """
    parts = {name: _part(config, name) for name in (config.backend, *config.ports.values())}
    taken = {PORT_KEYS[key]: name for key, name in config.ports.items()}
    sources = {port: taken.get(port, config.backend) for port in _wanted(ports)}
    routes = {port: at for port, at in sources.items() if port in parts[at].provider.offers}
    return _open(parts, routes, config.backend, config.namespace, clock)


@frozen(kw_only=True)
class _Part:
    """One backend of the configuration, not yet connected."""

    name: str
    provider: Provider
    settings: Mapping[str, object] = field(repr=False)
    path: str = ""
    folder: Path | None = None


def _part(config: Config, name: str) -> _Part:
    chosen = config.backends[name]
    return _Part(
        name=name,
        provider=load_provider(chosen.provider),
        settings=chosen.settings,
        path=f"backends.{name}",
        folder=config.folder,
    )


def _wanted(ports: Sequence[str] | None) -> tuple[str, ...]:
    for port in ports or ():
        if port not in PORTS:
            raise Invalid("ports", f"names {port!r}, which is no port{did_you_mean(port, PORTS)}")
    return tuple(port for port in PORTS if ports is None or port in ports)


def _open(
    parts: Mapping[str, _Part],
    routes: Mapping[str, str],
    name: str,
    namespace: str,
    clock: Clock | None,
) -> Backend:
    check_id("namespace", namespace)
    if not routes:
        raise Invalid("ports", f"names no port that the backend {name!r} offers")
    settings = {at: _settings(parts[at]) for at in dict.fromkeys(routes.values())}
    with ExitStack() as stack:
        opened: dict[str, Connection] = {}
        for at, given in settings.items():
            own = [port for port, source in routes.items() if source == at]
            opened[at] = parts[at].provider.connect(given, namespace, clock, own)
            stack.callback(opened[at].close)
        found = {port: _port(port, parts[at].provider, opened[at]) for port, at in routes.items()}
        main = opened.get(name) or next(iter(opened.values()))
        if "artifact_store" in routes:
            _refuse_weaker(routes["artifact_store"], opened[routes["artifact_store"]].capabilities, main.capabilities)
        hints = opened.get(routes.get("wakeups", ""))
        declared = _combined(main.capabilities, main, hints)
        return Backend(
            name=name,
            provider=parts[name].provider.name,
            namespace=namespace,
            capabilities=declared,
            sends_wakes=declared.wakes_in_commit,
            connection=main,
            ports={"wakeups": NoWakeups(), **found},
            closing=stack.pop_all(),
        )


def _settings(part: _Part) -> object:
    return structured(part.provider, part.settings, part.path, part.folder)


def _port(port: str, provider: Provider, connection: Connection) -> Any:
    return guarded(port, provider.port(port, connection), connection.capabilities)


def _refuse_weaker(name: str, artifacts: Capabilities, ledger: Capabilities) -> None:
    """Receipts must last as long as the jobs that refer to them, and be seen by whoever sees those."""
    for promise in ("durable", "shared"):
        if getattr(ledger, promise) and not getattr(artifacts, promise):
            sentence = f"the ledger is {promise}, but the backend {name!r} is not, so receipts would be lost"
            raise ConfigError([f"ports.artifacts: {sentence}"])


def _combined(declared: Capabilities, ledger: Connection, hints: Connection | None) -> Capabilities:
    """Declare of wake-ups what their own connection declares, and nothing if there is none."""
    theirs = Capabilities() if hints is None else hints.capabilities
    return evolve(
        declared,
        wakeups_work=theirs.wakeups_work,
        wakeups_topic=theirs.wakeups_topic,
        wakes_in_commit=declared.wakes_in_commit and hints is ledger,
    )
