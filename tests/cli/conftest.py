"""The core's command line tests, on a store that processes share: SQLite in the test's folder."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

CORE = Path(__file__).parents[2] / "core" / "tests" / "cli" / "conftest.py"


def _load() -> Any:
    spec = importlib.util.spec_from_file_location("core_cli_conftest", CORE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_core = _load()
Cli, APP = _core.Cli, _core.APP
bare, until, processes = _core.bare, _core.until, _core.processes


@pytest.fixture
def cli(tmp_path: Path) -> Any:
    """The command line with an application of test runners, in a folder with a SQLite store."""
    found = Cli(tmp_path / "work", tmp_path / "home")
    for folder in (found.folder, tmp_path / "home"):
        folder.mkdir()
    path = found.folder / "store.db"
    table = f'[backends.main]\nprovider = "sqlite"\npath = "{path}"\n[worker]\nlease_ms = 1000\n'
    found.write({"nodeagent.toml": f'app = "runners:app"\n{table}', "runners.py": APP})
    return found
