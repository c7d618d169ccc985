"""Commands of installed extensions: found by metadata, imported only when they are called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

GREETING = """
import click
from nodeagent import hookimpl

@hookimpl
def nodeagent_commands(cli):
    @cli.command("greet")
    @click.argument("name")
    def greet(name):
        '''Say hello.'''
        click.echo(f"hello {name}")
"""


@pytest.fixture
def install(bare: Any, tmp_path: Path) -> Any:
    """Put a distribution with one extension on the path."""
    site = tmp_path / "site"
    bare.environ["PYTHONPATH"] = os.pathsep.join([str(site), bare.environ.get("PYTHONPATH", "")])

    def put(name: str, source: str, *, module: str) -> None:
        folder = site / f"{module}-1.0.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", encoding="utf-8")
        (folder / "entry_points.txt").write_text(f"[nodeagent.extensions]\n{name} = {module}\n", encoding="utf-8")
        (site / f"{module}.py").write_text(source, encoding="utf-8")

    return put


def test_an_extension_is_a_command(bare: Any, install: Any) -> None:
    """By the name of its entry point."""
    install("greet", GREETING, module="x_greeting")

    done = bare("greet", "you")

    assert (done.returncode, done.stdout) == (0, "hello you\n")
    assert "greet" in bare("--help").stdout
    assert "from x_greeting 1.0" in bare("--help").stdout
    assert "Usage: nodeagent greet" in bare("greet", "--help").stdout


@pytest.mark.parametrize("source", ["raise RuntimeError('boom')", "import sys; sys.exit(3)", "print('noise')"])
def test_a_broken_extension_disturbs_nobody(bare: Any, install: Any, source: str) -> None:
    """It is imported only when it is called, and then it is named."""
    install("greet", source, module="x_broken")

    assert bare("--help").returncode == 0
    assert bare("--version").stdout == "nodeagent 0.1.0\n"
    done = bare("greet", "you")
    assert done.returncode == 2
    assert "x_broken 1.0" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_extension_without_the_command(bare: Any, install: Any) -> None:
    """The sentence says what is missing."""
    install("greet", GREETING.replace('"greet"', '"hello"'), module="x_other")

    done = bare("greet", "you")

    assert done.returncode == 2
    assert "it adds no command 'greet' to the command line" in done.stderr


OBSERVER = """
from pathlib import Path
from nodeagent import hookimpl

@hookimpl
def nodeagent_observe(event):
    with Path("seen.txt").open("a") as file:
        file.write(event.name + "\\n")
    if event.name == "job.claimed":
        raise RuntimeError("an observer's own trouble")
"""


def test_a_configured_observer_sees_the_events(bare: Any, install: Any) -> None:
    """What it raises is reported and changes nothing."""
    install("watch", OBSERVER, module="x_watch")
    bare.write(
        {"nodeagent.toml": 'observers = ["watch"]\n[backends.main]\nprovider = "memory"\n', "a.md": "# Sky\n\nBlue.\n"}
    )

    done = bare("run", "--goal", "Is the sky blue?", "--sources", "a.md", "--min-confidence", "low")

    assert done.returncode == 0, done.stderr
    seen = (bare.folder / "seen.txt").read_text(encoding="utf-8").split()
    assert "job.claimed" in seen
    assert seen[-1] == "job.finished"
    assert "the observer 'watch' failed on an event Event with RuntimeError" in done.stderr


def test_no_extension_takes_the_name_of_a_command(bare: Any, install: Any) -> None:
    """What is built in stays."""
    install("plugins", GREETING.replace('"greet"', '"plugins"'), module="x_thief")

    done = bare("plugins")

    assert "providers" in done.stdout
    assert "hello" not in done.stdout
