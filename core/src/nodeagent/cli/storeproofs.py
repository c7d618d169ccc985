"""What every store must do for the runtime, proved on a real one with a clock that is turned by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from attrs import define, field

from nodeagent.cli.proofs import Proofs, expect
from nodeagent.errors import Conflict, Fenced, LeaseLost
from nodeagent.lossless import Json
from nodeagent.records.answer import Answer, Evidence, Statement
from nodeagent.records.artifact import ArtifactRef
from nodeagent.records.commit import Commit, WriteOnce
from nodeagent.records.journal import Entry, Held, Inline
from nodeagent.records.lease import Claim, Lanes, OneJob
from nodeagent.rules.specs import FrameRequest, lane_of
from nodeagent.runtime.app import App
from nodeagent.runtime.client import Runtime
from nodeagent.runtime.frames import run_durable_reasoning_frame
from nodeagent.testing import ManualClock

if TYPE_CHECKING:
    from nodeagent.backend import Backend
    from nodeagent.cli.places import Recipe
    from nodeagent.runtime.context import FrameContext
    from nodeagent.runtime.outcome import Outcome

TTL_MS: Final = 60_000
RUNNER: Final = "smoke"
SEEDED: Final = "seeded failure"


def prove_store(proofs: Proofs, recipe: Recipe) -> None:
    """Prove the runtime's promises on the store that ``recipe`` opens."""
    story = Story(recipe=recipe)
    if not proofs.prove("the store opens", story.open):
        return
    try:
        proofs.prove("a queued frame is scheduled and run", story.scheduled)
        proofs.prove("a failed attempt goes on from its recorded steps", story.resumed)
        proofs.prove("an active lease keeps everybody else out", story.leased)
        proofs.prove("the journal is write-once", story.write_once)
        proofs.prove("a stale lease is reclaimed with a higher token, and its old holder is refused", story.reclaimed)
        proofs.prove("a duplicate run replays the stored receipt and executes nothing", story.replayed)
        proofs.prove("the receipt is an artifact under its own hash", story.stored)
        if story.backend.capabilities.shared:
            proofs.prove("another process loads the same receipt", story.elsewhere)
        else:
            proofs.cannot_apply("another process loads the same receipt", "other processes do not see this store")
        proofs.prove("closing and opening again loses nothing", story.reopened)
    finally:
        story.backend.close()


