"""Fitting a plugin's functions to the hooks of the contract.

pluggy alone is silent about a misspelt hook, a forgotten marker and a coroutine function; each of
them would make a promise quietly disappear.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Final

import pluggy

from nodeagent.hookspecs import PROJECT
from nodeagent.plugins.discovery import PluginInfo
from nodeagent.plugins.importing import broken
from nodeagent.plugins.names import did_you_mean

PREFIX: Final = "nodeagent_"
FOREIGN: Final = frozenset({"nodeagent_testbed"})
"""Hooks that other packages of this project call, so a plugin may implement them too."""


def fit(info: PluginInfo, kind: str, plugin: object, specs: ModuleType) -> pluggy.PluginManager:
    """Register ``plugin`` in a manager of its own and return that.

    Raises: BrokenPlugin: a hook is misspelt, unmarked, asynchronous, or asks for an argument it
        does not get.

    """
    hooks = pluggy.PluginManager(PROJECT)
    hooks.add_hookspecs(specs)
    known = frozenset(name for name in dir(hooks.hook) if name.startswith(PREFIX))
    try:
        hooks.register(plugin, info.name)
    except pluggy.PluginValidationError as error:
        detail = " ".join(str(error).split("\n", 1)[-1].split())
        raise broken(info, kind, f"a hook does not fit: {detail}") from error
    problem = _unmarked(plugin, known) or _unknown(hooks, plugin, known) or _asynchronous(hooks, plugin)
    if problem is not None:
        raise broken(info, kind, problem)
    return hooks


def implemented(hooks: pluggy.PluginManager) -> frozenset[str]:
    """Return the names, without the prefix, of the hooks that somebody implements."""
    callers = {name: getattr(hooks.hook, name) for name in dir(hooks.hook) if name.startswith(PREFIX)}
    return frozenset(name.removeprefix(PREFIX) for name, caller in callers.items() if caller.get_hookimpls())


def _unmarked(plugin: object, known: frozenset[str]) -> str | None:
    for name in sorted(known):
        function = getattr(plugin, name, None)
        if inspect.isroutine(function) and not hasattr(function, f"{PROJECT}_impl"):
            return f"{name} is not marked as a hook; write @hookimpl above it"
    return None


def _unknown(hooks: pluggy.PluginManager, plugin: object, known: frozenset[str]) -> str | None:
    for caller in sorted(hooks.get_hookcallers(plugin) or [], key=lambda caller: caller.name):
        optional = all(impl.optionalhook for impl in caller.get_hookimpls())
        if not caller.has_spec() and not optional and caller.name not in FOREIGN:
            return f"{caller.name} is not a hook of nodeagent{did_you_mean(caller.name, known)}"
    return None


def _asynchronous(hooks: pluggy.PluginManager, plugin: object) -> str | None:
    for caller in hooks.get_hookcallers(plugin) or []:
        for impl in caller.get_hookimpls():
            function = impl.function
            if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
                return f"{caller.name} is asynchronous, but hooks and ports are synchronous"
    return None
