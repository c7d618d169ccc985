"""Where a smoke is run: a store of its own, made for the purpose and removed afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from attrs import define, field, frozen

from nodeagent.cli.printing import say
from nodeagent.cli.proofs import Broken

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.clock import Clock
    from nodeagent.config import Config

PREFIX: Final = "nodeagent-smoke-"
PATIENCE_SECONDS: Final = 60.0


@frozen(kw_only=True)
class Recipe:
    """How to open the store, so that another process can do it too; it holds settings, so it is shown to nobody."""

    namespace: str
    provider: str | None = None
    settings: Mapping[str, Any] = field(factory=dict, repr=False)
    backend: str | None = None

    def open(self, clock: Clock | None) -> Backend:
        """Open it: a provider with these settings, or else the configured backend of this name."""
        from nodeagent.backend import open_backend, open_provider

        if self.provider is not None:
            return open_provider(self.provider, self.settings, namespace=self.namespace, clock=clock)
        return open_backend(in_namespace(self.backend, self.namespace), clock=clock)

    def receipt_elsewhere(self, job_id: str) -> bytes:
        """Return a job's receipt as another process reads it. Raises :class:`Broken`."""
        given = {
            "namespace": self.namespace,
            "provider": self.provider,
            "settings": dict(self.settings),
            "backend": self.backend,
            "job_id": job_id,
        }
        done = subprocess.run(
            [sys.executable, "-m", "nodeagent.cli.elsewhere"],
            input=json.dumps(given).encode(),
            capture_output=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or ["it said nothing"]
            raise Broken(f"the other process ended with code {done.returncode}: {said[0]}")
        return done.stdout


@define
class Place:
    """A name for people, and the recipe."""

    name: str
    recipe: Recipe


def in_namespace(backend: str | None, namespace: str) -> Config:
    """Return the configuration of this directory with another namespace."""
    from attrs import evolve

    from nodeagent.config import load

    return evolve(load(backend=backend), namespace=namespace)


@contextmanager
def provider_place(provider: str) -> Iterator[Place]:
    """Make a store of a provider that needs no configuration: in memory, or in a temporary folder."""
    with TemporaryDirectory(prefix=PREFIX) as folder:
        unique = PREFIX + uuid4().hex[:12]
        is_file = has_path(provider)
        settings = {"path": str(Path(folder) / "smoke.db")} if is_file else {"store": unique}
        where = "in a temporary folder" if is_file else "in this process"
        yield Place(f"{provider} {where}", Recipe(namespace=unique, provider=provider, settings=settings))


@contextmanager
def configured_place(config: Config) -> Iterator[Place]:
    """Use the configured backend, in a namespace that is made for the purpose and dropped afterwards."""
    recipe = Recipe(namespace=PREFIX + uuid4().hex[:12], backend=config.backend)
    try:
        yield Place(f"backend {config.backend} ({config.provider}) in a namespace of its own", recipe)
    finally:
        _drop(recipe)


def _drop(recipe: Recipe) -> None:
    """Drop the namespace; if the store cannot be opened, there is hardly one, and the proofs have said why."""
    from nodeagent.errors import NodeAgentError

    try:
        with recipe.open(None) as backend:
            backend.maintenance.drop_namespace()
    except NodeAgentError:
        say(f"note: the namespace {recipe.namespace} could not be dropped")


def has_path(provider: str) -> bool:
    """Say whether the provider keeps everything in a file whose place is its setting ``path``."""
    import attrs

    from nodeagent.plugins import load_provider

    fields = attrs.fields(load_provider(provider).settings_type())
    is_free = all(field.default is not attrs.NOTHING for field in fields if field.name != "path")
    return is_free and any(field.name == "path" for field in fields)


def needs_nothing(provider: str) -> bool:
    """Say whether a smoke can make a store of this provider by itself; imports the provider."""
    from nodeagent.errors import PluginError
    from nodeagent.plugins import load_provider

    try:
        return load_provider(provider).has_ledger and (provider == "memory" or has_path(provider))
    except PluginError:
        return False


def main() -> None:
    """Print the receipt that stdin asks for; see :meth:`Recipe.receipt_elsewhere`."""
    from nodeagent.runtime.app import App
    from nodeagent.runtime.client import Runtime

    given = json.load(sys.stdin)
    job_id = given.pop("job_id")
    with Recipe(**given).open(None) as backend:
        sys.stdout.buffer.write(Runtime(App(), backend).receipt(job_id))
