"""Who may do what: the context that travels with a job, a tool call, and a policy's answer."""

from __future__ import annotations

from typing import Any

from attrs import field, frozen

from nodeagent.errors import Invalid
from nodeagent.lossless import Json
from nodeagent.records.ids import an_id, an_optional_count, check_id


def _names(_: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, tuple):
        raise Invalid(attribute.name, f"must be a tuple of names, but is of type {type(value).__name__}")
    for name in value:
        check_id(attribute.name, name)


@frozen(kw_only=True)
class PolicyContext:
    """The bounds of a job's effects: who asks, for whom, and how far they may go.

    ``egress`` lists the hosts that may be contacted, ``spend_limit`` the units that may be spent by
    the whole job (None: no limit). It holds no credential.
    """

    principal_id: str = field(default="anonymous", validator=an_id)
    tenant_id: str = field(default="default", validator=an_id)
    scopes: tuple[str, ...] = field(default=(), validator=_names)
    egress: tuple[str, ...] = field(default=(), validator=_names)
    spend_limit: int | None = field(default=None, validator=an_optional_count)


@frozen(kw_only=True)
class ToolCall:
    """One call of a tool: its stable id, and its input as lossless JSON."""

    call_id: str = field(validator=an_id)
    tool: str = field(validator=an_id)
    input: Json = field(repr=False)


@frozen(kw_only=True)
class ToolNeeds:
    """What a tool declares that it needs before it may run."""

    scopes: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    cost: int = 0


@frozen
class Allow:
    """The call may run."""


@frozen
class Deny:
    """The call may not run: ``rule`` refused it, ``missing`` would satisfy the rule."""

    rule: str
    missing: tuple[str, ...] = ()
