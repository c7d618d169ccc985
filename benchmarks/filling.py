"""Filling a database with a million jobs, by SQL.

Made through the API, a million jobs would take the better part of an hour. So one job of each kind
is made through the API, and *cloned*: every row that belongs to it is copied n times by one
``INSERT … SELECT``, with the id of the template replaced by the clone's in every column of text. The
statements are made from the schema that is found in the file, and know no table by name but
``jobs``, whose columns a clone may vary.

Clones have ids as long as those of random jobs, spread evenly, so that whatever is written later
falls between them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from attrs import frozen

NUMBERS = "clone(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM clone WHERE n < :count)"
CLONE_ID = "printf('%08x', clone.n * (4294967295 / :count)) || substr(:template, 9)"
"""Ids that are spread evenly over all that begin with eight hexadecimal digits."""
SKIPPED = frozenset({"journal", "scopes"})
"""What a claim never looks at, and what would only be bytes on the disk."""


@frozen
class _Table:
    name: str
    columns: Mapping[str, str]
    """The declared types of the columns that a row is inserted with."""

    def names(self, template: str, connection: sqlite3.Connection) -> bool:
        """Say whether the table has a row of the template."""
        conditions = " OR ".join(f"instr({c}, :template)" for c in self._texts())
        if not conditions:
            return False
        query = f"SELECT 1 FROM {self.name} WHERE {conditions} LIMIT 1"  # noqa: S608 - from the schema
        return connection.execute(query, {"template": template}).fetchone() is not None

    def clone(self, varied: Mapping[str, str]) -> str:
        """Return the statement that copies the template's rows, with some columns ``varied``."""
        selected = ", ".join(self._value(column, varied) for column in self.columns)
        conditions = " OR ".join(f"instr({c}, :template)" for c in self._texts())
        return (
            f"WITH RECURSIVE {NUMBERS}, row AS MATERIALIZED"  # noqa: S608 - from the schema
            f" (SELECT * FROM {self.name} WHERE {conditions})"
            f" INSERT INTO {self.name} ({', '.join(self.columns)})"
            f" SELECT {selected} FROM row CROSS JOIN clone"
        )

    def _value(self, column: str, varied: Mapping[str, str]) -> str:
        if self.name == "jobs" and column in varied:
            return varied[column]
        if self.columns[column] == "TEXT":
            return f"replace(row.{column}, :template, {CLONE_ID})"
        return f"row.{column}"

    def _texts(self) -> list[str]:
        return [column for column, kind in self.columns.items() if kind == "TEXT"]


def clone(path: Path, template: str, count: int, varied: Mapping[str, str]) -> None:
    """Copy everything that belongs to the job ``template`` so often.

    ``varied`` gives an expression for some columns of the job, in which ``clone.n`` is the number
    of the clone and ``row`` the template's row. The file must be closed everywhere else: it is
    written without a journal.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        connection.execute("BEGIN IMMEDIATE")
        for table in _tables(connection):
            if table.name not in SKIPPED and table.names(template, connection):
                values = {"template": template, "count": count}
                connection.execute(table.clone(varied), values)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")


def _tables(connection: sqlite3.Connection) -> list[_Table]:
    """Return the tables of the file, with the columns that are neither a row id nor generated."""
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    names = [name for (name,) in connection.execute(query)]
    return [_Table(name, _columns(connection, name)) for name in names]


def _columns(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    rows = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
    return {name: kind for name, kind, key in rows if not (key and kind == "INTEGER")}
