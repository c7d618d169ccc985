"""The files provider: artifacts in a folder, one file for each, named by its content.

It implements this one port. A file appears whole or not at all: it is written beside its place,
synced, moved there, and the folder is synced. No state is kept in memory, so any number of threads
and processes may share a folder, also after a fork.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodeagent import ArtifactStore, Check, Clock, Connection, hookimpl
from nodeagent.providers.files.artifacts import FileArtifacts
from nodeagent.providers.files.connection import FilesConnection, FilesSettings
from nodeagent.providers.files.doctor import checks

__all__ = ["FilesConnection", "FilesSettings"]


@hookimpl
def nodeagent_settings() -> type:
    """Return :class:`FilesSettings`."""
    return FilesSettings


@hookimpl
def nodeagent_connect(settings: object, namespace: str, clock: Clock | None, ports: Sequence[str]) -> Connection:
    """Open the namespace's folder, which is made if it is not there."""
    del ports  # there is but one
    return FilesConnection.open(settings, namespace, clock)


@hookimpl
def nodeagent_doctor(settings: object, connection: Connection | None) -> list[Check]:
    """Look at the folder, its permissions, the space left, and what crashes left behind."""
    del connection  # what can go wrong shows on the disk, also when opening failed
    return checks(settings) if isinstance(settings, FilesSettings) else []


@hookimpl
def nodeagent_artifact_store(connection: Connection) -> ArtifactStore:
    """Return the artifacts."""
    if not isinstance(connection, FilesConnection):
        raise TypeError(f"expected a FilesConnection, found {type(connection).__name__}")
    return FileArtifacts(connection)
