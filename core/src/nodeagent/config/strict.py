"""Tables of TOML into attrs classes, without coercion and without silence.

cattrs by default ignores unknown keys and makes ``"7"`` of ``7``. Here an unknown key is a problem
with the nearest valid name, a scalar must have the type that is asked for (an integer may stand for
a float), and every problem has its path. No message holds a string that was given,
because each may be a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodeagent.errors import ConfigError

if TYPE_CHECKING:
    from nodeagent.plugins import Provider


def structured(
    provider: Provider, settings: Mapping[str, object], path: str = "", folder: Path | None = None
) -> object:
    """Return an instance of the provider's settings class.

    ``path`` is where the settings stand in the configuration, ``folder`` what paths in them are
    relative to. Raises :class:`ConfigError` with every problem.
    """
    value, problems = structure(provider.settings_type(), dict(settings), path, folder)
    if problems:
        raise ConfigError(problems)
    return value


def structure(kind: Any, value: object, path: str, folder: Path | None = None) -> tuple[Any, list[str]]:
    """Return ``value`` as a ``kind`` and no problems, or None and what is wrong with it."""
    # cattrs takes long to import, and many commands structure nothing.
    from nodeagent.config import converter, faults  # noqa: PLC0415

    try:
        return converter.strict(folder).structure(value, kind), []
    except Exception as error:  # noqa: BLE001 - validators of plugins raise what they like
        return None, [f"{at}: {what}" for at, what in faults.told(error, path, value)]
