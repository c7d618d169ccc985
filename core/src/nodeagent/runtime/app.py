"""An application: the runners that its frames name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from nodeagent.errors import Invalid
from nodeagent.records.ids import check_id
from nodeagent.runtime.runners import Runner

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.clock import Clock
    from nodeagent.config import Config
    from nodeagent.runtime.client import Runtime

R = TypeVar("R", bound=Runner)


class App:
    """Names the runners of an application. A worker that imports it claims only jobs of these runners."""

    def __init__(self) -> None:
        self._runners: dict[str, Runner] = {}

    @property
    def runners(self) -> Mapping[str, Runner]:
        """The runners by name."""
        return MappingProxyType(self._runners)

    def runner(self, name: str) -> Callable[[R], R]:
        """Register a plain or ``async def`` function as the runner of this name.

        It takes a :class:`FrameContext` (an :class:`AsyncFrameContext` if it is ``async def``) and returns an
        :class:`Answer`.
        """
        check_id("a runner's name", name)

        def register(function: R) -> R:
            self.add_runner(name, function)
            return function

        return register

    def add_runner(self, name: str, function: Runner) -> None:
        """Register ``function`` as the runner ``name``; a name is taken once."""
        if name in self._runners:
            raise Invalid(f"runner {name!r}", "is registered twice; give the second one another name")
        if not callable(function):
            raise Invalid(f"runner {name!r}", f"must be a function, but is of type {type(function).__name__}")
        self._runners[name] = function

    def open(
        self,
        config: Config | str | Path | None = None,
        *,
        backend: Backend | None = None,
        clock: Clock | None = None,
    ) -> Runtime:
        """Open the configured backend (or take an open one) and return the application's runtime.

        ``config`` is a loaded configuration, or the folder to look for one in (default: the working directory).
        """
        from nodeagent.runtime.client import open_runtime  # noqa: PLC0415 - an app is imported without a backend

        return open_runtime(self, config, backend=backend, clock=clock)
