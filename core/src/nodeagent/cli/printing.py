"""What people and machines read: clean text, tables, one JSON document."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click

_UNSAFE: Final = re.compile(
    # Controls (C0, DEL, C1), what turns the direction of text or ends a line, marks nobody sees, surrogates.
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
    "|[\U000e0000-\U000e007f]"
)
NAME_WIDTH: Final = 40
"""No line is narrower than this, however narrow the terminal."""
GAP: Final = 2
"""Blanks between two columns of a table."""
PROGRAM: Final = "nodeagent"
_SHORT: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_UNITS: Final = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def clean(text: str, *, keep: str = "", limit: int | None = None) -> str:
    """Return ``text`` with every character escaped that could act on a terminal, but those of ``keep``."""
    shown = _UNSAFE.sub(lambda found: found[0] if found[0] in keep else _escaped(found[0]), text)
    return shown if limit is None or len(shown) <= limit else f"{shown[: limit - 1]}…"


def _escaped(char: str) -> str:
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if code <= 0xFF:  # noqa: PLR2004 - two digits
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits


def command() -> str:
    """Return how this command line is called from here: ``nodeagent``, or the path that it was started by."""
    started = Path(sys.argv[0])
    found = shutil.which(PROGRAM)
    if started.name == "__main__.py":
        is_found = found is not None and Path(found).parent == Path(sys.executable).parent
        return PROGRAM if is_found else f"{_python()} -m {PROGRAM}"
    if started.name != PROGRAM or (found is not None and Path(found).absolute() == started.absolute()):
        return PROGRAM
    return _near(str(started))


def _python() -> str:
    """Return how this interpreter is called from here."""
    names = ("python", "python3")
    return next((name for name in names if shutil.which(name) == sys.executable), _near(sys.executable))


def _near(path: str) -> str:
    """Return a program's path, relative to the working directory if that is shorter, as a shell takes it."""
    near = os.path.relpath(path)
    return clean(shlex.quote(near if os.sep in near and len(near) < len(path) else path))


def put(text: str) -> None:
    """Write a line of the result to stdout. It is clean already."""
    click.echo(text)


def say(text: str) -> None:
    """Write a line of talk to stderr. It is clean already."""
    click.echo(text, err=True)


def put_json(document: Any) -> None:
    """Write the one JSON document of a command to stdout, in ASCII, so that no character acts on a terminal."""
    put(json.dumps(document, indent=2))


def agreed(question: str) -> None:
    """Ask, and go on only after a yes. A no, and an end of the input, end the command with code 1."""
    try:
        is_yes = click.confirm(question, err=True)
    except click.Abort as error:
        if not isinstance(error.__context__, EOFError):
            raise
        is_yes = False
        say("")
    if not is_yes:
        say("nothing was changed; use --yes")
        raise click.exceptions.Exit(1)


def tick(*, ok: bool) -> str:
    """Return a mark that the terminal can show."""
    marks = ("✓", "✗")
    try:
        "".join(marks).encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        marks = ("ok", "FAILED")
    return marks[0] if ok else marks[1]


def put_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table to stdout: drawn on a terminal, else in plain aligned columns."""
    texts = [[clean(str(cell)) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _draw(columns, texts)
        return
    lines = [list(columns), *texts]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    for line in lines:
        put("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def _draw(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
    """Draw a table; where the terminal is too narrow for it, one block of ``column: value`` for each row."""
    lines = [columns, *texts]
    widths = [max(len(line[at]) for line in lines) for at in range(len(columns))]
    if sum(widths) + GAP * (len(widths) - 1) <= shutil.get_terminal_size().columns:
        _draw_table(columns, texts)
        return
    blocks = ["\n".join(f"{name}: {cell}" for name, cell in zip(columns, row, strict=True)) for row in texts]
    put("\n\n".join(blocks))


def _draw_table(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in texts:
        table.add_row(*(Text(cell) for cell in row))
    Console(highlight=False).print(table)


def flow(text: str) -> str:
    """Return clean text with its lines broken between words where the terminal ends; without one as it is."""
    if not sys.stdout.isatty():
        return text
    import textwrap

    width = max(shutil.get_terminal_size().columns, NAME_WIDTH)
    wrap = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False, subsequent_indent="      ")
    return "\n".join(line if len(line) <= width else wrap.fill(line) for line in text.split("\n"))


def when(ms: int | None) -> str:
    """Return a point in time for people, in UTC."""
    if ms is None:
        return "-"
    try:
        moment = datetime.fromtimestamp(ms / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"
    return moment.isoformat(" ", "seconds").replace("+00:00", "Z")


def span(ms: int) -> str:
    """Return a duration for people, in its largest unit: ``340 ms``, ``12 s``, ``3 h``."""
    for size, unit in _UNITS:
        if ms >= size:
            return f"{ms // size} {unit}"
    return f"{max(ms, 0)} ms"


def ago(ms: int | None, now: int) -> str:
    """Return how long ago a point in time was, for people."""
    return "-" if ms is None else f"{span(now - ms)} ago"


def count(number: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: ``1 job``, ``1,234 jobs``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
