"""Status, doctor, smoke, setup, migrate, purge, restored, and the tour, on SQLite."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest


def test_status_counts_per_lane(cli: Any) -> None:
    """What waits, since when, and what has ended."""
    cli("enqueue", "--runner", "quick", "--goal", "g", "--count", "2")
    cli("enqueue", "--runner", "bad", "--goal", "g", "--max-attempts", "1")
    cli("worker", "--until-idle")
    cli("enqueue", "--runner", "quick", "--goal", "g", "--count", "3")
    cli("enqueue", "--runner", "quick", "--goal", "g", "--run-after", "1h")

    document = cli.json("status", "--json")

    lanes = {lane["runner"]: lane for lane in document["lanes"]}
    assert lanes["quick"]["counts"]["completed"] == 2
    assert lanes["quick"]["counts"]["queued"] == 4
    assert lanes["bad"]["counts"]["failed"] == 1
    assert lanes["quick"]["oldest_due"] <= document["now"]
    assert lanes["bad"]["oldest_due"] is None
    assert document["cut"] == []
    assert "quick" in cli("status").stdout


def test_status_counts_up_to_a_bound(cli: Any) -> None:
    """And says so."""
    cli("enqueue", "--runner", "quick", "--goal", "g", "--count", "5")

    assert cli.json("status", "--json", "--most", "3")["cut"] == ["queued"]
    done = cli("status", "--most", "3")
    assert "3+" in done.stdout
    assert "counted up to 3 each of: queued" in done.stderr


def test_status_of_nothing(cli: Any) -> None:
    """A fresh store is no error."""
    assert cli("status").stdout == "nothing is stored here yet\n"


def test_doctor_is_well(cli: Any) -> None:
    """And leaves nothing behind."""
    document = cli.json("doctor", "--json")

    assert document["ok"] is True
    names = [check["name"] for check in document["checks"]]
    assert {"python", "configuration", "provider", "schema", "round trip", "application", "plugins"} <= set(names)
    assert all({"name", "status", "found", "remedy"} == set(check) for check in document["checks"])
    assert cli.json("status", "--json")["lanes"] == []
    with sqlite3.connect(cli.folder / "store.db") as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {table: [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')] for table in tables}
        for table in (table for table in tables if "namespace" in columns[table]):
            rows = database.execute(f'SELECT DISTINCT namespace FROM "{table}"')  # noqa: S608 - the schema's own name
            assert not [name for (name,) in rows if name.startswith("nodeagent-doctor")], table
    database.close()


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ('[backends.main]\nprovider = "sqllite"\n', "did you mean 'sqlite'"),
        ('[backends.main]\nprovider = "sqlite"\npath = "/proc/no/such.db"\n', "opening the store"),
        ('app = "nowhere:app"\n[backends.main]\nprovider = "memory"\n', "No module named 'nowhere'"),
        ("[", "is not valid TOML"),
    ],
)
def test_doctor_finds_what_is_wrong(cli: Any, toml: str, words: str) -> None:
    """Code 1, and the other checks are made all the same."""
    cli.write({"nodeagent.toml": toml})

    done = cli("doctor")

    assert done.returncode == 1
    assert words in done.stdout
    assert "✗" in done.stdout
    assert "plugins:" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert cli.json("doctor", "--json", code=1)["ok"] is False


def test_doctor_names_a_broken_plugin_that_nobody_selected(cli: Any, tmp_path: Any) -> None:
    """As a warning: the selected one works."""
    site = tmp_path / "site"
    folder = site / "x_broken-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: x_broken\nVersion: 1.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text("[nodeagent.providers]\nbroken = x_broken\n", encoding="utf-8")
    (site / "x_broken.py").write_text("import no_such_driver\n", encoding="utf-8")
    cli.environ["PYTHONPATH"] = f"{site}:{cli.environ.get('PYTHONPATH', '')}"

    document = cli.json("doctor", "--json")

    found = next(check for check in document["checks"] if check["name"] == "provider broken")
    assert found["status"] == "warning"
    assert "x_broken 1.0" in found["found"]
    assert "no_such_driver" in found["found"]


def test_smoke_all_proves_every_store(cli: Any) -> None:
    """Without a store, in memory, in a new file, and on the configured backend, which is left as it was."""
    document = cli.json("smoke", "all", "--json")

    assert document["ok"] is True
    assert [step["name"] for step in document["steps"]] == ["frame", "durable", "sqlite", "configured: main"]
    elsewhere = [p["smoke"] for p in document["proofs"] if p["name"] == "another process loads the same receipt"]
    assert elsewhere == ["sqlite", "configured: main"]
    assert cli.json("status", "--json")["lanes"] == []


@pytest.mark.parametrize("name", ["sqlite", "sqlite-local"])
def test_smoke_of_a_provider(bare: Any, name: str) -> None:
    """In a folder of its own: nothing is made here."""
    assert bare("smoke", name).returncode == 0
    assert list(bare.folder.iterdir()) == []


def test_the_tour_shows_that_a_crash_loses_nothing(bare: Any) -> None:
    """Every step is timed and holds; nothing is made here but the report."""
    done = bare("happy-path", "--json-out", "tour.json")

    assert done.returncode == 0, done.stdout
    document = json.loads((bare.folder / "tour.json").read_text(encoding="utf-8"))
    assert document["ok"] is True
    assert all({"name", "ms", "ok", "detail"} <= set(step) and step["ok"] for step in document["steps"])
    assert len(document["steps"]) == 8
    assert "killed with SIGKILL" in done.stdout
    assert "documents/receipts.md:4" in done.stdout
    assert document["receiptId"] in done.stdout
    assert [path.name for path in bare.folder.iterdir()] == ["tour.json"]


@pytest.mark.parametrize("name", ["sqlite", "sqlite-local"])
def test_setup_writes_a_checked_configuration(bare: Any, name: str) -> None:
    """And with --run it proves the store."""
    done = bare("adapters", "setup", name, "--set", "path=data/my.db", "--namespace", "n", "--run")

    assert done.returncode == 0, done.stderr
    assert "wrote nodeagent.toml: sqlite, checked" in done.stdout
    assert "10 proofs hold" in done.stdout
    text = (bare.folder / "nodeagent.toml").read_text(encoding="utf-8")
    assert 'provider = "sqlite"\npath = "data/my.db"\n' in text
    assert cli_names(bare) == ["data", "nodeagent.toml"]
    assert bare.json("status", "--json")["namespace"] == "n"


def cli_names(bare: Any) -> list[str]:
    """What is in the folder."""
    return sorted(path.name for path in bare.folder.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["postgress"], "no installed distribution offers the provider 'postgress'"),
        (["files"], "stores artifacts only"),
        (["sqlite", "--set", "pth=x"], "there is no such key; did you mean 'path'?"),
        (["sqlite", "--set", "busy_timeout_ms=soon"], "busy_timeout_ms: must be an integer"),
        (["sqlite", "--set", "path"], "--set is written KEY=VALUE"),
        (["sqlite", "--app", "nonsense"], "app: must be written"),
        (["sqlite", "--namespace", ""], "namespace: must not be empty"),
    ],
)
def test_setup_refuses_what_would_not_work(bare: Any, words: list[str], sentence: str) -> None:
    """Code 2, and nothing is written."""
    done = bare("adapters", "setup", *words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert cli_names(bare) == []
    assert "Traceback" not in done.stderr


def test_setup_never_overwrites_unasked(bare: Any) -> None:
    """--yes is the word."""
    bare.write({"nodeagent.toml": "# mine\n"})

    done = bare("adapters", "setup", "sqlite")

    assert done.returncode == 2
    assert "is here already and was left as it is" in done.stderr
    assert (bare.folder / "nodeagent.toml").read_text(encoding="utf-8") == "# mine\n"
    assert bare("adapters", "setup", "sqlite", "--yes").returncode == 0


def test_adapters_list(bare: Any) -> None:
    """What is installed, and what could be."""
    rows = {row["name"]: row for row in bare.json("adapters", "list", "--json")["adapters"]}

    assert rows["sqlite"]["next"].endswith("nodeagent adapters setup sqlite")
    assert rows["memory"]["installed"].startswith("nodeagent ")
    assert set(rows) >= {"sqlite", "postgres", "redis", "aws", "memory", "files"}
    assert "sqlite" in bare("adapters", "list").stdout


def test_migrate_can_be_repeated(cli: Any) -> None:
    """In phases, or both."""
    for words in ([], ["--phase", "pre"], ["--phase", "post"]):
        document = cli.json("migrate", *words, "--json")

        assert document["is_current"] is True
    assert "the schema is current" in cli("migrate").stdout


def test_purge_removes_what_ended_long_ago(cli: Any) -> None:
    """After it was counted; less than an hour needs force."""
    cli("enqueue", "--runner", "quick", "--goal", "g", "--count", "3")
    cli("enqueue", "--runner", "quick", "--goal", "g", "--run-after", "1h", "--job-id", "later")
    cli("worker", "--until-idle")

    assert cli("purge", "--older-than", "1s").returncode == 2
    assert cli.json("purge", "--older-than", "30d", "--json")["jobs"] == 0
    counted = cli.json("purge", "--older-than", "0s", "--force", "--dry-run", "--json")
    one = cli.json("purge", "--older-than", "0s", "--force", "--limit", "1", "--json")
    rest = cli.json("purge", "--older-than", "0s", "--force", "--json")

    assert (counted["jobs"], one["jobs"], rest["jobs"]) == (3, 1, 2)
    assert [job["job_id"] for job in cli.json("jobs", "list", "--json")["jobs"]] == ["later"]


def test_restored_asks_first(cli: Any) -> None:
    """Without a terminal it needs --yes."""
    for refused in (cli("restored"), cli("restored", input="n\n")):
        assert refused.returncode == 1
        assert "nothing was changed; use --yes" in refused.stderr
    done = cli("restored", "--yes")
    assert done.returncode == 0
    assert "every lease was ended" in done.stdout


def test_purge_needs_an_age(cli: Any) -> None:
    """There is no default for what is removed for good."""
    done = cli("purge")

    assert done.returncode == 2
    assert "--older-than" in done.stderr
