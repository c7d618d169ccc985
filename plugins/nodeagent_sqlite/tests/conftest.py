"""A store on a fresh file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from plugins.nodeagent_sqlite.tests.sqlite_lab import Opener, Store

    from nodeagent import Clock

LAB = "plugins.nodeagent_sqlite.tests.sqlite_lab"
"""What the tests of this folder import, wherever the folder is."""


def _load_lab() -> None:
    spec = spec_from_file_location(LAB, Path(__file__).with_name("sqlite_lab.py"))
    assert spec is not None
    assert spec.loader is not None
    sys.modules[LAB] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[LAB])


_load_lab()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is to be."""
    return tmp_path / "state" / "nodeagent.db"


@pytest.fixture
def opened(path: Path) -> Iterator[Opener]:
    """Open stores on one file; they are closed after the test."""
    from plugins.nodeagent_sqlite.tests.sqlite_lab import open_store  # noqa: PLC0415 - loaded above

    stores: list[Store] = []

    def open_one(*, namespace: str = "test", clock: Clock | None = None, busy_timeout_ms: int = 30_000) -> Store:
        store = open_store(path, namespace, clock=clock, busy_timeout_ms=busy_timeout_ms)
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.connection.close()


@pytest.fixture
def store(opened: Opener) -> Store:
    """A store on a fresh file."""
    return opened()
