"""The runner on a durable context: three recorded steps, replayed after any crash."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodeagent.evidence import Limits, answer, evidence_runner, verify_citations
from nodeagent.lossless import decode
from nodeagent.records.answer import Evidence

Write = Callable[[str, str | bytes], str]
GOAL = "How long does the country loaf rest?"


@pytest.mark.parametrize("crash_after", ["gather", "rank", "write"])
def test_a_crash_after_any_step_resumes_to_the_same_answer(
    documents: Path, frame: Any, crash: type[BaseException], crash_after: str
) -> None:
    """A second process replays what is recorded and runs only what is not."""
    given = {"sources": [documents.as_posix()]}
    first = frame(goal=GOAL, input=given, crash_after=crash_after)
    with pytest.raises(crash):
        evidence_runner(first)
    second = frame(goal=GOAL, input=given, journal=dict(first.journal))
    resumed = evidence_runner(second)

    assert first.ran + second.ran == ["gather", "rank", "write"]
    assert resumed == answer(GOAL, [documents])


def test_a_finished_frame_replays_without_its_documents(write: Write, frame: Any) -> None:
    """The recorded results are enough: equal answer, equal bytes, nothing read."""
    path = write("mill.txt", "The mill grinds rye.\n")
    first = frame(goal="What does the mill grind?", input={"sources": [path]})
    before = evidence_runner(first)
    Path(path).unlink()
    again = frame(goal=first.goal, input=first.input, journal=first.journal)

    assert evidence_runner(again) == before
    assert again.ran == []


def test_another_round_reads_the_sources_anew(write: Write, frame: Any) -> None:
    """Whoever adds the missing document and unblocks the job gets an answer from it."""
    path = write("mill.txt", "The roof is old.\n")
    blocked = frame(goal="What does the mill grind?", input={"sources": [path]})
    first = evidence_runner(blocked)
    write("mill.txt", "The mill grinds rye.\n")
    unblocked = frame(goal=blocked.goal, input=blocked.input, journal=blocked.journal, round=2)

    second = evidence_runner(unblocked)

    assert first.confidence == "low"
    assert second.confidence != "low"
    assert unblocked.ran == ["gather", "rank", "write"]


def test_the_journal_holds_digests_and_quotes_but_no_contents(write: Write, frame: Any) -> None:
    """A large document costs the journal a line."""
    filler = "Chaff is swept away every evening by whoever closes the shop. " * 2000
    path = write("mill.txt", filler + "\n\nThe mill grinds rye.\n")
    run = frame(goal="What does the mill grind?", input={"sources": [path]})
    evidence_runner(run)

    manifest: Any = decode(run.journal["gather 1"])
    assert [source["source"] for source in manifest["sources"]] == [path]
    assert manifest["sources"][0]["lines"] == 3
    assert sum(map(len, run.journal.values())) < 10_000


@pytest.mark.parametrize("step", ["rank", "write"])
def test_a_file_that_changes_after_it_was_gathered_is_not_cited(
    write: Write, frame: Any, crash: type[BaseException], step: str
) -> None:
    """The quote must stand in the very bytes that the digest names; the memo tells what happened."""
    path = write("mill.txt", "The mill grinds rye.\n")
    kept = write("other.txt", "The mill stands at the weir.\n")
    run = frame(goal="What does the mill grind?", input={"sources": [path, kept]}, crash_after="gather")
    with pytest.raises(crash):
        evidence_runner(run)
    run.before[step] = lambda: Path(path).write_text("\nThe mill grinds rye.\n")
    found = evidence_runner(run)

    assert all(each.source == kept for each in found.evidence)
    assert f"- {path} was changed after it was read" in found.deliverables["memo"].data.decode()


def test_a_file_that_vanishes_before_it_is_verified_is_not_cited(write: Write, frame: Any) -> None:
    """Nothing is stated on a document that is gone."""
    path = write("mill.txt", "The mill grinds rye.\n")
    run = frame(goal="What does the mill grind?", input={"sources": [path]})
    run.before["write"] = lambda: Path(path).unlink()
    found = evidence_runner(run)

    assert (found.confidence, found.statements, found.evidence) == ("low", (), ())
    assert f"- {path} does not exist" in found.deliverables["memo"].data.decode()


@pytest.mark.parametrize(
    ("goal", "given", "error"),
    [
        ("", {"sources": ["x"]}, "The goal is empty: ask a question or name a subject."),
        ("\x00\x1b \n?!", {"sources": ["x"]}, "The goal is empty: ask a question or name a subject."),
        ("what is the", {"sources": ["x"]}, "The goal has stop words only: name the subject that"),
        ("mill", None, "The input names no sources: it must be"),
        ("mill", {"sources": "docs"}, "The input names no sources: it must be"),
        ("mill", {"sources": []}, "The list of sources is empty: name at least one"),
        ("mill", {"sources": [""]}, "The list of sources must hold paths only"),
        ("mill", {"sources": ["a\x00b"]}, "The list of sources must hold paths only"),
        ("mill", {"sources": [3]}, "The list of sources must hold paths only"),
    ],
)
def test_a_goal_or_input_that_asks_nothing_is_one_clear_error(frame: Any, goal: str, given: Any, error: str) -> None:
    """The frame fails with a sentence, before any step, and still delivers a memo."""
    run = frame(goal=goal, input=given)
    found = evidence_runner(run)

    assert found.error is not None
    assert found.error.startswith(error)
    assert found.confidence == "low"
    assert run.ran == []
    assert found.deliverables["memo"].data


def test_a_python_without_full_text_search_is_one_clear_error(documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A SQLite built without FTS5 cannot rank; the user is told, no driver's error escapes."""
    monkeypatch.setattr("nodeagent.evidence.rank._TABLES", ("CREATE VIRTUAL TABLE passage USING fts0(own)",))
    found = answer(GOAL, [documents])

    assert found.error is not None
    assert "FTS5" in found.error


