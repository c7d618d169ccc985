"""`nodeagent smoke`: what it proves, and that a broken promise is not proved."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nodeagent.cli.places import provider_place
from nodeagent.cli.proofs import Broken, Proofs, expect, write_json
from nodeagent.cli.storeproofs import Story, prove_store, view
from nodeagent.errors import Invalid

PROMISES = (
    "a queued frame is scheduled and run",
    "an active lease keeps everybody else out",
    "a stale lease is reclaimed with a higher token, and its old holder is refused",
    "the journal is write-once",
    "a duplicate run replays the stored receipt and executes nothing",
    "closing and opening again loses nothing",
)


@pytest.mark.parametrize("what", ["frame", "durable", "memory"])
def test_a_smoke_passes_and_writes_its_document(bare: Any, what: str) -> None:
    """The same on stdout and in the file."""
    document = bare.json("smoke", what, "--json", "--json-out", "out/smoke.json")

    assert document["ok"] is True
    assert document == json.loads((bare.folder / "out" / "smoke.json").read_text(encoding="utf-8"))
    assert {"ok", "totalMs", "steps", "proofs", "notApplicable"} == set(document)
    assert all(proof["ok"] and proof["detail"] for proof in document["proofs"])
    assert all({"name", "ms", "ok", "detail"} <= set(step) for step in document["steps"])


def test_every_promise_is_among_the_proofs(bare: Any) -> None:
    """Memory is seen by no other process, and that is said."""
    document = bare.json("smoke", "durable", "--json")

    assert {proof["name"] for proof in document["proofs"]} >= set(PROMISES)
    assert [absent["name"] for absent in document["notApplicable"]] == ["another process loads the same receipt"]


def test_people_see_ticks(bare: Any) -> None:
    """Also where the terminal has only ASCII."""
    assert "  ✓ the journal is write-once" in bare("smoke", "durable").stdout
    ascii_only = bare("smoke", "frame", environ={"PYTHONIOENCODING": "ascii"})
    assert "  ok every quote stands in the cited line" in ascii_only.stdout
    assert "4 proofs hold" in ascii_only.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nobody"], "no installed distribution offers the provider 'nobody'"),
        (["files"], "stores artifacts only"),
        (["frame", "--json-out", "nodeagent.toml/x.json"], "cannot be written"),
    ],
)
def test_wrong_usage(cli: Any, words: list[str], sentence: str) -> None:
    """Code 2, one sentence."""
    done = cli("smoke", *words)

    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_promise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that lets the old holder write fails that proof and no other."""
    monkeypatch.setattr(Story, "_refuses_commit", lambda _: False)
    proofs = Proofs("x")

    with provider_place("memory") as place:
        prove_store(proofs, place.recipe)

    failed = [proof.name for proof in proofs.proofs if not proof.ok]
    assert failed == ["a stale lease is reclaimed with a higher token, and its old holder is refused"]
    assert view([proofs], 1)["ok"] is False


def test_nothing_proved_is_not_ok() -> None:
    """An empty list is no success."""
    assert not Proofs("x").ok
    assert view([], 0)["ok"] is False


def test_a_proof_that_raises_failed() -> None:
    """Whatever it raises; the text of an unexpected error is not told."""
    proofs = Proofs("x")

    def unexpected() -> str:
        raise RuntimeError("postgres://me:hunter2@db")

    def broken() -> str:
        expect(1 + 1 == 3, "expected 3, found 2")
        raise Broken("never reached")

    assert not proofs.prove("a", unexpected)
    assert not proofs.prove("b", broken)
    assert "hunter2" not in proofs.proofs[0].detail
    assert proofs.proofs[1].detail == "expected 3, found 2"


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    """And nothing lies beside it."""
    path = tmp_path / "deep" / "report.json"

    write_json(path, {"a": 1})
    write_json(path, {"a": 2})

    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 2}
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(Invalid, match="cannot be written"):
        write_json(path / "below", {})
