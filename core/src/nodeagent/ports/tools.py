"""Running tools behind a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nodeagent.lossless import Json
from nodeagent.records.policy import Allow, Deny, PolicyContext, ToolCall, ToolNeeds


class Policy(Protocol):
    """Decides whether a call may run."""

    def authorize(self, context: PolicyContext, tool: ToolNeeds, call: ToolCall) -> Allow | Deny:
        """Decide before the effect, from the stored context alone."""
        ...


class ToolRuntime(Protocol):
    """Runs a typed tool whose call was allowed."""

    def run(self, call: ToolCall, body: Callable[[Json], Json]) -> Json:
        """Run ``body`` on the call's input and return its result as lossless JSON."""
        ...
