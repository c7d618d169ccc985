"""Plugins: found in the metadata of installed distributions, imported only when chosen.

Nothing here runs code of a plugin that was not asked for by name, so a broken neighbour disturbs
nobody. What is wrong with the one that *was* asked for is said in one sentence that names its
distribution and version: :class:`~nodeagent.UnknownProvider`,
:class:`~nodeagent.DuplicateProvider`, :class:`~nodeagent.IncompatiblePlugin` or
:class:`~nodeagent.BrokenPlugin`.
"""

from nodeagent.plugins.discovery import (
    PluginInfo,
    ProviderInfo,
    installed_extensions,
    installed_providers,
    stale_metadata,
)
from nodeagent.plugins.extension import Extension, load_extension
from nodeagent.plugins.names import nearest
from nodeagent.plugins.provider import LEDGER, PORTS, Provider, load_provider

__all__ = [
    "LEDGER",
    "PORTS",
    "Extension",
    "PluginInfo",
    "Provider",
    "ProviderInfo",
    "installed_extensions",
    "installed_providers",
    "load_extension",
    "load_provider",
    "nearest",
    "stale_metadata",
]
