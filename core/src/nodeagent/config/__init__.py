"""The configuration: where it is found, what it may say, and every problem of it at once.

:func:`load` reads the first of these that there is:

1. the file that ``NODEAGENT_CONFIG`` names, which must then exist;
2. ``nodeagent.toml``, or else the table ``[tool.nodeagent]`` of ``pyproject.toml``, in the working
   directory or in the nearest directory above it that has one;
3. nothing: the backend is SQLite at ``./.nodeagent/nodeagent.db``.

A relative path (a provider's setting of type :class:`pathlib.Path`, a ``{ file = … }``) is relative
to the directory of the file that names it, so that a command means the same in every subdirectory;
without a file, to the working directory. Only the backend that is selected and those that
``[ports]`` names are checked against their providers: the others may need packages and secrets that
are not here.
"""

from nodeagent.config.loading import load
from nodeagent.config.model import PORT_KEYS, BackendConfig, Config, WorkerConfig
from nodeagent.config.strict import structured

__all__ = ["PORT_KEYS", "BackendConfig", "Config", "WorkerConfig", "load", "structured"]
