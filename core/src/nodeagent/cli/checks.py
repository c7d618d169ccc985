"""What the doctor looks at. Each look gives checks, and whatever it raises becomes a failed one."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from attrs import define, field

from nodeagent.cli.failing import sentence_of
from nodeagent.cli.printing import command, count, span
from nodeagent.records.maintenance import Check, CheckStatus

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.config import Config
    from nodeagent.plugins import PluginInfo, Provider

SCRATCH: Final = "nodeagent-doctor-"
SKEW_MS: Final = 30_000
LOST_BEATS: Final = 2
PATIENCE_SECONDS: Final = 30.0
_IMPORT: Final = (
    "import sys; from nodeagent.plugins import load_provider, load_extension;"
    " (load_provider if sys.argv[1] == 'provider' else load_extension)(sys.argv[2])"
)
Look = Callable[[], Iterator[Check]]


@define(kw_only=True)
class Doctor:
    """Looks from the ground up: this computer, the configuration, the store, the application, the plugins."""

    backend: str | None = None
    app: str | None = None
    shown: Callable[[Check], None] = field(default=lambda _: None)
    checks: list[Check] = field(factory=list)
    config: Config | None = None
    provider: Provider | None = None
    store: Backend | None = None

    def look(self) -> bool:
        """Look at everything; return whether nothing failed."""
        try:
            for name, look in self._looks():
                self._look(name, look)
        finally:
            if self.store is not None:
                self.store.close()
        return not any(check.status == "failed" for check in self.checks)

    def _looks(self) -> Sequence[tuple[str, Look]]:
        return (
            ("python", _python),
            ("evidence runner", _evidence),
            ("configuration", self._configuration),
            ("provider", self._provider),
            ("opening the store", self._opening),
            ("schema", self._schema),
            ("the provider's own look", self._own),
            ("clock", self._clock),
            ("round trip", self._round_trip),
            ("application", self._application),
            ("plugins", _plugins),
        )

    def _look(self, name: str, look: Look) -> None:
        try:
            for check in look():
                self._add(check)
        except Exception as error:  # noqa: BLE001 - a look that fails is a finding
            self._add(Check(name=name, status="failed", found=sentence_of(error), remedy=_remedy(error)))

    def _add(self, check: Check) -> None:
        self.checks.append(check)
        self.shown(check)

    # -- configuration and store ---------------------------------------------------------------------

    def _configuration(self) -> Iterator[Check]:
        from nodeagent.config import load

        self.config = load(backend=self.backend)
        yield Check(name="configuration", status="ok", found=self.config.describe())

    def _provider(self) -> Iterator[Check]:
        if self.config is None:
            return
        from nodeagent.plugins import load_provider

        self.provider = load_provider(self.config.provider)
        yield Check(name="provider", status="ok", found=f"{self.provider.name} of {self.provider.info.origin}")

    def _opening(self) -> Iterator[Check]:
        if self.config is None or self.provider is None:
            return
        from nodeagent.backend import open_backend

        began = time.monotonic()
        self.store = open_backend(self.config)
        found = f"opened in {_ms_since(began)} ms, namespace {self.store.namespace!r}"
        yield Check(name="opening the store", status="ok", found=found)
        if not self.store.capabilities.durable:
            yield Check(
                name="durability",
                status="warning",
                found="this store does not declare that it survives kill -9",
                remedy="choose a durable provider for work that must survive",
            )

    def _schema(self) -> Iterator[Check]:
        if self.store is None:
            return
        schema = self.store.maintenance.schema()
        found = f"version {schema.found}, wanted {schema.wanted}"
        if schema.is_current:
            yield Check(name="schema", status="ok", found=found)
            return
        pending = f"; pending: {', '.join(schema.pending)}" if schema.pending else ""
        status: CheckStatus = "warning" if schema.found == schema.wanted else "failed"
        yield Check(name="schema", status=status, found=found + pending, remedy=f"run `{command()} migrate`")

    def _own(self) -> Iterator[Check]:
        if self.config is None or self.provider is None:
            return
        from nodeagent.config import structured

        chosen = self.config.backends[self.config.backend]
        path = f"backends.{self.config.backend}"
        settings = structured(self.provider, chosen.settings, path, self.config.folder)
        connection = None if self.store is None else self.store.connection
        yield from self.provider.doctor(settings, connection)

    def _clock(self) -> Iterator[Check]:
        if self.store is None:
            return
        ahead = self.store.now() - time.time_ns() // 1_000_000
        found = f"the store's clock and this computer's differ by {span(abs(ahead))}"
        if abs(ahead) <= SKEW_MS:
            yield Check(name="clock", status="ok", found=found)
        else:
            remedy = "synchronise the clocks (NTP); leases go by the store's, so this is safe but confusing"
            yield Check(name="clock", status="warning", found=found, remedy=remedy)

    def _round_trip(self) -> Iterator[Check]:
        """Enqueue, run and finish a job in a namespace of its own, and drop it."""
        if self.store is None or self.config is None:
            return
        from attrs import evolve

        from nodeagent.backend import open_backend

        scratch = evolve(self.config, namespace=SCRATCH + uuid4().hex[:12])
        with open_backend(scratch) as backend:
            try:
                ms = _frame(backend)
            finally:
                backend.maintenance.drop_namespace()
        yield Check(name="round trip", status="ok", found=f"a frame was stored, run and finished in {ms} ms")
        yield _lease(self.config.worker.lease_ms, ms)

    # -- application ---------------------------------------------------------------------------------

    def _application(self) -> Iterator[Check]:
        if self.config is None:
            return
        from nodeagent.cli.opening import app_name, application

        runners = sorted(application(self.config, self.app).runners)
        name = app_name(self.config, self.app)
        if runners:
            yield Check(name="application", status="ok", found=f"{name} with {', '.join(runners)}")
            return
        remedy = "register a function with @app.runner(…)"
        yield Check(name="application", status="warning", found=f"{name} has no runner", remedy=remedy)


def _frame(backend: Backend) -> int:
    from nodeagent.records.answer import Answer
    from nodeagent.rules.specs import FrameRequest
    from nodeagent.runtime.app import App
    from nodeagent.runtime.client import Runtime

    app = App()
    app.add_runner("doctor", lambda frame: Answer(confidence="low", error=str(frame.step("look", lambda: "seen"))))
    began = time.monotonic()
    with Runtime(app, backend) as runtime:
        runtime.run(FrameRequest(goal="Does a round trip work?", runner="doctor", max_attempts=1))
    return _ms_since(began)


def _lease(lease_ms: int, frame_ms: int) -> Check:
    """Say whether renewals come in time: one every third of the lease, and two may be lost."""
    found = f"leases of {span(lease_ms)}, renewed every {span(lease_ms // 3)}"
    if frame_ms < lease_ms / 3:
        return Check(name="lease", status="ok", found=found)
    return Check(
        name="lease",
        status="warning",
        found=f"{found}, but this store needs {span(frame_ms)} for one short frame",
        remedy="raise lease_ms under [worker]",
    )


# --- this computer ------------------------------------------------------------------------------


def _python() -> Iterator[Check]:
    from nodeagent import __version__

    found = f"Python {platform.python_version()} on {platform.system()}, nodeagent {__version__}"
    yield Check(name="python", status="ok", found=found)


def _evidence() -> Iterator[Check]:
    """Ask the evidence runner something: it ranks with the full-text search of Python's own SQLite."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from nodeagent.cli.demo import QUESTION, write_documents
    from nodeagent.evidence import answer
    from nodeagent.evidence.terms import IndexUnavailable

    try:
        with TemporaryDirectory(prefix=SCRATCH) as folder:
            found = answer(QUESTION, write_documents(Path(folder)))
    except IndexUnavailable as error:
        remedy = "use a Python whose SQLite has FTS5; only the evidence runner needs it"
        yield Check(name="evidence runner", status="warning", found=str(error), remedy=remedy)
        return
    yield Check(name="evidence runner", status="ok", found=f"cites {count(len(found.evidence), 'passage')} of a sample")


