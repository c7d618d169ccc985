"""One provider, behind typed calls whose answers are checked."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

import attrs
import pluggy
from attrs import field, frozen

from nodeagent import hookspecs
from nodeagent import ports as protocols
from nodeagent.clock import Clock
from nodeagent.errors import BrokenPlugin, NodeAgentError
from nodeagent.plugins.discovery import PROVIDERS, PluginInfo, find
from nodeagent.plugins.hooks import PREFIX, fit, implemented
from nodeagent.plugins.importing import broken, import_plugin
from nodeagent.plugins.names import listed
from nodeagent.ports import Connection
from nodeagent.records.capabilities import Capabilities
from nodeagent.records.maintenance import Check

PORTS: Final = MappingProxyType(
    {
        "transactions": protocols.Transactions,
        "lease_store": protocols.LeaseStore,
        "step_journal": protocols.StepJournal,
        "scheduler": protocols.Scheduler,
        "job_store": protocols.JobStore,
        "frame_store": protocols.FrameStore,
        "run_store": protocols.RunStore,
        "maintenance": protocols.Maintenance,
        "artifact_store": protocols.ArtifactStore,
        "wakeups": protocols.Wakeups,
        "tool_runtime": protocols.ToolRuntime,
        "policy": protocols.Policy,
        "model": protocols.Model,
    }
)
"""The protocol of every port, by the name of its hook without ``nodeagent_``."""

LEDGER: Final = tuple(PORTS)[:8]
"""The ports that a provider implements all or none."""

_CONNECTION: Final = ("now", "close", "__enter__", "__exit__")


@frozen(kw_only=True, eq=False)
class Provider:
    """A loaded provider.

    Every answer that does not fit the contract is a :class:`~nodeagent.BrokenPlugin`.
    """

    info: PluginInfo
    offers: frozenset[str]
    _hook: Any = field(alias="hook", repr=False)

    @property
    def name(self) -> str:
        """The name that users write."""
        return self.info.name

    @property
    def has_ledger(self) -> bool:
        """Say whether it implements the ledger ports."""
        return self.offers.issuperset(LEDGER)

    def settings_type(self) -> type:
        """Return the attrs class that is the schema of its settings."""
        found = self._call("settings")
        if not isinstance(found, type) or not attrs.has(found):
            raise self._broken(f"nodeagent_settings must return an attrs class, but returned {_say(found)}")
        return found

    def connect(self, settings: object, namespace: str, clock: Clock | None, ports: Sequence[str]) -> Connection:
        """Open a backend; see :func:`~nodeagent.hookspecs.nodeagent_connect`."""
        asked = {
            "settings": settings,
            "namespace": namespace,
            "clock": clock,
            "ports": tuple(ports),
        }
        connection: Connection = self._call("connect", **asked)
        self._check("connect", connection, _CONNECTION)
        if not isinstance(getattr(connection, "capabilities", None), Capabilities):
            connection.close()
            raise self._broken("its connection's capabilities must be a Capabilities record")
        return connection

    def doctor(self, settings: object, connection: Connection | None) -> tuple[Check, ...]:
        """Return what it found when it looked for trouble; nothing if it does not look."""
        checks = self._call("doctor", settings=settings, connection=connection)
        if checks is None:
            return ()
        if not isinstance(checks, (list, tuple)) or not all(isinstance(c, Check) for c in checks):
            raise self._broken(f"nodeagent_doctor must return a list of Check, but returned {_say(checks)}")
        return tuple(checks)

    def port(self, name: str, connection: Connection) -> Any:
        """Return its implementation of the port ``name``, one of :attr:`offers`."""
        port = self._call(name, connection=connection)
        self._check(name, port, [verb for verb in vars(PORTS[name]) if not verb.startswith("_")])
        return port

    def _call(self, hook: str, **arguments: object) -> Any:
        try:
            return getattr(self._hook, PREFIX + hook)(**arguments)
        except NodeAgentError:
            raise
        except Exception as error:
            # Not its text: a driver's message may hold a connection string.
            what = f"nodeagent_{hook} raised {type(error).__name__}, which is not an error of nodeagent"
            raise self._broken(what) from error

    def _check(self, hook: str, found: object, verbs: Sequence[str]) -> None:
        lacking = [verb for verb in verbs if not callable(getattr(found, verb, None))]
        if lacking:
            what = f"nodeagent_{hook} returned {_say(found)}, which lacks {', '.join(lacking)}"
            raise self._broken(what)

    def _broken(self, what: str) -> BrokenPlugin:
        return broken(self.info, "provider", what)


def load_provider(name: str) -> Provider:
    """Import the provider that users call ``name``, and no other, and check its hooks.

    Raises:
        UnknownProvider: nobody offers it.
        DuplicateProvider: more than one distribution does.
        IncompatiblePlugin: it speaks an API that this core does not accept.
        BrokenPlugin: it cannot be imported, or its hooks do not fit.

    """
    info = find(PROVIDERS, name, "provider")
    plugin = import_plugin(info, "provider")
    hooks = fit(info, "provider", plugin, hookspecs)
    _require_hooks(info, hooks)
    offers = implemented(hooks).intersection(PORTS)
    return Provider(info=info, offers=offers, hook=hooks.hook)


def _require_hooks(info: PluginInfo, hooks: pluggy.PluginManager) -> None:
    found = implemented(hooks)
    missing = [PREFIX + name for name in ("settings", "connect") if name not in found]
    if missing:
        raise broken(info, "provider", f"it does not implement {' and '.join(missing)}")
    absent = [PREFIX + name for name in LEDGER if name not in found]
    if 0 < len(absent) < len(LEDGER):
        what = f"the ledger ports are implemented all or none, but these are missing: {', '.join(absent)}"
        raise broken(info, "provider", what)
    if not found.intersection(PORTS):
        raise broken(info, "provider", f"it implements no port; there are {listed(PORTS)}")


def _say(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
