"""Passages and quotes: whatever the document, a quote stands in the file at its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodeagent.evidence import answer
from nodeagent.evidence.documents import line_of, passages
from nodeagent.evidence.passage import MAX_QUOTE
from nodeagent.evidence.verify import stands

Write = Callable[[str, str | bytes], str]

NAMES = ["a.md", "a.txt", "a.html", "a.py", "a.toml", "a.json", "Makefile", "README"]
BITS = st.sampled_from(
    [
        *["\n", "\n\n", "\r\n", "\r", "\f", "\u2028", "\t", "    ", " "],
        *["# Head", "- item", "1. step", "| a | b |", "|---|---|", "```", "====", "> said", "• dot"],
        *["<p>", "</p>", "<b>", "</b>", "<!--", "-->", "<script>", "<td>", "</td>", "<tr>", "&amp;", "<h1", ">"],
        *["def f():", '"""', "'''", "# note", "// note", "/*", " * ", "[table]", "key:", "}", "x = 1"],
        *["Oven. ", "The oven is hot! ", "e.g. ", "flourMill ", "bread", "é", "麦", "𝄞", "\u202e", "\x00", "\x1b"],
    ]
)
DOCUMENTS = st.lists(st.one_of(BITS, st.text(max_size=12)), max_size=60).map("".join)


@given(name=st.sampled_from(NAMES), text=DOCUMENTS)
def test_every_passage_is_a_bounded_trimmed_part_of_its_document(name: str, text: str) -> None:
    """No reader yields an empty, padded, overlong or misplaced span, whatever it is given."""
    for passage in passages(name, text):
        quote = text[passage.start : passage.end]

        assert 0 <= passage.start < passage.end <= len(text)
        assert quote == quote.strip()
        assert len(quote) <= MAX_QUOTE
        assert passage.text.strip()
        assert stands(text, line_of(text, passage.start), quote)


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(NAMES), text=DOCUMENTS, ending=st.sampled_from(["\n", "\r\n"]), bom=st.booleans())
def test_every_quote_stands_verbatim_in_the_file_at_its_line(
    tmp_path_factory: pytest.TempPathFactory, *, name: str, text: str, ending: str, bom: bool
) -> None:
    """Read back from the bytes and counted the way grep counts, each quote begins in its line."""
    text = text.encode("utf-8", "ignore").decode().replace("\n", ending)
    path = tmp_path_factory.mktemp("any") / name
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.encode())
    found = answer("the hot oven bread flour mill item step note", [path])

    data = path.read_bytes()
    for each in found.evidence:
        quote = each.quote.encode()
        begins = [at for at in range(len(data)) if data.startswith(quote, at)]
        assert each.line in {data.count(b"\n", 0, at) + 1 for at in begins}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("one\ntwo\nThe mill grinds rye.\n", 3),
        ("one\r\ntwo\r\nThe mill grinds rye.\r\n", 3),
        ("\ufeffone\n\nThe mill grinds rye.", 3),
        ("one\rtwo\fthree\u2028four\x85five\n\nThe mill grinds rye.\n", 3),
        ("The mill grinds rye.", 1),
    ],
)
def test_only_line_feeds_end_a_line(write: Write, content: str, line: int) -> None:
    """Carriage returns, form feeds and U+2028 are characters within a line; a BOM moves nothing."""
    found = answer("What does the mill grind?", [write("mill.txt", content)])

    assert [(each.line, each.quote) for each in found.evidence] == [(line, "The mill grinds rye.")]


def test_a_line_of_a_megabyte_is_quoted_in_pieces(write: Write) -> None:
    """One endless line costs no more than its length, and its quotes stay short."""
    text = "bran " * 100_000 + "the mill grinds rye at dawn " + "chaff " * 100_000
    found = answer("When does the mill grind rye?", [write("long.txt", text)])

    assert found.confidence == "high"
    assert "the mill grinds rye at dawn" in found.evidence[0].quote
    assert len(found.evidence[0].quote) <= MAX_QUOTE


def test_a_wrapped_sentence_is_one_statement_and_its_quote_keeps_the_line_break(documents: Path) -> None:
    """The statement reads as a sentence; the quote is what stands in the file."""
    found = answer("Which loaf is baked as flatbread instead?", [documents])

    assert found.statements[0].text.startswith("A loaf that has rested for less than twelve hours")
    assert found.evidence[0].quote.startswith("A loaf that has\nrested for")
    assert found.evidence[0].line == 13


def test_html_is_quoted_raw_and_stated_clean(documents: Path) -> None:
    """Tags and entities stay in the quote and go from the statement; scripts are not read."""
    found = answer("Why is the baking stone never washed?", [documents])

    assert found.statements[0].text == (
        "The baking stone is brushed dry & never washed: water makes it crack at the next heating."
    )
    assert found.evidence[0].quote.startswith("The <b>baking stone</b> is brushed dry &amp; never washed: water\n")
    assert answer("What does the script say about replacing the stone daily?", [documents]).confidence == "low"


def test_a_table_row_is_stated_with_the_names_of_its_columns(documents: Path) -> None:
    """A row becomes a sentence; its quote is the row."""
    found = answer("What do I do when alarm A7 comes?", [documents])

    assert found.statements[0].text == (
        "Alarms: A7 — Meaning: The flue is blocked; What to do: Switch the oven off and open both doors."
    )
    assert found.evidence[0].quote == "A7 | The flue is blocked | Switch the oven off and open both doors"


def test_a_list_item_is_introduced_by_the_sentence_that_leads_into_the_list(documents: Path) -> None:
    """An item alone says too little."""
    found = answer("Who carries bread to the market stall?", [documents])

    assert found.statements[0].text == (
        "Everyone has one of these roles for the day: Runner carries bread to the market stall."
    )
