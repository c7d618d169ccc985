"""`nodeagent run` and `enqueue`, each in a process of its own, on the memory provider."""

from __future__ import annotations

import json
from typing import Any

import pytest

DOCUMENT = "# Backups\n\nBackups are kept for thirty days in the cellar.\n"
QUESTION = "How long are backups kept?"
RECEIPT = "receipt: sha256:"


def test_a_question_is_answered_with_citations(bare: Any) -> None:
    """Memo and receipt on stdout, talk on stderr, paths as the person wrote them."""
    bare.write({"nodeagent.toml": '[backends.main]\nprovider = "memory"\n', "docs/ops.md": DOCUMENT})

    done = bare("run", "--goal", QUESTION, "--sources", "docs")

    assert done.returncode == 0
    assert 'docs/ops.md:3 — "Backups are kept for thirty days in the cellar."' in done.stdout
    assert str(bare.folder) not in done.stdout
    assert "verdict: completed" in done.stdout
    assert RECEIPT in done.stdout
    assert "nodeagent receipt" not in done.stderr  # memory is gone when the command ends
    assert "step gather 1 recorded" in done.stderr


def test_what_the_documents_cannot_answer_is_blocked(bare: Any) -> None:
    """With the reason, and code 1."""
    bare.write({"nodeagent.toml": '[backends.main]\nprovider = "memory"\n', "ops.md": DOCUMENT})

    done = bare("run", "--goal", "Which glaciers feed the Zambezi?", "--sources", "ops.md")

    assert done.returncode == 1
    assert "verdict: blocked (confidence is low" in done.stdout


def test_run_as_json_is_one_document(cli: Any) -> None:
    """With everything that a script needs, the exit code too."""
    document = cli.json("run", "--runner", "quick", "--goal", "hello", "--job-id", "j", "--json")

    assert (document["job_id"], document["status"], document["outcome"]) == ("j", "completed", "completed")
    assert document["receipt"]["statements"][0]["text"] == "hello"
    assert document["receipt_id"].startswith("sha256:")
    assert (document["exit_code"], document["replayed"]) == (0, False)


@pytest.mark.parametrize(("runner", "status"), [("unsure", "blocked"), ("bad", "failed")])
def test_a_job_that_does_not_complete_is_code_1(cli: Any, runner: str, status: str) -> None:
    """With and without JSON."""
    words = ("run", "--runner", runner, "--goal", "g", "--max-attempts", "1")

    assert cli.json(*words, "--json", code=1)["status"] == status
    done = cli(*words)
    assert done.returncode == 1
    assert f"verdict: {status}" in done.stdout


def test_a_failed_attempt_is_told_and_repeated(cli: Any) -> None:
    """What the runner raised is clean on a terminal."""
    done = cli("run", "--runner", "bad", "--goal", "g", "--max-attempts", "2")

    assert "attempt 1 failed (ValueError: it does not work \\x1b[2J); again in" in done.stderr
    assert "attempt 2" in done.stderr
    assert "ValueError: it does not work \\x1b[2J" in done.stdout
    assert "\x1b" not in done.stdout + done.stderr


