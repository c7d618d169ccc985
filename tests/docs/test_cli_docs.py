"""The reference of the command line names every command, every option and every exit code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from nodeagent.cli import failing
from nodeagent.cli.table import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")


def _commands() -> Iterator[tuple[str, click.Command]]:
    for name, entry in COMMANDS.items():
        command = entry.load()
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", each) for inner, each in command.commands.items())


@pytest.mark.parametrize(
    ("name", "command"), list(_commands()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_command_and_option_is_in_the_reference(name: str, command: click.Command) -> None:
    """With a section of its own, in which each of its options is named."""
    section = re.search(rf"^###? `nodeagent {re.escape(name)}`.*?(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section, f"docs/cli.md has no section `nodeagent {name}`"
    options = [opt for param in command.params if isinstance(param, click.Option) for opt in param.opts[:1]]
    shared = re.search(r"^## What all commands share.*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    asked = re.search(r"^### What a request may say.*?(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert shared
    assert asked
    text = section[0] + shared[0] + (asked[0] if name in ("run", "enqueue") else "")

    assert [option for option in options if f"`{option}" not in text] == []


def test_every_exit_code_is_in_the_reference() -> None:
    """As the module that makes them says."""
    codes = re.findall(r"^(\d+) ", failing.__doc__ or "", re.MULTILINE)

    assert codes
    assert [code for code in codes if f"| {code} |" not in PAGE] == []