# --- plugins ------------------------------------------------------------------------------------


def _plugins() -> Iterator[Check]:
    """Try each installed plugin in a process of its own: one may print, exit or hang at import."""
    from nodeagent.plugins import installed_extensions, installed_providers, stale_metadata

    found = [("provider", info) for info in installed_providers()]
    found += [("extension", info) for info in installed_extensions()]
    problems = [(kind, info, info.problem or _import(kind, info)) for kind, info in found]
    for kind, info, problem in problems:
        if problem is not None:
            name = f"{kind} {info.name}"
            remedy = f"reinstall or uninstall {info.distribution}"
            yield Check(name=name, status="warning", found=f"{info.origin}: {problem}", remedy=remedy)
    for sentence in stale_metadata():
        yield Check(name="metadata", status="warning", found=sentence, remedy="delete the folder")
    sound = sum(problem is None for _, _, problem in problems)
    yield Check(name="plugins", status="ok", found=f"{count(sound, 'plugin')} can be imported")


def _import(kind: str, info: PluginInfo) -> str | None:
    """Return why a plugin cannot be imported, or None if it can."""
    command = [sys.executable, "-c", _IMPORT, kind, info.name]
    try:
        done = subprocess.run(  # noqa: S603 - this very interpreter
            command, capture_output=True, timeout=PATIENCE_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"its import does not end within {PATIENCE_SECONDS:.0f} s"
    if done.returncode == 0:
        return None
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = lines[-1] if lines else f"its import ended the process with code {done.returncode}"
    return last.removeprefix("nodeagent.errors.").partition(": ")[2] or last


def _remedy(error: Exception) -> str | None:
    from nodeagent.errors import BackendError, ConfigError, PluginError

    if isinstance(error, ConfigError):
        return "correct the configuration; every problem is listed with its path"
    if isinstance(error, PluginError):
        return "reinstall the package that the sentence names"
    if isinstance(error, BackendError):
        return "see whether the store runs and is reachable with these settings"
    return None


def _ms_since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)