def test_equal_inputs_give_equal_bytes_in_any_process(documents: Path) -> None:
    """No clock, no hash seed, no order of arrival reaches the memo."""
    program = (
        "import sys; from nodeagent.evidence import answer;"
        f"sys.stdout.buffer.write(answer({GOAL!r}, [{str(documents)!r}]).deliverables['memo'].data)"
    )
    pages = {
        subprocess.run([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
                       check=True, capture_output=True).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip

    assert pages == {answer(GOAL, [documents]).deliverables["memo"].data}


def test_importing_the_package_loads_no_database() -> None:
    """Whoever imports the runner pays for ranking only when it runs."""
    program = "import sys, nodeagent.evidence.runner; print('nodeagent.evidence.rank' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": ":".join(sys.path)}, check=True, capture_output=True
    )

    assert done.stdout.strip() == b"False"
    assert sqlite3.sqlite_version_info >= (3, 9)


def test_a_citation_is_refuted_by_the_wrong_line_quote_digest_or_file(documents: Path) -> None:
    """Each of the four makes a citation false, and each is named."""
    good = answer(GOAL, [documents]).evidence[0]
    path = good.source
    bad = {
        "line": Evidence(id="line", source=path, line=14, quote=good.quote, sha256=good.sha256),
        "quote": Evidence(id="quote", source=path, line=13, quote="The country loaf sleeps", sha256=good.sha256),
        "digest": Evidence(id="digest", source=path, line=13, quote=good.quote, sha256="0" * 64),
        "file": Evidence(id="file", source=f"{path}.old", line=13, quote=good.quote, sha256=good.sha256),
        "bare": Evidence(id="bare", source=path, quote=good.quote),
    }

    assert verify_citations([good, *bad.values()]) == {
        "line": "does not have the quote in line 14",
        "quote": "does not have the quote in line 13",
        "digest": "was changed after it was read",
        "file": "does not exist",
        "bare": "is cited without a line and a digest",
    }


def test_the_number_of_statements_is_bounded(documents: Path) -> None:
    """A broad goal does not copy the documents."""
    found = answer("oven bread starter flour", [documents], Limits(max_statements=2))

    assert len(found.statements) <= 2
