"""The hook reference is complete."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from nodeagent import extensions, hookspecs

DOCS = Path(__file__).parents[2] / "docs"
HOOKS = {
    name: spec
    for module in (hookspecs, extensions)
    for name, spec in vars(module).items()
    if name.startswith("nodeagent_")
}


@pytest.mark.parametrize("hook", sorted(HOOKS))
def test_every_hook_and_every_argument_is_in_the_reference(hook: str) -> None:
    """A row of docs/hooks.md names the hook and all of its arguments."""
    rows = re.findall(rf"^\| `{hook}` \| ([^|]*) \|", (DOCS / "hooks.md").read_text(), re.MULTILINE)

    assert len(rows) == 1
    assert re.findall(r"`(\w+)`", rows[0]) == list(inspect.signature(HOOKS[hook]).parameters)


def test_the_reference_names_no_hook_that_does_not_exist() -> None:
    """A removed hook leaves the reference too."""
    named = set(re.findall(r"^\| `(nodeagent_\w+)` \|", (DOCS / "hooks.md").read_text(), re.MULTILINE))

    assert named == set(HOOKS)
