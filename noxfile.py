"""The workspace's tasks: ``nox -l`` lists them, ``nox -s tests-3.12`` runs one.

Packages are discovered from the folders, so a new plugin is tested without a line here. A session
never imports from a source tree: it installs the wheels it is about, and works in an empty folder.

Set ``NODEAGENT_REPORTS`` to a folder to get one JUnit file per run of pytest.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import nox

ROOT = Path(__file__).parent
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
FOLDERS = [ROOT / "core", ROOT / "conformance", *sorted((ROOT / "plugins").glob("*"))]
PACKAGES = {path.name: path for path in FOLDERS if (path / "pyproject.toml").is_file()}
BACKENDS = [name for name in PACKAGES if name != "conformance"]
PYTHONS = nox.project.python_versions(nox.project.load_toml(ROOT / "core" / "pyproject.toml"))
PYTHONS += [HERE] if HERE not in PYTHONS else []

# Who starts this in the background may have it ignore SIGINT, and every test with it that sends one.
signal.signal(signal.SIGINT, signal.default_int_handler)

nox.needs_version = ">=2025.5"
nox.options.default_venv_backend = "virtualenv"
nox.options.error_on_missing_interpreters = False  # a missing one is reported as skipped
nox.options.sessions = ["lint", f"types-{HERE}", f"tests-{HERE}", f"contract-{HERE}"]


# --- what is installed --------------------------------------------------------------------------


def _toml(package: str) -> dict[str, Any]:
    return nox.project.load_toml(PACKAGES[package] / "pyproject.toml")


def _group(name: str) -> list[str]:
    """The requirements of a dependency group of the workspace."""
    return list(nox.project.dependency_groups(nox.project.load_toml(ROOT / "pyproject.toml"), name))


def _own_test_group(package: str) -> list[str]:
    """What a package's own tests need beyond the workspace's group ``test``."""
    toml = _toml(package)
    declared = "test" in toml.get("dependency-groups", {})
    return list(nox.project.dependency_groups(toml, "test")) if declared else []


def _normal(requirement: str) -> str:
    """The normalized name in a requirement, as packages on the index are compared."""
    name = re.match(r"[\w.-]+", requirement)
    return re.sub(r"[-_.]+", "_", name.group() if name else requirement).lower()


def _closure(package: str) -> list[str]:
    """A package and the members of the workspace that it declares, however indirectly."""
    project = {name: _toml(name)["project"] for name in PACKAGES}
    members = {_normal(project[name]["name"]): name for name in PACKAGES}
    found, todo = [], [package]
    while todo:
        name = todo.pop()
        if name not in found:
            found.append(name)
            needs = map(_normal, project[name].get("dependencies", []))
            todo += [members[need] for need in needs if need in members]
    return found


@functools.cache
def _scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder that lives as long as this run of nox."""
    return tempfile.TemporaryDirectory(prefix="nodeagent-nox-")


def _wheel(session: nox.Session, package: str) -> str:
    """The path of a package's wheel, built once a run."""
    folder = Path(_scratch().name, "wheels", package)
    if not any(folder.glob("*.whl")):
        source = str(PACKAGES[package])
        session.run("pip", "wheel", "-q", "--no-deps", "--wheel-dir", str(folder), source)
    return str(next(folder.glob("*.whl")))


def _install(session: nox.Session, packages: list[str], *requirements: str) -> None:
    """Install the wheels of these packages, what they declare, and some requirements.

    Members of the workspace are given as files, so that no index can put its own in their place.
    """
    wheels = [_wheel(session, name) for name in packages]
    session.install("--force-reinstall", "--no-deps", *wheels)
    session.install(*wheels, *requirements)


def _leave(session: nox.Session) -> None:
    """Go to an empty folder outside the clone, so that nothing is found by accident."""
    session.chdir(tempfile.mkdtemp(prefix="cwd-", dir=_scratch().name))


def _pytest(session: nox.Session, tests: Path, *, name: str) -> None:
    """Run a folder of tests against what is installed."""
    reports = os.environ.get("NODEAGENT_REPORTS")
    junit = [f"--junit-xml={Path(reports, name).resolve()}.xml"] if reports else []
    config = ROOT / "pyproject.toml"
    _leave(session)
    session.run("pytest", f"--config-file={config}", *junit, *session.posargs, str(tests))


