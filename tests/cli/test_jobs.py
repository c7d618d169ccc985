"""From enqueue to receipt in processes of their own, and the verbs of people."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest


def _enqueue(cli: Any, runner: str, job_id: str, *words: str) -> None:
    done = cli("enqueue", "--runner", runner, "--goal", "a goal", "--job-id", job_id, *words)
    assert done.returncode == 0, done.stderr


def _work(cli: Any, *words: str) -> Any:
    done = cli("worker", "--until-idle", *words)
    assert done.returncode == 0, done.stderr
    return done


def test_a_worker_works_on_what_was_enqueued(cli: Any) -> None:
    """A line per job for people; each process sees what the other has stored."""
    _enqueue(cli, "quick", "good")
    _enqueue(cli, "unsure", "unsure")
    _enqueue(cli, "bad", "bad", "--max-attempts", "1")

    err = _work(cli).stderr

    assert "good completed" in err
    assert "unsure blocked: confidence is low" in err
    assert "bad failed: ValueError: it does not work \\x1b[2J" in err
    assert "done: 1 blocked, 1 completed, 1 failed" in err
    statuses = {job["job_id"]: job["status"] for job in cli.json("jobs", "list", "--json")["jobs"]}
    assert statuses == {"good": "completed", "unsure": "blocked", "bad": "failed"}


def test_a_quiet_worker_says_no_more_than_what_it_serves(cli: Any) -> None:
    """One line."""
    _enqueue(cli, "quick", "good")

    assert len(_work(cli, "--quiet").stderr.splitlines()) == 1


def test_a_job_shows_its_timeline_and_steps(cli: Any) -> None:
    """With times, sizes and the receipt's id; the input only if it is asked for."""
    _enqueue(cli, "quick", "j", "--input", '{"secret": "hunter2"}')
    _work(cli)

    view = cli.json("jobs", "show", "j", "--json")
    text = cli("jobs", "show", "j").stdout

    assert [note["verb"] for note in view["timeline"]] == ["enqueue", "finish"]
    assert [step["step"] for step in view["steps"]] == [["say"]]
    assert view["receipts"][0]["receipt_id"].startswith("sha256:")
    assert view["goal"] == "a goal"
    assert "hunter2" not in json.dumps(view) + text
    assert cli.json("jobs", "show", "j", "--json", "--input")["input"] == {"secret": "hunter2"}
    assert "finish" in text
    assert view["receipts"][0]["receipt_id"] in text


def test_the_receipt_is_printed_byte_for_byte(cli: Any) -> None:
    """So that its hash is its name."""
    _enqueue(cli, "quick", "j")
    _work(cli)
    receipt_id = cli.json("jobs", "show", "j", "--json")["receipts"][0]["receipt_id"]

    done = subprocess.run(
        cli.command("receipt", "j", "--json"), cwd=cli.folder, env=cli.environ, capture_output=True, check=True
    )

    assert f"sha256:{hashlib.sha256(done.stdout).hexdigest()}" == receipt_id
    text = cli("receipt", "j").stdout
    assert "verdict    completed" in text
    assert f"receipt    {receipt_id}" in text
    assert "[1] here: “quoted”" in text


def test_the_memo_is_printed_as_it_is_stored(cli: Any) -> None:
    """For a file to go on with."""
    without_app = (cli.folder / "nodeagent.toml").read_text(encoding="utf-8").partition("\n")[2]
    cli.write({"nodeagent.toml": without_app, "a.md": "# Backups\n\nBackups are kept for thirty days.\n"})
    done = cli("run", "--goal", "How long are backups kept?", "--sources", "a.md", "--job-id", "j")
    assert done.returncode == 0, done.stderr

    memo = cli("receipt", "j", "--memo")

    assert memo.stdout.startswith("# How long are backups kept?")
    assert f"{cli.folder}/a.md:3" in memo.stdout
    assert f"{cli.folder}" not in done.stdout
    assert "a.md:3" in done.stdout


def test_text_from_the_store_is_clean_on_a_terminal(cli: Any) -> None:
    """Wherever it is shown to people."""
    evil = "goal \x1b]0;pwned\x07 \u202e \x9b2J"
    done = cli("enqueue", "--runner", "quick", "--goal", evil, "--job-id", "evil\x1b[2J", "--queue", "q\x1b")
    assert done.returncode == 0, done.stderr
    _work(cli, "--queue", "q\x1b")

    for words in (["jobs", "list"], ["jobs", "show", "evil\x1b[2J"], ["status"], ["receipt", "evil\x1b[2J"]):
        shown = cli(*words)
        assert shown.returncode == 0
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(shown.stdout + shown.stderr)
    assert "\\x1b" in shown.stdout


def test_lists_are_narrowed(cli: Any) -> None:
    """By status, queue, runner, tenant, lane and number."""
    _enqueue(cli, "quick", "a")
    _enqueue(cli, "bad", "b", "--queue", "other", "--tenant", "t2")
    _enqueue(cli, "quick", "c", "--tenant", "t2")
    lane = cli.json("jobs", "list", "--json", "--queue", "other")["jobs"][0]["lane"]

    def listed(*words: str) -> list[str]:
        return [job["job_id"] for job in cli.json("jobs", "list", "--json", *words)["jobs"]]

    assert sorted(listed()) == ["a", "b", "c"]
    assert listed("--status", "completed") == []
    assert listed("--status", "queued", "--queue", "other") == ["b"]
    assert listed("--lane", lane) == ["b"]
    assert listed("--tenant", "t2", "--runner", "quick") == ["c"]
    assert cli.json("jobs", "list", "--json", "--limit", "2")["more"] is True
    assert "there are more than 2" in cli("jobs", "list", "--limit", "2").stderr