def test_quiet_is_quiet(cli: Any) -> None:
    """The result and nothing else."""
    done = cli("run", "--runner", "quick", "--goal", "g", "--quiet")

    assert done.stderr == ""
    assert RECEIPT in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--goal", "g"], "--sources is required"),
        (["--sources", "."], "--goal is required"),
        (["--goal", "g", "--sources", "."], "names 'evidence', but the application runners:app has only"),
        (["--goal", "g", "--runner", "nobody"], "--runner names 'nobody'"),
        (["--goal", "g", "--runner", "quick", "--input", "{"], "the input is not JSON"),
        (["--goal", "g", "--runner", "quick", "--input", "-0.0"], "cannot be stored without loss"),
        (["--goal", "g", "--runner", "quick", "--timeout", "soon"], "is not a duration"),
        (["--goal", "g", "--runner", "quick", "--app", "runners:none"], "cannot be imported: AttributeError"),
        (["--goal", "g", "--runner", "quick", "--app", "nowhere:app"], "cannot be imported: ModuleNotFoundError"),
        (["--goal", "g", "--runner", "quick", "--app", "runners:broken"], "is no App"),
        (["--goal", "g", "--runner", "quick", "--app", "runners"], "must be written"),
        (["--goal", "g", "--runner", "quick", "--backend", "mian"], "there is no backend 'mian'"),
        (["--goal", "g", "--runner", "quick", "--job-id", ""], "must not be empty"),
    ],
)
def test_wrong_usage_is_code_2_and_one_sentence(cli: Any, words: list[str], sentence: str) -> None:
    """Nothing on stdout, no traceback."""
    done = cli("run", *words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


# --- enqueue ------------------------------------------------------------------------------------


def test_enqueue_prints_ids(cli: Any) -> None:
    """One a line, and nothing else on stdout."""
    done = cli("enqueue", "--runner", "quick", "--goal", "g", "--count", "3")

    assert done.returncode == 0
    assert len(set(done.stdout.split())) == 3


def test_enqueue_many_from_a_file(cli: Any) -> None:
    """The options are what a line does not say; blank lines do not count."""
    lines = [{"goal": "a", "job_id": "one"}, {"goal": "b", "job_id": "two", "runner": "bad", "timeout": "5s"}]
    text = "\n".join([json.dumps(lines[0]), "", json.dumps(lines[1]), ""])
    cli.write({"in.jsonl": text})

    done = cli("enqueue", "--from", "in.jsonl", "--runner", "quick", "--json")
    piped = cli("enqueue", "--from", "-", "--runner", "quick", input=text)

    document = json.loads(done.stdout)
    assert [job["job_id"] for job in document["jobs"]] == ["one", "two"]
    assert document["refused"] == []
    assert piped.stdout.split() == ["one", "two"]


def test_the_same_request_twice_is_stored_once(cli: Any) -> None:
    """Another request under the same id is refused, in its place."""
    same = json.dumps({"goal": "a", "job_id": "one"})
    other = json.dumps({"goal": "b", "job_id": "one"})

    twice = cli("enqueue", "--from", "-", "--runner", "quick", input=f"{same}\n{same}\n")
    changed = cli("enqueue", "--from", "-", "--runner", "quick", "--json", input=f"{same}\n{other}\n")

    assert twice.returncode == 0
    assert "1 job had been stored before with the same request" in twice.stderr
    assert changed.returncode == 2
    assert len(json.loads(changed.stdout)["refused"]) == 1


def test_a_file_with_faults_stores_nothing(cli: Any) -> None:
    """Every fault is told with its line."""
    lines = ['{"goal": "a"}', "{", '{"gaol": "b"}', "[]", '{"goal": ""}', '{"goal": "a", "input": NaN}']

    done = cli("enqueue", "--from", "-", "--runner", "quick", input="\n".join(lines))

    assert done.returncode == 2
    assert done.stdout == ""
    assert "nothing was stored" in done.stderr
    for sentence in ("line 2: it is not JSON", "line 3: there is no key 'gaol'; did you mean 'goal'", "line 4: is no"):
        assert sentence in done.stderr
    assert "line 5: goal must be" in done.stderr
    assert "line 6: it is not JSON that can be stored: NaN" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--from", "none.jsonl"], "cannot be read: No such file"),
        (["--from", ".", "--goal", "g"], "cannot be read: Is a directory"),
        (["--goal", "g", "--runner", "r", "--count", "0"], "0 is not in the range"),
        (["--goal", "g", "--runner", "r", "--count", "2", "--job-id", "j"], "leave out --job-id"),
        (["--from", "-", "--count", "2"], "exclude each other"),
        (["--goal", "g", "--runner", "r", "--run-after", "2030-01-01T00:00"], "names no time zone"),
        (["--goal", "g", "--runner", "r", "--priority", "10"], "10 is not in the range"),
    ],
)
def test_wrong_usage_of_enqueue(cli: Any, words: list[str], sentence: str) -> None:
    """Code 2, one sentence."""
    done = cli("enqueue", *words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("{}", "line 1: goal is required"),
        ('{"goal": "g"}', "line 1: sources is required"),
        ('{"goal": "g", "sources": ["none"]}', "line 1: sources names 'none', which does not exist"),
        ('{"goal": "g", "sources": ["."], "input": 1}', "line 1: input must be a JSON object"),
        ('{"goal": "g", "runner": "r", "job_id": ""}', "line 1: job_id must not be empty"),
        ('{"goal": "g", "runner": "r", "timeout": 0}', "line 1: timeout must be more than nothing"),
    ],
)
def test_a_fault_of_a_line_speaks_of_its_keys(cli: Any, line: str, sentence: str) -> None:
    """And of where the line stands."""
    done = cli("enqueue", "--from", "-", input=line)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert "because standard input has faults" in done.stderr
    assert "--" not in done.stderr.partition("faults")[2]


def test_an_empty_file_says_so(cli: Any) -> None:
    """It is no error, and nothing is stored."""
    cli.write({"in.jsonl": "\n"})

    done = cli("enqueue", "--from", "in.jsonl")

    assert (done.returncode, done.stdout) == (0, "")
    assert "in.jsonl holds no request, so nothing was stored" in done.stderr


def test_enqueue_warns_of_a_store_that_ends_with_it(cli: Any) -> None:
    """Memory keeps nothing."""
    assert "is gone when this command ends" in cli("enqueue", "--runner", "quick", "--goal", "g").stderr
