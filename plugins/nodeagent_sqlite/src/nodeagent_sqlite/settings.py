"""What a user may set for this provider."""

from __future__ import annotations

from pathlib import Path

from attrs import field, frozen, validators

DEFAULT_PATH = Path(".nodeagent/nodeagent.db")


@frozen(kw_only=True)
class SqliteSettings:
    """One database file.

    ``path`` is the file, made with mode 0600 if it is missing (``~`` is your home). ``busy_timeout_ms`` is how
    long a write waits for other processes before it gives up. ``wake_folder`` is where processes that share the
    file meet to wake each other (default: a private folder in the temporary folder); set it where they
    do not share one.
    """

    path: Path = field(default=DEFAULT_PATH, converter=Path)
    busy_timeout_ms: int = field(default=30_000, validator=validators.ge(1))
    wake_folder: Path | None = None
