"""Which reader takes a document apart: prose, markup or program, chosen by the file's suffix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from nodeagent.evidence.markup import markup
from nodeagent.evidence.passage import Passage
from nodeagent.evidence.program import program
from nodeagent.evidence.prose import prose

MARKUP_SUFFIXES: Final = frozenset({".html", ".htm", ".xhtml", ".svg"})
"""Files read as HTML."""

_PROGRAM = (
    "ada asm awk bash bat bazel c cc cfg clj cljs cmake coffee conf cpp cs css csv cu cxx d dart"
    " ddl diff el elm env erl ex exs f90 fish fs go gradle graphql groovy h hcl hh hpp hrl hs htaccess"
    " hxx ini java jl js json json5 jsonc jsonl jsx kt kts less lisp lock lua m mak mjs mk ml mm nim"
    " nix odin pas patch php pl plist pm properties proto ps1 psql py pyi pyx r rb rego rs sass scala"
    " scm scss service sh sol sql svelte swift tcl tex tf tla toml ts tsv tsx v vb vhd vim vue xml"
    " yaml yml zig zsh"
)

PROGRAM_SUFFIXES: Final = frozenset(f".{suffix}" for suffix in _PROGRAM.split())
"""Files read line by line, as source code, configuration or data."""

PROGRAM_NAMES: Final = frozenset({"dockerfile", "makefile", "gnumakefile", "justfile", "procfile"})
"""Files without a suffix that are read line by line."""


def passages(name: str, text: str) -> Iterator[Passage]:
    """Yield the passages of a document in the order in which they stand in it."""
    path = PurePosixPath(name)
    if path.suffix.lower() in MARKUP_SUFFIXES:
        return markup(text)
    if path.suffix.lower() in PROGRAM_SUFFIXES or path.name.lower() in PROGRAM_NAMES:
        return program(text)
    return prose(text)


def line_of(text: str, offset: int) -> int:
    r"""Return the one-based line that ``offset`` stands in; only ``\n`` ends a line.

    That is how ``grep -n``, ``git`` and compilers count: ``\r\n`` is one line ending, while a lone
    ``\r``, a form feed and U+2028 are characters within a line.
    """
    return text.count("\n", 0, offset) + 1
