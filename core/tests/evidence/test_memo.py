"""The memo: its form, and that nothing in a goal or a document acts on it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent.evidence import answer
from nodeagent.evidence.markdown import inert, verbatim, visible_line

Write = Callable[[str, str | bytes], str]
CITATION = re.compile(r'^\[(\d+)\] (.+?):(\d+) — "(.*)"$', re.MULTILINE)


def test_the_memo_reads_like_a_page(documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Title, answer with markers, confidence with its reason, evidence, sources: word for word."""
    monkeypatch.chdir(documents.parent)
    found = answer("Which role weighs the flour?", ["documents/runbook.md", "documents/none.md"])

    assert found.deliverables["memo"].media_type == "text/markdown; charset=utf-8"
    assert found.deliverables["memo"].data.decode() == (
        "# Which role weighs the flour?\n"
        "\n"
        "## Answer\n"
        "\n"
        "- Everyone has one of these roles for the day: Mixer weighs the flour and keeps the starter alive. [1]\n"
        "\n"
        "## Confidence\n"
        "\n"
        "**High**: the best passage covers 87% of the goal's words, rare ones weighing more.\n"
        "\n"
        "## Evidence\n"
        "\n"
        '[1] documents/runbook.md:33 — "Mixer weighs the flour and keeps the starter alive"\n'
        "\n"
        "## Sources\n"
        "\n"
        "Read: 1 file, 1.3 KiB\n"
        "\n"
        "- documents/runbook.md (37 lines)\n"
        "\n"
        "Skipped: 1 path\n"
        "\n"
        "- does not exist: documents/none.md\n"
    )


def test_every_marker_has_its_citation_and_every_citation_its_file(documents: Path) -> None:
    """A reader can follow each number to a line of a file."""
    page = answer("What is the default rounding step?", [documents]).deliverables["memo"].data.decode()
    cited = {number: (path, int(line)) for number, path, line, _ in CITATION.findall(page)}
    told = page.split("## Confidence")[0]

    assert set(re.findall(r"\[(\d+)\]", told)) == set(cited)
    assert all(Path(path).read_text().split("\n")[line - 1] for path, line in cited.values())


def test_a_goal_cannot_inject_markdown_or_control_characters(documents: Path) -> None:
    """A goal becomes one line of text, whatever it holds."""
    goal = "flour\n\n# Owned\r\n<script>x</script> [a](http://b) `c` *d* \x1b[31m\x00\u202e mixer"
    page = answer(goal, [documents]).deliverables["memo"].data.decode()

    title = page.split("\n")[0]
    assert title == r"# flour # Owned \<script\>x\</script\> \[a\](http://b) \`c\` \*d\* \[31m mixer"
    assert [line for line in page.split("\n") if line.startswith("# ")] == [title]
    assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", page)


def test_a_document_cannot_inject_markdown(write: Write) -> None:
    """A quote that Markdown would act upon is shown as code, and stays verbatim."""
    line = "The mill ![x](http://evil/p.png) grinds <img src=x> ``rye`` __daily__"
    found = answer("What does the mill grind daily?", [write("mill.txt", line + "\n")])
    page = found.deliverables["memo"].data.decode()

    assert found.evidence[0].quote == line
    assert f'"```{line}```"' in page
    assert "![x]" not in page.split("## Confidence")[0]


def test_a_passage_with_hidden_characters_is_not_quoted(write: Write) -> None:
    """What a reader would not see as it is cannot be evidence, and the memo says that it was left out."""
    path = write("mill.txt", "The mill grinds \u202eeyr.\n\nThe mill grinds oats.\n")
    found = answer("What does the mill grind?", [path])

    assert [each.quote for each in found.evidence] == ["The mill grinds oats."]
    assert f"- {path} has lines with hidden characters" in found.deliverables["memo"].data.decode()


@pytest.mark.parametrize("mark", ["\x07", "\x1b", "\x1b[31m", "\x9b"])
@pytest.mark.parametrize("name", ["mill.txt", "mill.md", "mill.py", "mill.html"])
def test_a_control_character_separates_passages(write: Write, name: str, mark: str) -> None:
    """What stands on either side of it can be quoted; it cannot."""
    found = answer("What does the mill grind?", [write(name, f"Log{mark} The mill grinds rye.{mark} Done\n")])

    assert [(each.line, each.quote) for each in found.evidence] == [(1, "The mill grinds rye.")]


def test_a_quote_of_several_lines_is_cited_as_a_range_with_its_line_breaks(write: Write) -> None:
    """As a block that it cannot leave, whatever its lines begin with."""
    first = "The mill beyond the weir, which the town has owned since"
    quote = f"{first}\n# the flood, grinds ```rye``` for everybody who\r\nbrings it."
    path = write("mill.txt", f"Mill\n\n{quote}\n")
    page = answer("What does the mill grind?", [path]).deliverables["memo"].data.decode()

    assert f"[1] {path}:3-5\n\n````text\n{quote}\n````\n".replace("\r", "") in page


def test_lines_of_a_list_item_that_begin_anew_are_quoted_one_by_one(write: Write) -> None:
    """A sentence that was not wrapped has one line."""
    found = answer(
        "What does the mill grind?", [write("mill.md", "# Mill\n\n- Owner: Agathe\n  The mill grinds rye\n")]
    )

    assert [(each.line, each.quote) for each in found.evidence] == [(4, "The mill grinds rye")]


@given(st.text(max_size=80))
def test_verbatim_shows_every_character_of_a_line(text: str) -> None:
    """Plain or as code: the text itself is always in the page, between fences it cannot close."""
    line = visible_line(text)
    shown = verbatim(line)

    assert line in shown
    if shown != line:
        fence = re.match("`+", shown)
        assert fence is not None
        assert fence[0] not in re.findall("`+", line)


@given(st.text(max_size=80))
def test_inert_text_is_the_text_with_escapes(text: str) -> None:
    """Escaping adds backslashes and nothing else, and leaves no active character bare."""
    line = visible_line(text)

    assert re.sub(r"\\([^\w\s]|_)", r"\1", inert(line)) == line
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*<>\[\]|~]", inert(line))
