"""The hooks of an extension, which adds to the tool without being a store.

An extension is a module that an entry point of group ``nodeagent.extensions`` names. It implements
one or both hooks with :data:`~nodeagent.hookimpl`, and is imported only when it is wanted: for a
command by the entry point's name, which is then the command's name too, and for an observer when
the configuration names it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pluggy
from attrs import frozen

from nodeagent.hookspecs import PROJECT

if TYPE_CHECKING:
    import click

Observe = Callable[[object], object]
"""What an observer is to the core: a call with one event, whose answer nobody reads."""

_log: Final = logging.getLogger(PROJECT)
_spec = pluggy.HookspecMarker(PROJECT)


@_spec
def nodeagent_observe(event: object) -> None:
    """See one event of the core, after what it tells of has been stored.

    Called on the thread that made the event, so it must return soon. What it raises is reported
    and changes nothing.
    """


@_spec
def nodeagent_commands(cli: click.Group) -> None:
    """Add commands to ``cli``; the one named like the entry point is what the user typed."""


@frozen
class Observers:
    """The observers of a configuration as one call, in the order in which they are named there.

    One that raises is reported as a warning on the logger ``nodeagent`` (without the error's text,
    which may hold a payload; the traceback goes to the debug level) and disturbs nobody.
    """

    named: tuple[tuple[str, Observe], ...] = ()

    def __call__(self, event: object) -> None:
        """Show ``event`` to every observer."""
        for name, observe in self.named:
            try:
                observe(event)
            except Exception as error:  # noqa: BLE001 - whatever it raises changes nothing
                _report(name, event, error)


def _report(name: str, event: object, error: Exception) -> None:
    kinds = type(event).__name__, type(error).__name__
    _log.warning("the observer %r failed on an event %s with %s; nothing was changed", name, *kinds)
    _log.debug("what the observer %r raised", name, exc_info=error)
