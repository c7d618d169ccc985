"""The files provider's settings and connection."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import define, field, frozen

from nodeagent import Capabilities, Clock, HostClock, Ms
from nodeagent.providers.files.disk import make_folder, told
from nodeagent.providers.files.places import folder_of

CAPABILITIES: Final = Capabilities(
    shared=True,
    durable=True,
    round_trips=dict.fromkeys(("artifact_store.put", "artifact_store.get", "artifact_store.stat"), 1),
)


@frozen(kw_only=True)
class FilesSettings:
    """``path`` is the folder that holds the artifacts of all namespaces; it is made if needed."""

    path: Path = field(default=Path(".nodeagent/artifacts"), converter=Path)


@define(eq=False)
class FilesConnection:
    """A namespace's folder and a clock. There is nothing to keep open."""

    folder: Path
    clock: Clock
    capabilities: Capabilities = field(default=CAPABILITIES, init=False)

    @classmethod
    def open(cls, settings: object, namespace: str, clock: Clock | None) -> FilesConnection:
        """Make the folder, so that a wrong path is told at once; a later ``chdir`` does not move it."""
        if not isinstance(settings, FilesSettings):
            raise TypeError(f"expected FilesSettings, found {type(settings).__name__}")
        folder = settings.path.absolute() / folder_of(namespace)
        with told(folder):
            make_folder(folder)
        return cls(folder, HostClock() if clock is None else clock)

    def now(self) -> Ms:
        """Return the time of the clock."""
        return self.clock.now()

    def close(self) -> None:
        """Do nothing: no file stays open between calls."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