@define(kw_only=True)
class Story:
    """One application on the store. Its bodies are counted, and its clock stands still until it is turned."""

    recipe: Recipe
    clock: ManualClock = field(factory=ManualClock)
    bodies: list[str] = field(factory=list)
    fails: bool = False
    backend: Backend = field(init=False)
    runtime: Runtime = field(init=False)
    first: Claim = field(init=False)
    contested: str = field(factory=lambda: f"contested-{uuid4().hex[:8]}")
    done: str = field(factory=lambda: f"done-{uuid4().hex[:8]}")
    receipt: bytes = b""

    def open(self) -> str:
        """Open the store. Its leases go by the manual clock, the worker's patience by the host's."""
        app = App()
        app.add_runner(RUNNER, self._runner)
        self.backend = self.recipe.open(self.clock)
        self.runtime = Runtime(app, self.backend)
        return f"{self.backend.provider}, namespace {self.backend.namespace}"

    def scheduled(self) -> str:
        """Enqueue, look, and let a worker of the lane take it."""
        self.runtime.enqueue(_request("a queued frame"), job_id=self.done)
        peek = self.backend.scheduler.peek(Lanes(names=(lane_of("default", RUNNER),)))
        expect([job.id for job in peek.jobs] == [self.done], "the scheduler does not offer the queued job")
        worker = self.runtime.worker()
        worker.run(until_idle=True, max_wait_ms=0)
        header = self.runtime.job(self.done).header
        expect(header.status == "completed", f"expected the job to be completed, but it is {header.status}")
        self.receipt = self.runtime.receipt(self.done)
        return f"completed in attempt {header.attempts} with token {header.token}; {len(self.bodies)} steps recorded"

    def resumed(self) -> str:
        """Let the first attempt fail after its first step."""
        self.fails, before = True, len(self.bodies)
        job_id = f"resumed-{uuid4().hex[:8]}"
        self.runtime.enqueue(_request("a failed attempt"), job_id=job_id)
        first = self._attempt(job_id)
        expect(first.status == "rescheduled", f"expected the failed attempt to be rescheduled, found {first.status}")
        self.clock.advance(TTL_MS)
        second = self._attempt(job_id)
        expect(second.status == "completed", f"expected the second attempt to complete, found {second.status}")
        ran = self.bodies[before:]
        expect(ran == ["one", "two"], f"expected each step to run once, but these ran: {', '.join(ran)}")
        return "the first step was replayed, the second one ran: each ran once"

    def leased(self) -> str:
        """Claim a job by hand and try to get it again."""
        self.runtime.enqueue(_request("a contested frame"), job_id=self.contested)
        claims = self.backend.scheduler.claim(OneJob(self.contested), "first worker", TTL_MS, uuid4().hex)
        expect(claims.claims, "the job could not be claimed")
        self.first = claims.claims[0]
        again = self.backend.scheduler.claim(OneJob(self.contested), "second worker", TTL_MS, uuid4().hex)
        expect(not again.claims, "a second worker got the job while the first one's lease was active")
        outcome = self._attempt(self.contested)
        expect(outcome.status == "leased", f"expected the runtime to say leased, found {outcome.status}")
        return f"held with token {self.first.lease.token}; two others were turned away"

    def write_once(self) -> str:
        """Write one key twice under the lease."""
        stored = self.backend.transactions.commit(self._note(b'"first"'))
        try:
            self.backend.transactions.commit(self._note(b'"second"'))
        except Conflict as conflict:
            expect(conflict.kind == "written", f"expected the refusal to say written, found {conflict.kind}")
        else:
            expect(None, "a second value was accepted for a key of the journal")
        entry = self.backend.journal.get(self._scope(), ("note",))
        is_first = entry is not None and entry.value == Inline(b'"first"')
        expect(is_first and not stored.duplicate, "the journal does not hold the first value any more")
        return "the second value was refused, the first one stands"

    def reclaimed(self) -> str:
        """Let the lease run out, let the runtime go on, and let the old holder try to write."""
        old = self.first.lease
        self.clock.advance(TTL_MS + 1)
        outcome = self._attempt(self.contested)
        expect(outcome.status == "completed", f"expected the next worker to complete the job, found {outcome.status}")
        new = self.runtime.job(self.contested).header.token
        expect(new > old.token, f"expected a token above {old.token}, found {new}")
        expect(self._refuses_commit(), "the old holder could still write")
        expect(self._refuses_renewal(), "the old holder could renew its lease")
        return f"token {old.token} was followed by {new}; the old holder's write and renewal were refused"

    def replayed(self) -> str:
        """Ask for the finished job once more."""
        before = list(self.bodies)
        expect(self.receipt, "there is no receipt to compare with")
        enqueued = self.runtime.enqueue(_request("a queued frame"), job_id=self.done)
        expect(enqueued.duplicate, "the same request was stored twice")
        outcome = self._attempt(self.done)
        expect(outcome.replayed, f"expected the outcome replayed, found {outcome.status}")
        expect(outcome.receipt == self.receipt, "the replayed receipt differs from the stored one")
        expect(self.bodies == before, "a step ran again")
        return f"{len(self.receipt)} bytes, the same; no step ran"

    def stored(self) -> str:
        """Load the receipt from the artifact port by its hash."""
        ref = ArtifactRef.of(self.receipt)
        expect(self.backend.artifacts.get(ref) == self.receipt, "the artifact differs from the receipt")
        return ref.id

    def elsewhere(self) -> str:
        """Load the receipt in another process."""
        found = self.recipe.receipt_elsewhere(self.done)
        expect(found == self.receipt, "the other process reads other bytes")
        return f"{len(found)} bytes, the same"

    def reopened(self) -> str:
        """Close the store, open it again, and ask for the finished job once more."""
        self.backend.close()
        self.open()
        return self.replayed()

    # -- pieces --------------------------------------------------------------------------------------

    def _runner(self, frame: FrameContext) -> Answer:
        one = frame.step("one", lambda: self._ran("one"))
        if self.fails:
            self.fails = False
            raise RuntimeError(SEEDED)
        two = frame.step("two", lambda: self._ran("two"))
        evidence = Evidence(id="1", source="smoke", quote=f"{one} {two}")
        return Answer(
            confidence="high",
            statements=(Statement(text="Both steps are recorded.", citations=("1",)),),
            evidence=(evidence,),
        )

    def _ran(self, name: str) -> Json:
        self.bodies.append(name)
        return name

    def _attempt(self, job_id: str) -> Outcome:
        worker = self.runtime.worker()
        try:
            return run_durable_reasoning_frame(job_id, worker)
        finally:
            worker.close()

    def _scope(self) -> Held:
        return Held(("job", self.contested), "smoke")

    def _note(self, data: bytes) -> Commit:
        entry = Entry(key=("note",), kind="note", value=Inline(data), attempt=1)
        return Commit.fenced(uuid4().hex, self.first.lease.fence, WriteOnce(self._scope(), entry))

    def _refuses_commit(self) -> bool:
        late = Entry(key=("late",), kind="note", value=Inline(b'"late"'), attempt=1)
        commit = Commit.fenced(uuid4().hex, self.first.lease.fence, WriteOnce(self._scope(), late))
        try:
            self.backend.transactions.commit(commit)
        except Fenced:
            return self.backend.journal.get(self._scope(), ("late",)) is None
        return False

    def _refuses_renewal(self) -> bool:
        try:
            self.backend.leases.renew(self.first.lease, TTL_MS)
        except LeaseLost:
            return True
        return False


def _request(goal: str) -> FrameRequest:
    return FrameRequest(goal=goal, runner=RUNNER, input={"made": "for a smoke"})


def view(smokes: list[Proofs], total_ms: int) -> dict[str, Any]:
    """Return all smokes as one document."""
    proofs = [{"smoke": smoke.name, **proof.view()} for smoke in smokes for proof in smoke.proofs]
    steps = [
        {"name": smoke.name, "ms": smoke.total_ms, "ok": smoke.ok, "detail": f"{len(smoke.proofs)} proofs"}
        for smoke in smokes
    ]
    absent = [{"smoke": smoke.name, **what} for smoke in smokes for what in smoke.absent]
    is_ok = bool(smokes) and all(smoke.ok for smoke in smokes)
    return {"ok": is_ok, "totalMs": total_ms, "steps": steps, "proofs": proofs, "notApplicable": absent}
