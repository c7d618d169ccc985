"""Importing one plugin, without letting its import time leak out."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

from nodeagent import hookspecs
from nodeagent.errors import BrokenPlugin, IncompatiblePlugin
from nodeagent.plugins.discovery import PluginInfo

_LONGEST: Final = 200


def import_plugin(info: PluginInfo, kind: str) -> object:
    """Import the module (or load the object) that an entry point names, and check its API number.

    What it prints goes to stderr, so that a machine-readable answer on stdout stays whole. Anything
    it raises is a :class:`BrokenPlugin`, also SystemExit; only a Ctrl-C of the user's goes through.
    """
    interrupts: list[int] = []
    try:
        with contextlib.redirect_stdout(sys.stderr), _noting(interrupts):
            plugin: object = info.entry_point.load()
    except BaseException as error:
        if interrupts:
            raise
        raise _cannot_import(info, kind, error) from error
    _check_api(info, kind, plugin)
    return plugin


def broken(info: PluginInfo, kind: str, what: str) -> BrokenPlugin:
    """Say what is wrong with a plugin."""
    return BrokenPlugin(
        f"the {kind} {info.name!r} of {info.origin} is broken: {what}",
        distribution=info.distribution,
        version=info.version,
    )


def _cannot_import(info: PluginInfo, kind: str, error: BaseException) -> BrokenPlugin:
    cause = " ".join(f"{type(error).__name__}: {error}".split())
    cause = cause if len(cause) <= _LONGEST else f"{cause[: _LONGEST - 3]}..."
    if info.problem is not None and not isinstance(error, ImportError):
        cause = f"{type(error).__name__}: {info.problem}"
    return broken(info, kind, f"importing {info.module!r} failed with {cause}")


def _check_api(info: PluginInfo, kind: str, plugin: object) -> None:
    newest = hookspecs.API_VERSION
    accepted = range(max(1, newest - 1), newest + 1)
    spoken = getattr(plugin, "NODEAGENT_API", 1)
    if type(spoken) is not int:
        raise broken(info, kind, f"NODEAGENT_API must be an integer, but is of type {_name(spoken)}")
    if spoken not in accepted:
        numbers = " and ".join(map(str, accepted))
        remedy = "nodeagent" if spoken > newest else info.distribution
        raise IncompatiblePlugin(
            f"the {kind} {info.name!r} of {info.origin} speaks plugin API {spoken},"
            f" but this nodeagent accepts {numbers}; upgrade {remedy}",
            distribution=info.distribution,
            version=info.version,
        )


def _name(value: object) -> str:
    return type(value).__name__


@contextlib.contextmanager
def _noting(interrupts: list[int]) -> Iterator[None]:
    """Note each SIGINT that arrives, so that a module which raises KeyboardInterrupt is not taken for one.

    Python delivers a Ctrl-C to its handler in the main thread and nowhere else.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        # A plugin that installs a handler of its own keeps it.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, before)