def test_retry_and_unblock_give_another_round(cli: Any) -> None:
    """Of the round that was seen."""
    _enqueue(cli, "bad", "b", "--max-attempts", "1")
    _enqueue(cli, "unsure", "u")
    _work(cli)

    assert cli.json("jobs", "retry", "b", "--json")["round"] == 2
    assert "job u is queued, round 2" in cli("jobs", "unblock", "u", "--round", "1").stdout
    _work(cli)
    assert [r["round"] for r in cli.json("jobs", "show", "u", "--json")["receipts"]] == [1, 2]
    assert "round      1" in cli("receipt", "u", "--round", "1").stdout
    again = cli("jobs", "unblock", "u", "--round", "1")
    assert again.returncode == 2
    assert "is in round 2, not 1" in again.stderr


def test_cancel_ends_a_job_for_good(cli: Any) -> None:
    """It is never worked on, and a second time is an error."""
    _enqueue(cli, "quick", "j")

    assert cli.json("jobs", "cancel", "j", "--json")["status"] == "canceled"
    assert "there was nothing to work on" in _work(cli).stderr
    shown = cli("jobs", "show", "j").stdout
    assert "status     canceled\n" in shown
    assert "was canceled and has no receipt" in cli("receipt", "j").stderr
    again = cli("jobs", "cancel", "j")
    assert again.returncode == 2
    assert "is canceled and can no longer be canceled" in again.stderr
    assert cli("run", "--runner", "quick", "--goal", "a goal", "--job-id", "j").returncode == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["jobs", "show", "none"], "there is no job 'none'"),
        (["jobs", "retry", "none"], "there is no job 'none'"),
        (["jobs", "cancel", "none"], "there is no job 'none'"),
        (["jobs", "unblock", "none"], "there is no job 'none'"),
        (["receipt", "none"], "there is no job 'none'"),
        (["receipt", "queued"], "has no receipt yet"),
        (["receipt", "queued", "--memo", "--json"], "exclude each other"),
        (["jobs", "retry", "queued"], "only a failed job takes retry"),
        (["jobs", "list", "--status", "lost"], "'lost' is not one of"),
        (["jobs", "shwo", "x"], "No such command 'shwo'"),
        (["jobs", "show"], "Missing argument 'JOB'"),
        (["jobs", "show", ""], "must not be empty"),
    ],
)
def test_wrong_usage_is_code_2(cli: Any, words: list[str], sentence: str) -> None:
    """One sentence, nothing on stdout."""
    _enqueue(cli, "quick", "queued")

    done = cli(*words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_error(cli: Any) -> None:
    """`nodeagent jobs list | head -1` ends quietly."""
    cli("enqueue", "--runner", "quick", "--goal", "g", "--count", "3000")
    process = cli.start("jobs", "list", "--limit", "10000")
    assert process.stdout.read(1)

    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()

    assert process.wait(60) == 141
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_an_empty_list_says_why(cli: Any) -> None:
    """There may be none at all, or none that matches."""
    assert cli("jobs", "list").stderr == "there are no jobs\n"
    assert cli("jobs", "list", "--status", "failed").stderr == "no job matches\n"


def test_a_job_that_is_canceled_under_its_worker_is_told_so(cli: Any, until: Any, processes: Any) -> None:
    """Its lease is lost for good: nobody goes on with it."""
    _enqueue(cli, "slow", "j")
    process = cli.start("worker", "--until-idle", "--max-wait", "1s")
    processes.append(process)
    until((cli.folder / "second.began").exists)

    assert cli("jobs", "cancel", "j").returncode == 0
    (cli.folder / "go").touch()
    _, err = process.communicate(timeout=60)

    assert "j canceled\n" in err
    assert "done: 1 canceled" in err


def test_a_duplicate_run_replays(cli: Any) -> None:
    """The same command with the same id executes nothing."""
    words = ("run", "--runner", "quick", "--goal", "g", "--job-id", "j", "--json")

    first, second = cli.json(*words), cli.json(*words)

    assert (first["replayed"], second["replayed"]) == (False, True)
    assert first["receipt"] == second["receipt"]
    assert "nothing was executed" in cli(*words[:-1]).stderr


def test_without_configuration_the_default_store_is_named(bare: Any) -> None:
    """In one line on stderr."""
    done = bare("jobs", "list")

    assert done.returncode == 0
    assert "no configuration was found, so the backend is SQLite at ./.nodeagent/nodeagent.db" in done.stderr
    assert (bare.folder / ".nodeagent" / "nodeagent.db").is_file()


def test_wrong_names_are_told_together_and_nothing_is_created(bare: Any) -> None:
    """Provider, type and key, each with its path."""
    bare.write({"nodeagent.toml": 'bakend = "x"\nnamespace = 7\n[backends.main]\nprovider = "sqllite"\n'})

    done = bare("run", "--goal", "g", "--sources", ".")

    assert done.returncode == 2
    assert "backends.main.provider: no installed distribution offers the provider 'sqllite'" in done.stderr
    assert "did you mean 'sqlite'?" in done.stderr
    assert "namespace: must be a string" in done.stderr
    assert "bakend: there is no such key; did you mean 'backend'?" in done.stderr
    assert [path.name for path in Path(bare.folder).iterdir()] == ["nodeagent.toml"]
