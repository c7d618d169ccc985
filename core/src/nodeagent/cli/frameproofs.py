"""What a frame must do without any store: answer with evidence, or say why not."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from attrs import define

from nodeagent.cli.demo import QUESTION, UNANSWERABLE, write_documents
from nodeagent.cli.proofs import Proofs, expect
from nodeagent.evidence import evidence_runner
from nodeagent.rules.specs import FrameRequest
from nodeagent.runtime.frames import run_reasoning_frame

if TYPE_CHECKING:
    from nodeagent.records.answer import Answer, Evidence
    from nodeagent.rules.verdict import Verdict


def prove_frame(proofs: Proofs) -> None:
    """Prove what a frame promises, on three small documents."""
    with TemporaryDirectory(prefix="nodeagent-smoke-") as folder:
        frames = Frames(write_documents(Path(folder)))
        proofs.prove("a frame answers with evidence", frames.answered)
        proofs.prove("every quote stands in the cited line", frames.quoted)
        proofs.prove("what the documents cannot answer is blocked, with the reason", frames.blocked)
        proofs.prove("equal input gives an equal answer", frames.repeated)


@define
class Frames:
    """Frames on some documents."""

    sources: list[str]

    def answered(self) -> str:
        """Ask something that the documents answer."""
        verdict, answer = self._ask(QUESTION)
        expect(verdict.decision == "completed", f"expected completed, found {verdict.decision}: {verdict.reason}")
        expect("memo" in answer.deliverables, "there is no memo")
        return f"{len(answer.statements)} statements, {len(answer.evidence)} pieces of evidence, one memo"

    def quoted(self) -> str:
        """Look every quote up."""
        _, answer = self._ask(QUESTION)
        for item in answer.evidence:
            expect(_stands_there(item), f"the quote of {Path(item.source).name}:{item.line} does not stand there")
        return f"{len(answer.evidence)} quotes were looked up"

    def blocked(self) -> str:
        """Ask something that the documents do not answer."""
        verdict, _ = self._ask(UNANSWERABLE)
        expect(verdict.decision == "blocked", f"expected blocked, found {verdict.decision}: {verdict.reason}")
        return verdict.reason

    def repeated(self) -> str:
        """Ask twice."""
        expect(self._ask(QUESTION) == self._ask(QUESTION), "two runs of one frame differ")
        return "two runs gave the same"

    def _ask(self, goal: str) -> tuple[Verdict, Answer]:
        request = FrameRequest(goal=goal, runner="evidence", input={"sources": [*self.sources]}, deliverables=("memo",))
        return run_reasoning_frame(evidence_runner, request)


def _stands_there(item: Evidence) -> bool:
    lines = Path(item.source).read_text(encoding="utf-8").split("\n")
    return "\n".join(lines[(item.line or 1) - 1 :]).find(item.quote) in range(len(lines[(item.line or 1) - 1]) + 1)