# --- checks -------------------------------------------------------------------------------------


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff: every rule, and the format."""
    session.install(*_group("lint"))
    session.run("ruff", "check", str(ROOT))
    session.run("ruff", "format", "--check", str(ROOT))


@nox.session(python=PYTHONS)
def types(session: nox.Session) -> None:
    """Mypy, strict, over all packages, tests and scripts."""
    own = [need for name in PACKAGES for need in _own_test_group(name)]
    _install(session, list(PACKAGES), *_group("types"), *own)
    session.run("mypy")


@nox.session
def secrets(session: nox.Session) -> None:
    """No password, key or token in any file that Git knows or could add."""
    session.install(*_group("secrets"))
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = session.run(*listed, external=True, silent=True) or ""
    files = [name for name in names.split("\0") if (ROOT / name).is_file()]
    session.log("scanning %d files", len(files))
    scan = ["detect-secrets-hook", "--no-verify", "--baseline", ".secrets.baseline"]
    session.run(*scan, *files, log=False)


@nox.session(python=PYTHONS)
@nox.parametrize("package", list(PACKAGES), ids=list(PACKAGES))
def tests(session: nox.Session, package: str) -> None:
    """Each package alone: its wheel, what it declares, its own tests."""
    _install(session, _closure(package), *_group("test"), *_own_test_group(package))
    _pytest(session, PACKAGES[package] / "tests", name=f"tests-{package}")


@nox.session(python=PYTHONS)
def contract(session: nox.Session) -> None:
    """The workspace's tests: all providers over one suite, crashes, layers, docs, command line."""
    own = [need for name in BACKENDS for need in _own_test_group(name)]
    _install(session, BACKENDS, *_group("test"), *own)
    _pytest(session, ROOT / "tests", name="contract")


@nox.session
def build(session: nox.Session) -> None:
    """Wheels and source distributions into dist/, checked as the index would."""
    session.install(*_group("build"))
    for path in PACKAGES.values():
        session.run("python", "-m", "build", "--outdir", str(ROOT / "dist"), str(path))
    session.run("twine", "check", "--strict", *map(str, (ROOT / "dist").glob("nodeagent*")))


# --- evidence -----------------------------------------------------------------------------------


@nox.session
def smoke(session: nox.Session) -> None:
    """Every smoke of the command line."""
    _install(session, BACKENDS)
    _leave(session)
    session.run("nodeagent", "smoke", "all")


@nox.session
def evals(session: nox.Session) -> None:
    """Write the receipts in docs/eval/: the durable smoke and the timed tour."""
    _install(session, BACKENDS)
    folder = ROOT / "docs" / "eval"
    folder.mkdir(parents=True, exist_ok=True)
    _leave(session)
    durable = folder / "nodeagent-durable-smoke.json"
    session.run("nodeagent", "smoke", "durable", "--json-out", str(durable))
    tour = folder / "nodeagent-happy-path-speed.json"
    session.run("nodeagent", "happy-path", "--json-out", str(tour))


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the subject against the floor; arguments after ``--`` go to the script."""
    _install(session, BACKENDS, *_group("bench"))
    session.run("python", "benchmarks/run.py", *session.posargs)


# --- sets of sessions ---------------------------------------------------------------------------


def _notify_tests(session: nox.Session, python: str, *posargs: str) -> None:
    """Queue the tests of every package and of the workspace."""
    for name in [*(f"tests-{python}({package})" for package in PACKAGES), f"contract-{python}"]:
        session.notify(name, posargs=posargs)


@nox.session(venv_backend="none")
def prepush(session: nox.Session) -> None:
    """What must be green before a push, on this interpreter."""
    for name in ["lint", f"types-{HERE}", "secrets", "smoke"]:
        session.notify(name)
    _notify_tests(session, HERE)
    session.notify("build")


@nox.session(venv_backend="none")
def full(session: nox.Session) -> None:
    """Everything, on every interpreter found, with the tests marked ``full``."""
    for name in ["lint", *(f"types-{python}" for python in PYTHONS), "secrets", "smoke"]:
        session.notify(name)
    for python in PYTHONS:
        _notify_tests(session, python, "-m", "")
    session.notify("build")
