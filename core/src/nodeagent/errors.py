"""Every error that nodeagent raises, in one tree.

::

    NodeAgentError
    ├─ ConfigError            .problems: every one, with its path
    ├─ Invalid                .what: a value outside what the contract allows, refused at construction
    ├─ PluginError            .distribution .version
    │  ├─ UnknownProvider
    │  ├─ BrokenPlugin
    │  ├─ DuplicateProvider
    │  └─ IncompatiblePlugin
    ├─ BackendError           the store failed, not the caller
    │  ├─ Unavailable         nothing happened; try again
    │  ├─ OutcomeUnknown      it may have happened; ask again with the same commit id
    │  ├─ Corrupt             a stored record is not what was written
    │  └─ SchemaMismatch      .found .wanted
    ├─ PortError              the store answered, and the answer is no
    │  ├─ Conflict            .kind .key .expected .found
    │  ├─ Fenced              .resource .token .mark .reason
    │  ├─ LeaseLost           .resource .token .reason
    │  ├─ NotFound
    │  ├─ TooLarge            .what .size .limit
    │  └─ Unsupported         .what
    ├─ PolicyDenied           .rule .missing
    └─ DurabilityError
       ├─ NotLossless         .path
       ├─ UnknownOutcome
       ├─ Diverged
       └─ Aborted

A message is one sentence: what was expected, what was found, what to do. No message carries a
secret, a connection string or a payload; ids and names are quoted with :func:`repr`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

ConflictKind = Literal["revision", "exists", "missing", "written"]
LossReason = Literal["unknown", "released", "revoked", "taken"]

LONGEST_QUOTE: Final = 200
"""How much of an id a message shows."""


class NodeAgentError(Exception):
    """Anything that nodeagent raises on purpose."""


class ConfigError(NodeAgentError, ValueError):
    """The configuration is wrong; ``problems`` lists every fault, each with its path."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        head = "the configuration has 1 problem:" if count == 1 else f"the configuration has {count} problems:"
        super().__init__("\n  - ".join([head, *self.problems]))


class Invalid(NodeAgentError, ValueError):
    """A value that no record may hold, refused before anything is sent; ``what`` names the field."""

    def __init__(self, what: str, problem: str) -> None:
        self.what = what
        super().__init__(f"{what} {problem}")


class PluginError(NodeAgentError):
    """A plugin cannot be used; ``distribution`` and ``version`` name the guilty package."""

    def __init__(self, message: str, *, distribution: str | None = None, version: str | None = None) -> None:
        self.distribution = distribution
        self.version = version
        super().__init__(message)


class UnknownProvider(PluginError, LookupError):
    """No installed distribution offers a provider of this name."""


class BrokenPlugin(PluginError, ImportError):
    """The plugin's module cannot be imported, or its hooks do not fit the contract."""


class DuplicateProvider(PluginError):
    """Two distributions offer a provider of one name."""


class IncompatiblePlugin(PluginError):
    """The plugin speaks a version of the provider API that this core does not accept."""


class BackendError(NodeAgentError):
    """The store failed. Nothing is known about the caller's request beyond what the subclass says."""


class Unavailable(BackendError, ConnectionError):
    """The store could not be reached or was too busy; nothing happened, and trying again may work."""


class OutcomeUnknown(BackendError):
    """The request may or may not have been applied: ask again with the same commit id or claim id."""


class Corrupt(BackendError):
    """A stored record is not what was written: it needs an operator, trying again does not help."""


class SchemaMismatch(BackendError):
    """The store's schema is not the one this version of the plugin works with."""

    def __init__(self, message: str, *, found: int | None, wanted: int) -> None:
        self.found = found
        self.wanted = wanted
        super().__init__(message)


class PortError(NodeAgentError):
    """The store understood the request and refused it; nothing was written."""


class Conflict(PortError):
    """A precondition of a commit did not hold.

    ``kind`` is *revision* (another version is stored), *exists* (it must not), *missing* (it must)
    or *written* (a write-once key is taken). ``found`` is the stored header or entry, None if missing.
    """

    def __init__(
        self,
        kind: ConflictKind,
        key: object,
        *,
        expected: object = None,
        found: object = None,
        message: str | None = None,
    ) -> None:
        self.kind: ConflictKind = kind
        self.key = key
        self.expected = expected
        self.found = found
        super().__init__(message or _CONFLICTS[kind].format(key=_quote(key)))


_CONFLICTS: dict[ConflictKind, str] = {
    "revision": "{key} was changed by somebody else since it was read; read it again and decide anew",
    "exists": "{key} must not exist, but it does; read what is stored or choose another id",
    "missing": "{key} must exist, but nothing is stored under it; it was purged or never written",
    "written": "{key} is write-once and somebody else's entry is stored there; use that entry",
}


class Fenced(PortError):
    """The fence does not hold: the lease was released, revoked or claimed again, so nothing was written."""

    def __init__(self, resource: tuple[str, ...], token: int, mark: int | None, reason: LossReason) -> None:
        self.resource = resource
        self.token = token
        self.mark = mark
        self.reason: LossReason = reason
        super().__init__(
            f"token {token} no longer holds {_quote(resource)}: {_LOSSES[reason]}"
            f" (the highest token is {mark if mark is not None else 'none'}); stop this work"
        )


class LeaseLost(PortError):
    """The lease is no longer held, so it cannot be renewed."""

    def __init__(self, resource: tuple[str, ...], token: int, reason: LossReason) -> None:
        self.resource = resource
        self.token = token
        self.reason: LossReason = reason
        super().__init__(
            f"the lease of {_quote(resource)} with token {token} is lost: {_LOSSES[reason]}; stop this work"
        )


_LOSSES: dict[LossReason, str] = {
    "unknown": "no such lease is stored",
    "released": "it was released",
    "revoked": "it was revoked",
    "taken": "it was claimed again",
}


class NotFound(PortError, LookupError):
    """Nothing is stored under this id."""


class TooLarge(PortError, ValueError):
    """A request is over a declared limit; refused before any I/O."""

    def __init__(self, what: str, size: int, limit: int) -> None:
        self.what = what
        self.size = size
        self.limit = limit
        super().__init__(f"{what} is {size} but the limit is {limit}; make it smaller or store it as an artifact")


class Unsupported(PortError, NotImplementedError):
    """The provider does not declare the capability that guards this call."""

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)


class PolicyDenied(NodeAgentError, PermissionError):
    """The policy refused a call; ``rule`` names the rule and ``missing`` what would satisfy it."""

    def __init__(self, rule: str, missing: Sequence[str] = ()) -> None:
        self.rule = rule
        self.missing = tuple(missing)
        wanted = f"; missing: {', '.join(self.missing)}" if self.missing else ""
        super().__init__(f"the policy's rule {rule!r} refused the call{wanted}")


class DurabilityError(NodeAgentError):
    """The durable context cannot keep its promise for this call."""


class NotLossless(DurabilityError, ValueError):
    """A value would not come back equal and of the same type; ``path`` leads to the offending part."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"the value at {path} cannot be stored without loss: {reason}")


class UnknownOutcome(DurabilityError):
    """An effect was begun and nobody can tell whether it happened."""


class Diverged(DurabilityError):
    """A replay asked for other steps than were recorded."""


class Aborted(DurabilityError):
    """The work was given up before its result was recorded; nothing was recorded by this call."""


def _quote(value: object) -> str:
    """Render an id for a message, bounded so that a hostile id cannot flood a log."""
    text = repr(tuple(value)) if isinstance(value, tuple) else repr(value)
    return text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 3]}..."
