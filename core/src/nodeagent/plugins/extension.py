"""One extension, behind typed calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from nodeagent import extensions
from nodeagent.plugins.discovery import EXTENSIONS, PluginInfo, find
from nodeagent.plugins.hooks import fit, implemented
from nodeagent.plugins.importing import broken, import_plugin

if TYPE_CHECKING:
    import click


@frozen(kw_only=True, eq=False)
class Extension:
    """A loaded extension; ``offers`` says which of *observe* and *commands* it implements."""

    info: PluginInfo
    offers: frozenset[str]
    _hook: Any = field(alias="hook", repr=False)

    @property
    def name(self) -> str:
        """The name that users write."""
        return self.info.name

    def observe(self, event: object) -> None:
        """Show it one event; raises whatever it raises (:class:`~nodeagent.extensions.Observers` does not)."""
        self._hook.nodeagent_observe(event=event)

    def commands(self, cli: click.Group) -> None:
        """Let it add its commands to ``cli``."""
        self._hook.nodeagent_commands(cli=cli)


def load_extension(name: str) -> Extension:
    """Import the extension ``name``, and no other, and check its hooks.

    Raises as :func:`load_provider` does.
    """
    info = find(EXTENSIONS, name, "extension")
    plugin = import_plugin(info, "extension")
    hooks = fit(info, "extension", plugin, extensions)
    offers = implemented(hooks)
    if not offers:
        raise broken(info, "extension", "it implements neither nodeagent_observe nor nodeagent_commands")
    return Extension(info=info, offers=offers, hook=hooks.hook)
