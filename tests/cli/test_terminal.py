"""On a terminal: questions are asked, tables are drawn, and stored text acts on nothing."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import Any

import pytest


def _on_terminal(cli: Any, *words: str, typed: str = "") -> tuple[int, str]:
    """Run a command on a terminal of its own; return its code and what stood there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        cli.command(*words),
        cwd=cli.folder,
        env={**cli.environ, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
    return process.wait(60), shown.decode()


def test_setup_asks_for_what_the_store_needs(bare: Any) -> None:
    """A path and a namespace; an empty answer takes the default."""
    code, shown = _on_terminal(bare, "adapters", "setup", "sqlite", typed="my.db\n\n")

    assert code == 0, shown
    text = (bare.folder / "nodeagent.toml").read_text(encoding="utf-8")
    assert 'path = "my.db"' in text
    assert 'namespace = "default"' in text


def test_setup_asks_before_it_replaces(bare: Any) -> None:
    """And no is no."""
    bare.write({"nodeagent.toml": "# mine\n"})

    code, shown = _on_terminal(bare, "adapters", "setup", "sqlite", typed="n\n")

    assert code == 1
    assert "replace it?" in shown
    assert "nothing was changed; use --yes" in shown
    assert (bare.folder / "nodeagent.toml").read_text(encoding="utf-8") == "# mine\n"


@pytest.mark.parametrize("words", [["jobs", "list"], ["status"], ["jobs", "show", "evil[red]\x1b[2J"]])
def test_stored_text_acts_on_nothing(cli: Any, words: list[str]) -> None:
    """Neither as an escape sequence nor as markup of the library that draws."""
    done = cli(
        "enqueue",
        "--runner",
        "quick",
        "--goal",
        "g\x1b]0;x\x07",
        "--job-id",
        "evil[red]\x1b[2J",
        "--queue",
        "[b]q\x1bc",
    )
    assert done.returncode == 0, done.stderr

    code, shown = _on_terminal(cli, *words)

    assert code == 0
    for sequence in ("\x1b[2J", "\x1b]0", "\x1bc", "\x07"):
        assert sequence not in shown
    assert "[b]q\\x1bc" in shown or "evil[red]\\x1b[2J" in shown


@pytest.mark.parametrize(
    ("words", "line"),
    [(["jobs", "list"], "job: j"), (["status"], "queue: default"), (["adapters", "list"], "name: sqlite")],
)
def test_a_table_that_does_not_fit_is_blocks(cli: Any, words: list[str], line: str) -> None:
    """Nothing is cut, the first column least of all."""
    cli("enqueue", "--runner", "quick", "--goal", "g", "--job-id", "j" * 40)
    cli.environ["COLUMNS"] = "40"

    code, shown = _on_terminal(cli, *words)

    assert code == 0
    assert line in shown
    assert "…" not in shown.replace("--set KEY=…", "").replace('artifacts = "…"', "")


def test_progress_moves_and_is_wiped(cli: Any) -> None:
    """The answer stands there afterwards, and the cursor is back."""
    code, shown = _on_terminal(cli, "run", "--runner", "quick", "--goal", "hello")

    assert code == 0
    assert "verdict: completed" in shown
    assert shown.rfind("\x1b[?25h") >= shown.rfind("\x1b[?25l")
