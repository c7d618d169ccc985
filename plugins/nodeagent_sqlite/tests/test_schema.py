"""Migrations: an old file waits for the operator, a newer one is refused, and the statements fit their tables."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from functools import partial
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from plugins.nodeagent_sqlite.tests.sqlite_lab import Store, open_store

from nodeagent import SchemaMismatch
from nodeagent_sqlite import schema, statements

LATER = {
    "0002_notes.pre.sql": "CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT;\nCREATE INDEX n ON notes (id);\n",
    "0003_tidy.post.sql": "DROP INDEX n;\n",
}
MODULES = ("schema", "records", "journal", "leases", "scheduler", "artifacts", "maintenance")


@pytest.fixture
def newer(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of this version, and a package that is two migrations ahead."""
    open_store(path).connection.close()
    scripts: Mapping[str, str] = MappingProxyType({**statements.scripts(), **LATER})
    monkeypatch.setattr(statements, "scripts", lambda: scripts)
    return path


def test_an_older_schema_waits_for_the_operator(newer: Path) -> None:
    """The refusal names the command; nothing is migrated in passing."""
    with pytest.raises(SchemaMismatch, match="nodeagent migrate") as caught:
        open_store(newer)

    assert (caught.value.found, caught.value.wanted) == (1, 3)


def test_maintenance_opens_an_older_schema_and_migrates_it(newer: Path) -> None:
    """``pre`` makes the new code work, ``post`` tidies up later; each is applied once."""
    operator = open_store(newer, ports=("maintenance",))
    assert operator.maintenance.schema().pending == ("0002_notes.pre", "0003_tidy.post")

    assert operator.maintenance.migrate("pre").pending == ("0003_tidy.post",)
    worker = open_store(newer)
    worker.enqueue("j1")
    assert operator.maintenance.migrate("post").is_current
    assert operator.maintenance.migrate("post").is_current

    for store in (operator, worker):
        store.connection.close()


def test_a_migration_that_fails_leaves_nothing(newer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script is applied whole or not at all."""
    scripts = {**statements.scripts(), "0002_notes.pre.sql": "CREATE TABLE a (x);\nCREATE TABLE a (x);\n"}
    monkeypatch.setattr(statements, "scripts", lambda: scripts)
    operator = open_store(newer, ports=("maintenance",))

    with pytest.raises(Exception, match="nodeagent doctor"):
        operator.maintenance.migrate("pre")

    tables = operator.connection.database.read(
        lambda c: c.execute("SELECT 1 FROM sqlite_schema WHERE name = 'a'").fetchall()
    )
    assert tables == []
    assert operator.maintenance.schema().found == 1
    operator.connection.close()


def test_a_newer_schema_is_refused(path: Path) -> None:
    """Old code does not touch what newer code made, not even for maintenance."""
    open_store(path).connection.close()
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO nodeagent_migrations VALUES (99, '0099_future', 'pre', 0)")
    other.close()

    for ports in (("transactions",), ("maintenance",)):
        with pytest.raises(SchemaMismatch, match="newer") as caught:
            open_store(path, ports=ports)
        assert (caught.value.found, caught.value.wanted) == (99, 1)


def test_a_new_file_is_current(store: Store) -> None:
    """Nobody has to migrate a file that was just made."""
    assert store.maintenance.schema().is_current


@pytest.mark.parametrize("module", MODULES)
def test_every_statement_is_described_and_fits_the_tables(store: Store, module: str) -> None:
    """Each block of a ``.sql`` file has a name, a comment and one statement that SQLite can prepare."""
    text = (resources.files("nodeagent_sqlite") / "sql" / f"{module}.sql").read_text("utf-8")
    blocks = re.split(r"^-- name: ", text, flags=re.MULTILINE)[1:]

    assert all(re.match(r"\w+\n-- [A-Z]", block) for block in blocks)
    assert len(blocks) == len(statements.load(module))
    for name, statement in statements.load(module).items():
        plan = f"EXPLAIN {statement}"
        holes: Any = dict.fromkeys(re.findall(r":(\w+)", statement))
        holes = holes or (None,) * _holes(statement)
        if name != "create_migrations":
            store.connection.database.read(partial(_prepared, plan, holes))


def _prepared(plan: str, holes: Any, connection: sqlite3.Connection) -> None:
    connection.execute(plan, holes).fetchall()


def _holes(statement: str) -> int:
    numbered = [int(n) for n in re.findall(r"\?(\d+)", statement)]
    return max(numbered) if numbered else statement.count("?")


def test_the_schema_tells_what_it_is() -> None:
    """The first script begins with an essay, and ends where it should."""
    script = statements.scripts()["0001_initial.pre.sql"]

    assert script.startswith("-- The tables of nodeagent, in plain words.")
    assert all(sqlite3.complete_statement(statement) for statement in schema.split(script))
