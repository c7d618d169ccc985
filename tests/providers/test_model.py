"""Random calls on a provider and on the memory provider give equal answers.

Both are driven with the same ids and the same clock, so every field can be compared. Two things may
differ: tokens may skip, so each is replaced by the claim that it belongs to; and a due time that has
come is only compared as such.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from attrs import define, evolve, field
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from nodeagent import (
    After,
    At,
    BackendError,
    Claim,
    Claims,
    Commit,
    EntryKey,
    Fence,
    FrameIndex,
    Held,
    JobIndex,
    Lanes,
    Lease,
    Ms,
    OneJob,
    Peek,
    PortError,
    Put,
    Release,
    Require,
    Revision,
    Revoke,
    RunIndex,
    RunRecord,
    Seq,
    Shared,
    Stored,
    Version,
    Write,
    WriteOnce,
)
from nodeagent.testing import ManualClock

if TYPE_CHECKING:
    from tests.providers.conftest import Lab, Maker

JOBS = ("j", "k", "\0", "é")
LANES = ("a", "b")
KEYS = ("x", "y", "z")
TTLS = (10, 100)
RESOURCES = (("run", "r"), ("run", "s"), ("machine",))
DATA = (b"", b"\0", b"one")
STATUSES = ("queued", "completed", "failed")

jobs, lanes, keys = st.sampled_from(JOBS), st.sampled_from(LANES), st.sampled_from(KEYS)
ttls, data = st.sampled_from(TTLS), st.sampled_from(DATA)
picks = st.integers(0, 1_000)
dues = st.one_of(
    st.none(), st.integers(-20, 60).map(lambda ms: ("at", ms)), st.integers(0, 60).map(lambda ms: ("after", ms))
)
wants = st.one_of(
    st.permutations(LANES).flatmap(lambda names: st.integers(1, 2).map(lambda n: Lanes(names=tuple(names[:n])))),
    jobs.map(OneJob),
)


@define(eq=False)
class Side:
    """One of the two providers, and what it answered: leases, claims and commits by their number."""

    lab: Lab
    leases: list[Lease] = field(factory=list)
    claims: list[Claim] = field(factory=list)
    commits: list[Commit] = field(factory=list)
    refs: list[Any] = field(factory=list)
    tokens: dict[tuple[Any, int], str] = field(factory=dict)

    def learn(self, lease: Lease) -> None:
        """Remember which claim a token belongs to."""
        self.leases.append(lease)
        self.tokens[lease.resource, lease.token] = lease.claim_id

    def plain(self, value: Any, resource: Any = None) -> Any:
        """Return a value with its tokens replaced, as plain comparable data."""
        if isinstance(value, (PortError, BackendError)):
            about = getattr(value, "resource", None) or _owner(getattr(value, "key", None))
            fields = {} if isinstance(value, BackendError) else vars(value)
            return type(value).__name__, self._fields(fields, about)
        if isinstance(value, (Claims, Peek)):
            due = value.next_due
            value = evolve(value, next_due="come" if due is not None and due <= value.now else due)  # type: ignore[arg-type]
        if attrs.has(type(value)):
            about = getattr(value, "resource", None) or getattr(value, "owner", None) or resource
            names = [each.name for each in attrs.fields(type(value))]
            return type(value).__name__, self._fields({n: getattr(value, n) for n in names}, about)
        if isinstance(value, (tuple, list)):
            return [self.plain(each, resource) for each in value]
        return value

    def _fields(self, fields: dict[str, Any], about: Any) -> dict[str, Any]:
        return {
            name: self._token(about, value) if name in ("token", "mark") else self.plain(value, about)
            for name, value in fields.items()
            if name not in ("key", "_connection")
        }

    def _token(self, about: Any, token: int | None) -> object:
        return token if not token else self.tokens.get((about, token), "raised")


def _owner(key: object) -> object:
    return key.scope.owner if isinstance(key, EntryKey) else None


def _answer(deed: Callable[[], Any]) -> Any:
    try:
        return deed()
    except (PortError, BackendError) as error:
        return error


class Both(RuleBasedStateMachine):
    """Every call is made on both sides, and the answers are compared."""

    make_subject: Maker
    make_oracle: Maker

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.sides = [Side(make()) for make in (type(self).make_oracle, type(self).make_subject)]
        for side in self.sides:
            side.lab.clock = self.clock
        self.count = 0

    def teardown(self) -> None:
        """Close both."""
        for side in self.sides:
            side.lab.close()

    # --- how a call is made -----------------------------------------------------------------------

    def new(self, what: str) -> str:
        """Return the same new id for both."""
        self.count += 1
        return f"{what} {self.count}"

    def both(self, deed: Callable[[Side], Any]) -> None:
        """Make a call on both and compare what comes back."""
        answers = [_answer(partial(deed, side)) for side in self.sides]
        for side, answer in zip(self.sides, answers, strict=True):
            for lease in _leases_in(answer):
                side.learn(lease)
            if isinstance(answer, Claims):
                side.claims.extend(answer.claims)
        expected, found = (side.plain(answer) for side, answer in zip(self.sides, answers, strict=True))
        assert found == expected

    def commit(self, build: Callable[[Side], Commit | None]) -> None:
        """Send a commit that each side builds of what it knows."""
        commits = [build(side) for side in self.sides]
        if any(each is None for each in commits):
            assert all(each is None for each in commits)
            return
        for side, commit in zip(self.sides, commits, strict=True):
            if commit is not None:
                side.commits.append(commit)
        self.both(lambda side: side.lab.one.transactions.commit(side.commits[-1]))

    # --- time -------------------------------------------------------------------------------------

    @rule(ms=st.sampled_from((1, 9, 10, 50, 100, 1_000, 86_400_001)))
    def advance(self, ms: int) -> None:
        """Time passes."""
        self.clock.advance(ms)

    # --- jobs -------------------------------------------------------------------------------------

    def _due(self, due: tuple[str, int] | None) -> At | After | None:
        if due is None:
            return None
        kind, ms = due
        return At(Ms(self.clock.now() + ms)) if kind == "at" else After(Ms(ms))

    @initialize()
    def begin(self) -> None:
        """Start with one job that is due."""
        self.enqueue("j", "a", 5, ("after", 0), b"one")

    @rule(name=jobs, lane=lanes, priority=st.sampled_from((0, 5, 9)), due=dues, state=data)
    def enqueue(self, name: str, lane: str, priority: int, due: tuple[str, int] | None, state: bytes) -> None:
        """Enqueue a job, or fail to because it is there."""
        commit_id = self.new("enqueue")

        def build(side: Side) -> Commit:
            job = side.lab.job(name, lane=lane, priority=priority, run_after=self._due(due), state=state)
            frame = side.lab.frame(job)
            audit = WriteOnce(Shared(job.owner, "audit"), side.lab.entry(commit_id))
            return Commit.unfenced(commit_id, Put(None, job), audit, Put(None, frame))

        self.commit(build)

    @rule(want=wants, ttl=ttls, limit=st.integers(1, 3))
    def claim(self, want: Lanes | OneJob, ttl: int, limit: int) -> None:
        """Claim anew."""
        claim_id = self.new("claim")
        self.both(lambda side: side.lab.one.scheduler.claim(want, "w", ttl, claim_id, limit))

    @rule(pick=picks, want=wants, ttl=ttls)
    def claim_again(self, pick: int, want: Lanes | OneJob, ttl: int) -> None:
        """Repeat a claim, perhaps a lost one."""

        def deed(side: Side) -> Any:
            if not side.claims:
                return None
            claim_id = side.claims[pick % len(side.claims)].lease.claim_id
            return side.lab.one.scheduler.claim(want, "w", ttl, claim_id, 2)

        self.both(deed)

    @rule(want=wants, limit=st.integers(1, 3))
    def peek(self, want: Lanes | OneJob, limit: int) -> None:
        """Look without claiming."""
        self.both(lambda side: side.lab.one.scheduler.peek(want, limit))

    @rule(pick=picks, key=keys, value=data, more=st.booleans(), at_end=st.booleans())
    def step(self, pick: int, key: str, value: bytes, *, more: bool, at_end: bool) -> None:
        """Record a step under a claim that may be lost; perhaps with a state, perhaps two."""
        commit_id = self.new("step")

        def build(side: Side) -> Commit | None:
            if not side.claims:
                return None
            claim = side.claims[pick % len(side.claims)]
            job = side.lab.one.jobs.get(claim.job.id) or claim.job
            writes: list[Write] = [side.lab.step(job, key, value)]
            if more:
                writes.append(side.lab.step(job, key + "2", value))
            if at_end:
                writes.insert(0, Put(job, evolve(job, state=value)))
            return Commit.fenced(commit_id, claim.lease.fence, *writes)  # type: ignore[arg-type]

        self.commit(build)

    @rule(pick=picks, value=data)
    def overwrite(self, pick: int, value: bytes) -> None:
        """Write the job from an old copy: Fenced, Corrupt, or right."""
        commit_id = self.new("overwrite")

        def build(side: Side) -> Commit | None:
            if not side.claims:
                return None
            claim = side.claims[pick % len(side.claims)]
            audit = WriteOnce(Shared(claim.job.owner, "audit"), side.lab.entry(commit_id))
            put = Put(claim.job, evolve(claim.job, state=value))
            return Commit.fenced(commit_id, claim.lease.fence, audit, put)

        self.commit(build)

    @rule(pick=picks, status=st.sampled_from(STATUSES), due=dues, awaits=st.booleans())
    def leave(self, pick: int, status: str, due: tuple[str, int] | None, *, awaits: bool) -> None:
        """Finish, park or put back."""
        commit_id = self.new("leave")

        def build(side: Side) -> Commit | None:
            if not side.claims:
                return None
            claim = side.claims[pick % len(side.claims)]
            job = side.lab.one.jobs.get(claim.job.id) or claim.job
            is_back = status == "queued"
            header = evolve(
                job.header,
                status=status,  # type: ignore[arg-type]
                run_after=self._due(due) if is_back else None,
                ended_at=None if is_back else self.clock.now(),
            )
            writes: list[Write] = [
                WriteOnce(Shared(job.owner, "audit"), side.lab.entry(commit_id)),
                Put(job, evolve(job, header=header)),
                Release(),
            ]
            if awaits:
                key = EntryKey(scope=Shared(job.owner, "wait", "x"), key=("1",))
                writes.insert(1, Require("entry", key, None))
            return Commit.fenced(commit_id, claim.lease.fence, *writes)  # type: ignore[arg-type]

        self.commit(build)

    @rule(name=jobs, value=data, stale=st.booleans())
    def deliver(self, name: str, value: bytes, *, stale: bool) -> None:
        """Write to a shared scope under a requirement."""
        commit_id = self.new("deliver")

        def build(side: Side) -> Commit:
            job = side.lab.one.jobs.get(name)
            version = None if job is None else job.header.version
            if stale:
                version = Version(Revision(1), "stale")
            scope = Shared(("job", name), "wait", "x")
            write = WriteOnce(scope, side.lab.entry("1", value))
            return Commit.unfenced(commit_id, Require("job", name, version), write)

        self.commit(build)

    @rule(name=jobs, status=st.sampled_from(("canceled", "queued")), due=dues)
    def revoke(self, name: str, status: str, due: tuple[str, int] | None) -> None:
        """Cancel a job from outside, or make it due again."""
        commit_id = self.new("revoke")

        def build(side: Side) -> Commit | None:
            job = side.lab.one.jobs.get(name)
            if job is None:
                return None
            is_back = status == "queued"
            header = evolve(
                job.header,
                status=status,  # type: ignore[arg-type]
                run_after=self._due(due) if is_back else None,
                ended_at=None if is_back else self.clock.now(),
            )
            audit = WriteOnce(Shared(job.owner, "audit"), side.lab.entry(commit_id))
            put = Put(job, evolve(job, header=header))
            return Commit.unfenced(commit_id, Revoke(job.owner), audit, put)

        self.commit(build)

    # --- repeats ----------------------------------------------------------------------------------

    @rule(pick=picks)
    def send_again(self, pick: int) -> None:
        """Repeat any commit of before, applied or refused."""
        if self.sides[0].commits:
            self.both(lambda side: side.lab.one.transactions.commit(side.commits[pick % len(side.commits)]))

    @rule(pick=picks, other=picks)
    def send_mixed(self, pick: int, other: int) -> None:
        """Send one commit's writes and another one's under one id: what is there is half of it."""

        def deed(side: Side) -> Any:
            commits = side.commits
            if not commits:
                return None
            one, two = commits[pick % len(commits)], commits[other % len(commits)]
            mixed = evolve(one, writes=_distinct((*one.writes, *two.writes)))
            return side.lab.one.transactions.commit(mixed)

        self.both(deed)

    @rule(many=st.lists(picks, max_size=4))
    def send_many(self, many: list[int]) -> None:
        """Repeat several at once."""

        def deed(side: Side) -> Any:
            commits = [side.commits[each % len(side.commits)] for each in many if side.commits]
            return list(side.lab.one.transactions.commit_many(commits))

        self.both(deed)

    @rule(name=jobs, token=st.integers(1, 5), key=keys)
    def forge(self, name: str, token: int, key: str) -> None:
        """Write under a fence that nobody gave out."""
        commit_id = self.new("forged")

        def deed(side: Side) -> Any:
            fence = Fence(("job", name), token, "forged")  # type: ignore[arg-type]
            step = WriteOnce(Held(("job", name), "steps"), side.lab.entry(key))
            answer = _answer(lambda: side.lab.one.transactions.commit(Commit.fenced(commit_id, fence, step)))
            return type(answer).__name__  # which of the reasons depends on numbers that may skip

        self.both(deed)

    # --- leases -----------------------------------------------------------------------------------

    @rule(resource=st.sampled_from(RESOURCES), ttl=ttls, again=st.booleans(), pick=picks)
    def take(self, resource: tuple[str, ...], ttl: int, pick: int, *, again: bool) -> None:
        """Claim a lease, perhaps under the id of an earlier claim."""
        claim_id = self.new("claim")

        def deed(side: Side) -> Any:
            leases = [lease for lease in side.leases if lease.resource == resource]
            name = leases[pick % len(leases)].claim_id if again and leases else claim_id
            return side.lab.one.leases.claim(resource, "w", ttl, name)

        self.both(deed)

    @rule(pick=picks, ttl=ttls)
    def renew(self, pick: int, ttl: int) -> None:
        """Renew any lease, lost or not."""

        def deed(side: Side) -> Any:
            return side.leases and side.lab.one.leases.renew(side.leases[pick % len(side.leases)], ttl)

        self.both(deed)

    @rule(pick=picks)
    def release(self, pick: int) -> None:
        """Release any lease of the lease store."""

        def deed(side: Side) -> Any:
            leases = [lease for lease in side.leases if lease.resource[0] != "job"]
            return leases and side.lab.one.leases.release(leases[pick % len(leases)])

        self.both(deed)

    # --- runs -------------------------------------------------------------------------------------

    @rule(name=st.sampled_from(("r", "s")), status=st.sampled_from(("open", "done")))
    def start_run(self, name: str, status: str) -> None:
        """Store a run outside any job, with a message."""
        commit_id = self.new("run")

        def build(side: Side) -> Commit:
            ended = self.clock.now() if status == "done" else None
            run = side.lab.run(name, status=status, ended_at=ended)
            message = side.lab.message(run, self.count % 3, id=f"of {commit_id}")
            return Commit.unfenced(commit_id, Put(None, run), Put(None, message))

        self.commit(build)

    @rule(pick=picks, value=data, inside=st.booleans())
    def write_run(self, pick: int, value: bytes, *, inside: bool) -> None:
        """Write a run under its lease, or start one inside a job."""
        commit_id = self.new("write run")

        def build(side: Side) -> Commit | None:
            leases = [each for each in side.leases if each.resource[0] == ("job" if inside else "run")]
            if not leases:
                return None
            lease = leases[pick % len(leases)]
            owner: Any = lease.resource
            log = WriteOnce(Held(owner, "log"), side.lab.entry(commit_id, value))
            if inside:
                run: RunRecord | None = side.lab.run(f"in {owner[1]}", owner=owner)
                return Commit.fenced(commit_id, lease.fence, log, Put(None, run))  # type: ignore[arg-type]
            run = side.lab.one.runs.get(owner[1])
            if run is None:
                return None
            return Commit.fenced(commit_id, lease.fence, log, Put(run, evolve(run, state=value)))

        self.commit(build)

    # --- artifacts --------------------------------------------------------------------------------

    @rule(value=data, kind=st.sampled_from(("text/plain", "image/png")))
    def put_artifact(self, value: bytes, kind: str) -> None:
        """Put bytes, perhaps again."""

        def deed(side: Side) -> Any:
            side.refs.append(side.lab.one.artifacts.put(value, kind))
            return side.refs[-1]

        self.both(deed)

    @rule(pick=picks)
    def get_artifact(self, pick: int) -> None:
        """Read bytes, which a purge may have taken."""

        def deed(side: Side) -> Any:
            if not side.refs:
                return None
            ref = side.refs[pick % len(side.refs)]
            return side.lab.one.artifacts.stat(ref), _answer(lambda: side.lab.one.artifacts.get(ref))

        self.both(deed)

    @rule(pick=picks, which=picks)
    def refer(self, pick: int, which: int) -> None:
        """Refer to an artifact from the journal."""
        commit_id = self.new("refer")

        def build(side: Side) -> Commit | None:
            if not side.claims or not side.refs:
                return None
            claim = side.claims[pick % len(side.claims)]
            ref = side.refs[which % len(side.refs)]
            value = Stored(ref=ref.id, sha256=ref.sha256, size=1)
            entry = evolve(side.lab.entry(commit_id), value=value, sha256=ref.sha256)
            return Commit.fenced(commit_id, claim.lease.fence, WriteOnce(Held(claim.job.owner, "steps"), entry))

        self.commit(build)

    # --- the operator -----------------------------------------------------------------------------

    @rule(limit=st.integers(1, 3), ago=st.sampled_from((0, 10, 100)))
    def purge(self, limit: int, ago: int) -> None:
        """Purge until nothing is left."""

        def deed(side: Side) -> Any:
            total = [0, 0, 0, 0]
            before = Ms(self.clock.now() - ago)
            for _ in range(50):
                batch = side.lab.one.maintenance.purge(before, limit)
                counts = (batch.jobs, batch.runs, batch.entries, batch.artifacts)
                total = [one + two for one, two in zip(total, counts, strict=True)]
                if not batch.more:
                    return total
            raise AssertionError("a purge found more and more")

        self.both(deed)

    @rule()
    def restored(self) -> None:
        """A back-up came back."""
        self.both(lambda side: side.lab.one.maintenance.restored())

    @rule(reopen=st.booleans())
    def reopen(self, *, reopen: bool) -> None:
        """Close all handles and open them again."""
        if reopen:
            for side in self.sides:
                side.lab.close()

    # --- what is stored ---------------------------------------------------------------------------

    @rule(kind=st.sampled_from(("job", "run", "machine")), limit=st.integers(1, 3))
    def expired(self, kind: str, limit: int) -> None:
        """List expired leases, in order but for those of one age."""

        def deed(side: Side) -> Any:
            found = side.lab.walk(lambda after: side.lab.one.leases.expired(kind, after, limit))
            assert [each.expires_at for each in found] == sorted(each.expires_at for each in found)
            return sorted(found, key=lambda lease: (lease.expires_at, lease.resource))

        self.both(deed)

    @rule(limit=st.integers(1, 4))
    def listings(self, limit: int) -> None:
        """Walk every index."""

        def deed(side: Side) -> Any:
            one, walk = side.lab.one, side.lab.walk
            by_job = [JobIndex.by_status(each) for each in (*STATUSES, "running", "canceled")]
            by_job += [JobIndex.by_lane(lane, "queued") for lane in LANES]
            by_job += [JobIndex.by_tenant("tenant"), JobIndex.by_frame("frame of j")]
            by_run = [RunIndex.by_status("open"), RunIndex.by_conversation("conversation")]
            by_run += [RunIndex.by_owner(("job", name)) for name in JOBS]
            found: list[Any] = [walk(partial(one.jobs.list, index, limit=limit)) for index in by_job]
            found += [walk(partial(one.runs.list, index, limit=limit)) for index in by_run]
            found += [walk(partial(one.frames.list, FrameIndex.by_job(name), limit=limit)) for name in JOBS]
            return [*found, walk(lambda after: one.runs.messages("conversation", after, limit))]

        self.both(deed)

    @rule(name=jobs, limit=st.integers(1, 4))
    def journals(self, name: str, limit: int) -> None:
        """Read every scope of a job."""
        owner = ("job", name)
        scopes = [
            Held(owner, "steps"),
            Held(owner, "log"),
            Shared(owner, "audit"),
            Shared(owner, "wait", "x"),
        ]

        def deed(side: Side) -> Any:
            found = []
            for scope in scopes:
                after = Seq(0)
                while items := side.lab.one.journal.read(scope, after, limit).items:
                    assert items[0].seq > after
                    assert all(side.lab.one.journal.get(scope, each.key) == each for each in items)
                    found += [side.plain(each, owner) for each in items]
                    after = items[-1].seq
            return found

        self.both(deed)

    @invariant()
    def records_are_equal(self) -> None:
        """Every record and every current lease is the same on both sides."""

        def deed(side: Side) -> Any:
            one = side.lab.one
            names = [*JOBS, "r", "s"]
            found: list[Any] = [one.jobs.get(name) for name in JOBS]
            found += [one.frames.get(f"frame of {name}") for name in JOBS]
            found += [one.runs.get(name) for name in (*names, *(f"in {name}" for name in JOBS))]
            found += [one.leases.get(("job", name)) for name in JOBS]
            return [*found, *(one.leases.get(resource) for resource in RESOURCES)]

        self.both(deed)


def _leases_in(answer: Any) -> list[Lease]:
    if isinstance(answer, Claims):
        return [claim.lease for claim in answer.claims]
    return [answer] if isinstance(answer, Lease) else []


def _distinct(writes: tuple[Write, ...]) -> tuple[Write, ...]:
    """Leave out what names a record twice, and a second release."""
    found: dict[object, Write] = {}
    for write in writes:
        match write:
            case Put():
                name: object = (write.kind, write.after.id)
            case WriteOnce():
                name = write.key
            case Require():
                name = (write.kind, write.key) if isinstance(write.key, str) else write.key
            case Revoke():
                name = write.resource
            case Release():
                name = Release
        found.setdefault(name, write)
    return tuple(found.values())


def _run(make_subject: Maker, make_oracle: Maker, examples: int) -> None:
    makers = {"make_subject": staticmethod(make_subject), "make_oracle": staticmethod(make_oracle)}
    run_state_machine_as_test(
        type("Machine", (Both,), makers),
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_random_calls_give_the_oracles_answers(make_lab: Maker, make_oracle: Maker) -> None:
    """Whatever is called in whatever order, the answers are those of the memory provider."""
    _run(make_lab, make_oracle, 40)


@pytest.mark.full
def test_very_many_random_calls_do(make_lab: Maker, make_oracle: Maker) -> None:
    """The same for as long as there is time."""
    _run(make_lab, make_oracle, 1_000)
