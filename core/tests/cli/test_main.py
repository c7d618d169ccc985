"""The group of commands: help, version, what is unknown, what fails, and what start-up costs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nodeagent.cli.failing import code_of, sentence_of
from nodeagent.cli.table import COMMANDS
from nodeagent.errors import ConfigError, Corrupt, Invalid, NotFound, SchemaMismatch, Unavailable

HEAVY = ("asyncio", "attrs", "cattrs", "rich", "sqlite3", "nodeagent.runtime", "nodeagent.records")


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",)])
def test_help_names_every_command(bare: Any, words: tuple[str, ...]) -> None:
    """Without a word it is the help too."""
    done = bare(*words)

    assert done.returncode == 0
    assert done.stderr == ""
    for name, entry in COMMANDS.items():
        assert f"  {name}" in done.stdout
        assert entry.help in " ".join(done.stdout.split())


def test_version(bare: Any) -> None:
    """One line, in the form that others parse."""
    done = bare("--version")

    assert (done.returncode, done.stdout) == (0, "nodeagent 0.1.0\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_the_help_says_what_the_command_says(name: str) -> None:
    """The help imports no command, so its line is written twice."""
    command = COMMANDS[name].load()

    assert command.name == name
    assert command.short_help == COMMANDS[name].help
    assert command.help


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(bare: Any, name: str) -> None:
    """Every option says what it does."""
    done = bare(name, "--help")

    assert done.returncode == 0
    assert "Usage: nodeagent " + name in done.stdout
    assert "\\b" not in done.stdout


def test_an_unknown_command_names_the_nearest(bare: Any) -> None:
    """One sentence, code 2."""
    done = bare("recipt")

    assert done.returncode == 2
    assert "there is no command 'recipt'; did you mean 'receipt'?" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("run", "--help")])
def test_start_up_imports_nothing_heavy(bare: Any, words: tuple[str, ...]) -> None:
    """What a command does not need, it does not load."""
    look = (
        "import sys; from nodeagent.cli.main import main; main(sys.argv[2:]);"
        " sys.stderr.write(' '.join(sorted(n for n in sys.argv[1].split(',') if n in sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", look, ",".join(HEAVY), *words],
        cwd=bare.folder,
        env=bare.environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0
    assert done.stderr == ""


def test_an_unexpected_error_is_one_sentence(cli: Any) -> None:
    """Its text may hold anything, so only its type is told."""
    cli.write({"runners.py": "from nodeagent import App\nclass A(App):\n    runners = 1/1\napp = A()\n"})

    done = cli("worker")

    assert done.returncode == 4
    assert "an unexpected TypeError ended the command; `" in done.stderr
    assert "nodeagent --debug …` shows where" in done.stderr
    assert "Traceback" not in done.stderr


def test_debug_shows_the_traceback(cli: Any) -> None:
    """For those who asked."""
    cli.write({"runners.py": "from nodeagent import App\nclass A(App):\n    runners = 1/1\napp = A()\n"})

    done = cli("--debug", "worker")

    assert done.returncode == 4
    assert "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError(["x: is wrong"]), 2),
        (Invalid("goal", "must be said"), 2),
        (NotFound("there is no job"), 2),
        (Unavailable("too busy"), 3),
        (Corrupt("unreadable"), 3),
        (SchemaMismatch("too old", found=1, wanted=2), 3),
        (RuntimeError("a secret"), 4),
    ],
)
def test_each_kind_of_error_has_its_code(error: Exception, code: int) -> None:
    """A script can tell its own mistake from trouble with the store."""
    assert code_of(error, 4) == code


def test_no_secret_of_an_unexpected_error_is_told() -> None:
    """Drivers put connection strings into their messages."""
    assert "hunter2" not in sentence_of(RuntimeError("postgres://me:hunter2@db"))


def test_an_old_schema_names_the_command() -> None:
    """The remedy is part of the sentence."""
    assert sentence_of(SchemaMismatch("too old", found=1, wanted=2)) == "too old; run `nodeagent migrate`"


def test_every_problem_of_the_configuration_is_told_at_once(bare: Any) -> None:
    """With its path; nothing is created."""
    bare.write({"nodeagent.toml": 'bakend = "x"\nnamespace = 7\n[backends.main]\nprovider = "memry"\n'})

    for words in (["status"], ["run", "--goal", "g", "--sources", "."], ["worker"], ["jobs", "list"], ["migrate"]):
        done = bare(*words)

        assert done.returncode == 2
        assert done.stdout == ""
        assert "3 problems" in done.stderr
        for found in ("bakend: there is no such key", "namespace: must be a string", "backends.main.provider: no inst"):
            assert found in done.stderr
        assert "Traceback" not in done.stderr
    assert [path.name for path in bare.folder.iterdir()] == ["nodeagent.toml"]


def test_plugins_tells_what_is_installed(bare: Any) -> None:
    """From metadata, as JSON and as a table."""
    document = bare.json("plugins", "--json")

    assert {"memory", "files"} <= {provider["name"] for provider in document["providers"]}
    assert set(document) == {"providers", "extensions", "stale"}
    assert set(document["providers"][0]) == {"name", "distribution", "version", "module", "problem", "is_live"}
    assert "memory" in bare("plugins").stdout


def test_json_is_ascii(cli: Any) -> None:
    """So that no character of a stored text acts on a terminal."""
    done = cli("run", "--runner", "quick", "--goal", "\u2066ü\x1b", "--json")

    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert json.loads(done.stdout)["receipt"]["statements"][0]["text"] == "\u2066ü\x1b"


def test_what_the_operating_system_refuses_is_one_sentence(cli: Any) -> None:
    """With the code of a store that failed."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            cli.command("plugins"), cwd=cli.folder, env=cli.environ, stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip

    assert done.returncode == 3
    assert done.stderr == "error: the operating system refused: No space left on device\n"


def test_a_working_directory_that_is_gone_is_one_sentence(cli: Any) -> None:
    """Whatever needs it."""
    program = (
        "import os, sys; from nodeagent.cli.main import main; os.rmdir(os.getcwd()); sys.exit(main(['jobs', 'list']))"
    )
    (cli.folder / "gone").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=cli.folder / "gone", env=cli.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 3
    assert done.stderr == "error: the working directory does not exist any more; change to another one\n"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            PermissionError(13, "Permission denied", "/x\x1b"),
            3,
            "the operating system refused /x\\x1b: Permission denied",
        ),
        (ConnectionError("postgres://me:hunter2@db"), 4, "an unexpected ConnectionError ended the command"),
    ],
)
def test_an_error_of_the_operating_system_has_its_own_words(error: OSError, code: int, words: str) -> None:
    """Only what it says itself; the text of another error may hold anything."""
    assert code_of(error, 4) == code
    assert words in sentence_of(error)
    assert "hunter2" not in sentence_of(error)
