"""Distributions that are installed for one test: real metadata, real modules, nobody else's."""

from __future__ import annotations

import importlib
import importlib.metadata
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STORE = """
from pathlib import Path
from attrs import field, frozen, validators
from nodeagent import Capabilities, hookimpl

CLOSED = []

@frozen(kw_only=True)
class Settings:
    path: Path = Path("default.db")
    password: str = field(default="", repr=False)
    pool: int = field(default=1, validator=validators.lt(100))
    tags: tuple[str, ...] = ()
    timeout: float | None = None

class Connection:
    capabilities = Capabilities()
    def __init__(self, *asked):
        self.asked = asked
    def now(self):
        return 1_000
    def close(self):
        CLOSED.append(__name__)
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.close()

class Port:
    def __init__(self, name):
        self.calls = []
        self.name = name
    def __getattr__(self, verb):
        if verb.startswith("_"):
            raise AttributeError(verb)
        def call(*arguments):
            self.calls.append((verb, *arguments))
            return ()
        return call

@hookimpl
def nodeagent_settings():
    return Settings

@hookimpl
def nodeagent_connect(settings, namespace, clock, ports):
    return Connection(settings, namespace, clock, ports)
"""
LEDGER = """
@hookimpl
def nodeagent_transactions(connection): return Port("transactions")
@hookimpl
def nodeagent_lease_store(connection): return Port("lease_store")
@hookimpl
def nodeagent_step_journal(connection): return Port("step_journal")
@hookimpl
def nodeagent_scheduler(connection): return Port("scheduler")
@hookimpl
def nodeagent_job_store(connection): return Port("job_store")
@hookimpl
def nodeagent_frame_store(connection): return Port("frame_store")
@hookimpl
def nodeagent_run_store(connection): return Port("run_store")
@hookimpl
def nodeagent_maintenance(connection): return Port("maintenance")
"""
ARTIFACTS = """
@hookimpl
def nodeagent_artifact_store(connection): return Port("artifact_store")
"""
WAKEUPS = """
@hookimpl
def nodeagent_wakeups(connection): return Port("wakeups")
"""


class Site:
    """A folder of installed distributions. Every module gets a name of its own."""

    store = STORE
    ledger = LEDGER
    artifacts = ARTIFACTS
    wakeups = WAKEUPS
    full = STORE + LEDGER + ARTIFACTS + WAKEUPS

    _names = itertools.count(1)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules: list[str] = []

    def module(self, source: str) -> str:
        """Write a module and return its name."""
        name = f"fake_plugin_{next(self._names)}"
        self.modules.append(name)
        (self.folder / f"{name}.py").write_text(source, "utf-8")
        importlib.invalidate_caches()
        return name

    def metadata(
        self,
        distribution: str,
        points: str,
        *,
        version: str = "1.0",
        group: str = "nodeagent.providers",
        folder: Path | None = None,
        is_whole: bool = True,
    ) -> Path:
        """Write the metadata of a distribution that declares these entry points."""
        info = (folder or self.folder) / f"{distribution.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        if is_whole:
            text = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n"
            (info / "METADATA").write_text(text, "utf-8")
        (info / "entry_points.txt").write_text(f"[{group}]\n{points}\n", "utf-8")
        importlib.invalidate_caches()
        return info

    def install(self, name: str, source: str, **metadata: Any) -> str:
        """Install ``nodeagent-<name>`` with one plugin of this source; return its module's name."""
        module = self.module(source)
        self.metadata(metadata.pop("distribution", f"nodeagent-{name}"), f"{name} = {module}", **metadata)
        return module


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The only installed plugins: those that the test installs here (or in other folders on the path)."""
    installed = Site(tmp_path / "site")
    installed.folder.mkdir()
    monkeypatch.syspath_prepend(installed.folder)

    def distributions(name: str | None = None) -> Iterator[importlib.metadata.Distribution]:
        path = [entry for entry in sys.path if Path(entry).is_relative_to(tmp_path)]
        yield from importlib.metadata.distributions(name=name, path=path)

    monkeypatch.setattr("nodeagent.plugins.discovery._distributions", distributions)
    yield installed
    for module in installed.modules:
        sys.modules.pop(module, None)
