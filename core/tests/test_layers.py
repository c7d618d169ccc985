"""Imports point down, the core has no driver, and providers and evidence live on the public names alone."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import nodeagent

CORE = Path(__file__).parents[1]
SOURCE = CORE / "src"
PLUGINS = sorted((CORE.parent / "plugins").glob("*/src"))

LAYERS = (
    ("errors", "lossless", "clock", "keys"),
    ("records",),
    ("rules",),
    ("ports",),
    ("hookspecs",),
    ("extensions",),
    ("plugins",),
    ("config",),
    ("backend",),
    ("runtime", "testing"),
    ("evidence",),
    ("cli",),
)
"""From the bottom to the top."""
RANKS = {name: rank for rank, names in enumerate(LAYERS) for name in names}
BASE = {"keys": {"errors"}, "lossless": {"errors"}, "errors": set[str](), "clock": set[str]()}
"""What the modules of the lowest layer may import of each other."""
PUBLIC_ONLY = ("evidence", "providers")
"""Parts that are written on the public names, as a third party would."""
THIRD_PARTY = {"attr", "attrs", "cattrs", "click", "pluggy", "rich"}
SQLITE_IN = "nodeagent.evidence.rank"
"""The one place of the core that may use ``sqlite3``: for ranking in memory, not for storing."""


# --- what a module imports ------------------------------------------------------------------------


def _imports(tree: ast.AST, module: str, *, is_package: bool) -> Iterator[str]:
    """Yield the full name of everything imported, wherever the import stands; ``a.b`` for ``from a import b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                names = module.split(".")
                parents = names[: len(names) - node.level + is_package]
                base = ".".join([*parents, *([base] if base else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)


def _attributes(tree: ast.AST) -> Iterator[str]:
    """Yield the names that are read as attributes of ``nodeagent`` itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "nodeagent":
            yield node.attr


def _part(name: str) -> str:
    """The part of the core that a full name belongs to, empty for the package itself."""
    parts = name.split(".")
    is_inside = len(parts) > 1 and (parts[1] in RANKS or parts[1] == "providers")
    return parts[1] if parts[0] == "nodeagent" and is_inside else ""


# --- the rules ------------------------------------------------------------------------------------


def faults_of(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """What a module of the core imports that it must not."""
    tree, part = ast.parse(source), _part(module)
    imported = sorted(set(_imports(tree, module, is_package=is_package)))
    foreign = [name for name in imported if not _may_be_foreign(name, module)]
    if part in PUBLIC_ONLY:
        return foreign + _faults_in_public_use(tree, imported, own=".".join(module.split(".")[:3]), part=part)
    if module in ("nodeagent", "nodeagent.__main__", "nodeagent.public"):
        return foreign
    return foreign + [name for name in imported if name.startswith("nodeagent") and not _points_down(name, part)]


def _may_be_foreign(name: str, module: str) -> bool:
    top = name.partition(".")[0]
    if top == "sqlite3":
        return module == SQLITE_IN
    return top in THIRD_PARTY or top == "nodeagent" or top in sys.stdlib_module_names


def _points_down(name: str, part: str) -> bool:
    other = _part(name)
    if part in BASE:
        return other == part or other in BASE[part]
    if not other:  # the package itself, which imports nearly everything, or its public names
        return part == "cli"
    return other == part or RANKS.get(other, len(LAYERS)) < RANKS[part] or {other, part} == {"runtime", "testing"}


def _faults_in_public_use(tree: ast.AST, imported: list[str], *, own: str, part: str) -> list[str]:
    """What is used of nodeagent that is not public. ``own`` names the package that may use itself."""
    own = own if part == "providers" else f"nodeagent.{part}" if part else own
    ours = [name for name in imported if name.partition(".")[0] == "nodeagent" and not f"{name}.".startswith(f"{own}.")]
    wrong = [name for name in ours if name != "nodeagent" and name.removeprefix("nodeagent.") not in nodeagent.__all__]
    return wrong + [f"nodeagent.{name}" for name in _attributes(tree) if name not in nodeagent.__all__]


def faults_of_plugin(module: str, source: str, *, is_package: bool = False) -> list[str]:
    """What a plugin imports that is private to the core, or belongs to another plugin."""
    tree, own = ast.parse(source), module.partition(".")[0]
    imported = sorted(set(_imports(tree, module, is_package=is_package)))
    tops = {name.partition(".")[0] for name in imported}
    others = sorted(top for top in tops if top.startswith("nodeagent_") and top != own)
    return others + _faults_in_public_use(tree, imported, own=own, part="")


# --- the code -------------------------------------------------------------------------------------


def _modules(source: Path) -> list[tuple[str, Path]]:
    """Name and file of every module below ``source``."""
    found = []
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        found.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def test_imports_of_the_core_point_down() -> None:
    """No upward import, no driver, and no private name in evidence and providers."""
    faults = {
        name: wrong
        for name, path in _modules(SOURCE)
        if (wrong := faults_of(name, path.read_text("utf-8"), is_package=path.stem == "__init__"))
    }

    assert not faults


def test_every_part_of_the_core_has_a_layer() -> None:
    """A new folder is given its place here."""
    parts = {path.stem for path in (SOURCE / "nodeagent").iterdir() if path.suffix in ("", ".py")}

    assert parts - {"__init__", "__main__", "__pycache__", "providers", "public", "py"} <= set(RANKS)


@pytest.mark.parametrize("source", PLUGINS, ids=lambda path: path.parent.name)
def test_plugins_use_public_names_alone(source: Path) -> None:
    """As a third party's would, and no plugin imports another."""
    faults = {
        name: wrong
        for name, path in _modules(source)
        if (wrong := faults_of_plugin(name, path.read_text("utf-8"), is_package=path.stem == "__init__"))
    }

    assert not faults


# --- the rules themselves -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "source", "fault"),
    [
        ("nodeagent.records.job", "from nodeagent.rules.jobs import finish", "nodeagent.rules.jobs.finish"),
        ("nodeagent.rules.jobs", "def f():\n    import nodeagent.runtime.worker", "nodeagent.runtime.worker"),
        ("nodeagent.ports.model", "from ..config import load", "nodeagent.config.load"),
        ("nodeagent.records", "from ..rules import jobs", "nodeagent.rules.jobs"),
        ("nodeagent.plugins.hooks", "from nodeagent import backend", "nodeagent.backend"),
        ("nodeagent.runtime.worker", "from nodeagent import Commit", "nodeagent.Commit"),
        ("nodeagent.runtime.worker", "from nodeagent.evidence import run", "nodeagent.evidence.run"),
        ("nodeagent.keys", "from nodeagent.clock import Ms", "nodeagent.clock.Ms"),
        ("nodeagent.lossless", "from nodeagent.records import Page", "nodeagent.records.Page"),
        ("nodeagent.runtime.worker", "import psycopg", "psycopg"),
        ("nodeagent.providers.memory.store", "import sqlite3", "sqlite3"),
        ("nodeagent.evidence.rank", "import boto3", "boto3"),
        ("nodeagent.evidence.rank", "from nodeagent.records import Page", "nodeagent.records.Page"),
        ("nodeagent.providers.memory", "from nodeagent.records.ids import check_id", "nodeagent.records.ids.check_id"),
        ("nodeagent.providers.memory", "from nodeagent.providers.files import x", "nodeagent.providers.files.x"),
        ("nodeagent.providers.memory", "import nodeagent\nnodeagent.records", "nodeagent.records"),
        ("nodeagent.providers.memory", "from nodeagent import _private", "nodeagent._private"),
    ],
)
def test_a_fault_of_the_core_is_found(module: str, source: str, fault: str) -> None:
    """Every rule has something that breaks it."""
    assert faults_of(module, source, is_package=module == "nodeagent.records") == [fault]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("nodeagent.rules.jobs", "from nodeagent.records import Page\nfrom nodeagent.rules.retry import x"),
        ("nodeagent.plugins", "from nodeagent import hookspecs"),
        ("nodeagent.testing.clock", "from nodeagent.runtime.worker import Worker"),
        ("nodeagent.evidence.rank", "import sqlite3\nfrom nodeagent import Answer\nfrom nodeagent.evidence import x"),
        ("nodeagent.providers.memory.store", "import attrs\nfrom . import seats\nfrom nodeagent import Commit"),
        ("nodeagent.providers.memory", "import nodeagent\nnodeagent.Commit"),
        ("nodeagent.cli.main", "import click\nimport nodeagent\nfrom nodeagent.evidence import run"),
    ],
)
def test_what_is_allowed_is_no_fault(module: str, source: str) -> None:
    """Down, sideways within a part, and through the front door."""
    assert faults_of(module, source) == []


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ("from nodeagent import Commit, hookimpl\nimport psycopg\nfrom nodeagent_x.pool import Pool", []),
        ("import nodeagent_y", ["nodeagent_y"]),
        ("from nodeagent.records import Commit", ["nodeagent.records.Commit"]),
        ("import nodeagent.backend", ["nodeagent.backend"]),
        ("import nodeagent\nnodeagent.plugins.load_provider", ["nodeagent.plugins"]),
    ],
)
def test_a_fault_of_a_plugin_is_found(source: str, faults: list[str]) -> None:
    """Its own package and any driver are its own affair."""
    assert faults_of_plugin("nodeagent_x.store", source) == faults
