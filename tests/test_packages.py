"""What the installed distributions of the workspace promise in their metadata."""

from __future__ import annotations

import tomllib
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parent.parent
SOURCES = sorted([ROOT / "core", *(ROOT / "plugins").glob("*")])
PROJECTS = [path for path in SOURCES if (path / "pyproject.toml").is_file()]


def _installed(project: Path) -> Distribution:
    toml = tomllib.loads((project / "pyproject.toml").read_text("utf-8"))
    return distribution(toml["project"]["name"])


@pytest.fixture(params=PROJECTS, ids=lambda path: path.name)
def project(request: pytest.FixtureRequest) -> Path:
    """Each package of the workspace."""
    path: Path = request.param
    return path


def test_every_file_of_the_package_is_installed(project: Path) -> None:
    """Nothing is lost on the way into the wheel: no ``.sql``, no ``py.typed``."""
    installed = _installed(project)
    if '"editable": true' in (installed.read_text("direct_url.json") or ""):
        pytest.skip("an editable install has no wheel to look at")
    sources = (path for path in (project / "src").rglob("*") if path.is_file())

    wanted = {str(path.relative_to(project / "src")) for path in sources if path.suffix != ".pyc"}

    missing = wanted - {str(path) for path in installed.files or []}
    assert missing == set()
    assert any(name.endswith("/py.typed") for name in wanted)


def test_metadata_names_licence_and_pythons(project: Path) -> None:
    """The licence is shipped, and no cap keeps a newer Python out."""
    found = _installed(project)

    assert found.metadata["License-Expression"] == "Apache-2.0"
    assert any(path.name == "LICENSE" for path in found.files or [])
    assert found.metadata["Requires-Python"] == ">=3.11"


def test_a_plugin_accepts_one_minor_release_of_the_core(project: Path) -> None:
    """A plugin depends on ``nodeagent>=X.Y,<X.Y+1`` and the core on no plugin."""
    needs = [Requirement(text) for text in _installed(project).requires or []]
    cores = [need.specifier for need in needs if need.name == "nodeagent"]

    if project.name == "core":
        assert not [need for need in needs if need.name.startswith("nodeagent")]
        return
    (range_,) = cores
    core = Version(distribution("nodeagent").version)
    assert core in range_
    assert Version(f"{core.major}.{core.minor + 1}") not in range_
    assert not [need for need in needs if need.name.startswith("nodeagent-")]


def test_a_package_lists_what_changes(project: Path) -> None:
    """Each package has a README and a changelog."""
    assert (project / "README.md").is_file()
    assert (project / "CHANGELOG.md").is_file()
