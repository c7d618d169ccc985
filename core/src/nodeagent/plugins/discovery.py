"""Which plugins are installed, read from metadata alone.

Two copies of one *distribution* are one plugin: the first on the path wins, as it does for an
import. Two *distributions* with one plugin name are a conflict that only a person can settle: an
installed package never takes over the name of another.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import evolve, field, frozen

from nodeagent.errors import DuplicateProvider, UnknownProvider
from nodeagent.plugins.names import listed, nearest, normalised

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

PROVIDERS: Final = "nodeagent.providers"
EXTENSIONS: Final = "nodeagent.extensions"
FIRST_PARTY: Final = ("sqlite", "postgres", "redis", "aws")
"""Providers of this project that are packages of their own, ``nodeagent-<name>``."""

_METADATA: Final = ("METADATA", "PKG-INFO")
_MODULE: Final = re.compile(r"\s*([\w.]+)\s*(?::\s*[\w.]+\s*)?(?:\[.*\])?\s*")


@frozen(kw_only=True)
class PluginInfo:
    """One entry point, as its metadata tells it; nothing was imported.

    ``problem`` says what is already known to be wrong with it. Unless ``is_live`` it is a leftover:
    metadata without a package, or a copy behind the one that Python imports; it is never loaded.
    """

    name: str
    distribution: str
    version: str
    module: str
    problem: str | None = None
    is_live: bool = True
    group: str = field(default=PROVIDERS, repr=False)
    folder: str = field(default="", repr=False)

    @property
    def origin(self) -> str:
        """The distribution and its version, for a sentence."""
        return f"{self.distribution} {self.version}"

    @property
    def entry_point(self) -> EntryPoint:
        """The entry point, which can be loaded."""
        from importlib.metadata import EntryPoint  # noqa: PLC0415 - as below

        return EntryPoint(self.name, self.module, self.group)


ProviderInfo: TypeAlias = PluginInfo


def installed_providers() -> tuple[PluginInfo, ...]:
    """Return every provider that the installed distributions declare, by name; imports none of them."""
    return _scan(PROVIDERS)


def installed_extensions() -> tuple[PluginInfo, ...]:
    """Return every extension that the installed distributions declare, by name; imports none of them."""
    return _scan(EXTENSIONS)


def stale_metadata() -> tuple[str, ...]:
    """Return a sentence for each leftover of a removed ``nodeagent`` distribution on the path."""
    folders = sorted({_folder(dist) for dist in _distributions() if not _is_installed(dist)})
    ours = [path for path in folders if normalised(PurePath(path).name).startswith("nodeagent")]
    return tuple(f"{path} is left over from a removed package; delete it" for path in ours)


def find(group: str, name: str, kind: str) -> PluginInfo:
    """Return the one live plugin of this name; ``kind`` is the word for it in a message.

    Raises:
        UnknownProvider: there is none.
        DuplicateProvider: there are several, or they differ only by case or separators.

    """
    live = [info for info in _scan(group) if info.is_live]
    same = [info for info in live if normalised(info.name) == normalised(name)]
    if len(same) > 1:
        raise _duplicate(same, kind)
    if not same or same[0].name != name:
        raise UnknownProvider(_unknown(name, [info.name for info in live], kind))
    return same[0]


def _duplicate(same: list[PluginInfo], kind: str) -> DuplicateProvider:
    offers = " and ".join(f"{info.origin} ({info.name!r})" for info in same)
    both = ", ".join(sorted({info.distribution for info in same}))
    return DuplicateProvider(
        f"the {kind} {same[0].name!r} is offered more than once: by {offers}; uninstall all but one",
        distribution=both,
    )


def _unknown(name: str, installed: list[str], kind: str) -> str:
    sentence = f"no installed distribution offers the {kind} {name!r}; installed: {listed(installed)}"
    known = FIRST_PARTY if kind == "provider" else ()
    near = name if name in known else nearest(name, {*installed, *known})
    added = f"pip install nodeagent-{near} adds it" if near in known and near not in installed else ""
    if near is not None and near != name:
        return f"{sentence}; did you mean {near!r}?{added and f' {added}'}"
    return f"{sentence}{added and f'; {added}'}"


# --- reading the path ---------------------------------------------------------------------------


def _scan(group: str) -> tuple[PluginInfo, ...]:
    found: dict[tuple[str, ...], PluginInfo] = {}
    for dist in _distributions():
        for info in _declared(dist, group):
            # A folder that is on the path twice is met twice.
            found.setdefault((os.path.realpath(info.folder), info.name, info.module), info)
    return _with_conflicts(sorted(found.values(), key=_order))


def _distributions(name: str | None = None) -> Iterator[Distribution]:
    # It takes a tenth of the time that a command may take to start, and --help needs none of it.
    from importlib.metadata import distributions  # noqa: PLC0415

    yield from distributions(name=name)


def _order(info: PluginInfo) -> tuple[str, ...]:
    return (normalised(info.name), info.name, normalised(info.distribution), info.version)


def _declared(dist: Distribution, group: str) -> Iterator[PluginInfo]:
    """Yield the entry points of one copy of one distribution; an unreadable file declares nothing."""
    if group not in _text(dist, "entry_points.txt"):
        return
    folder = _folder(dist)
    name, version = _identity(dist, folder)
    problem = _leftover(dist, name, folder)
    for point in dist.entry_points.select(group=group):
        yield PluginInfo(
            name=point.name,
            distribution=name,
            version=version,
            module=point.value,
            problem=problem or _missing_module(point.value),
            is_live=problem is None,
            group=group,
            folder=folder,
        )


def _leftover(dist: Distribution, name: str, folder: str) -> str | None:
    """Say why this copy is not the one that is installed, or None if it is."""
    if not _is_installed(dist):
        return f"{folder} is left over from a removed package; delete it"
    first = _folder(_first(dist, name))
    if os.path.realpath(first) == os.path.realpath(folder):
        return None
    return f"the copy in {folder} is hidden by the one in {first}; uninstall it or delete the folder"


def _first(dist: Distribution, name: str) -> Distribution:
    """Return the copy of a distribution that counts: first on the path, there the newest version."""
    copies = [copy for copy in _distributions(name=name) if _is_installed(copy)]
    beside = [copy for copy in copies if _parent(copy) == _parent(copies[0])]
    return max(beside, key=lambda copy: _numbers(copy.version), default=dist)


def _with_conflicts(infos: list[PluginInfo]) -> tuple[PluginInfo, ...]:
    """Tell each live plugin of a contested name about its rivals."""
    live = [info for info in infos if info.is_live]
    marked = []
    for info in infos:
        rivals = [
            other.origin
            for other in live
            if info.is_live and other is not info and normalised(other.name) == normalised(info.name)
        ]
        problem = f"also offered by {' and '.join(rivals)}; uninstall all but one" if rivals else None
        marked.append(evolve(info, problem=problem or info.problem))
    return tuple(marked)


def _missing_module(value: str) -> str | None:
    """Look for the top-level package without importing it."""
    match = _MODULE.fullmatch(value)
    if match is None:
        return f"its entry point names no module: {value!r}"
    top = match[1].partition(".")[0]
    try:
        found = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        found = None
    return None if found is not None else f"its module {top!r} is not on the path"


def _is_installed(dist: Distribution) -> bool:
    return any(_text(dist, name) for name in _METADATA)


def _identity(dist: Distribution, folder: str) -> tuple[str, str]:
    """Return name and version, from the folder's name if the metadata is gone."""
    if _is_installed(dist):
        return dist.metadata["Name"] or "unnamed", dist.metadata["Version"] or "unknown"
    stem = PurePath(folder).name.removesuffix(".dist-info").removesuffix(".egg-info")
    name, _, version = stem.partition("-")
    return name, version or "unknown"


def _text(dist: Distribution, name: str) -> str:
    try:
        return dist.read_text(name) or ""
    except (OSError, UnicodeError):
        return ""


def _folder(dist: Distribution) -> str:
    return str(getattr(dist, "_path", dist.locate_file("")))


def _parent(dist: Distribution) -> str:
    return os.path.realpath(str(dist.locate_file("")))


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]
