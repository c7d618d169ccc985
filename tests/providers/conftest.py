"""One suite for all providers: every promise of the ports, on each provider that is installed here.

A test takes ``lab``: a fresh namespace, a clock to turn by hand, and short words for what tests do
again and again. It runs once for each provider of the ledger; ``shelf`` is the same for artifacts.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

import pluggy
import pytest
from attrs import define, evolve, field

from nodeagent import (
    ArtifactStore,
    At,
    Capabilities,
    Claim,
    Claims,
    Clock,
    Commit,
    Committed,
    Connection,
    Cursor,
    Entry,
    FencedWrite,
    FrameHeader,
    FrameRecord,
    FrameStore,
    Held,
    Inline,
    JobHeader,
    JobRecord,
    JobStore,
    Lanes,
    LeaseStore,
    Maintenance,
    MessageHeader,
    MessageRecord,
    Ms,
    Page,
    Put,
    Release,
    Revoke,
    RunHeader,
    RunRecord,
    RunStore,
    Scheduler,
    Scope,
    Seq,
    Shared,
    StepJournal,
    Transactions,
    UnfencedWrite,
    Wake,
    Wakeups,
    WriteOnce,
    hookspecs,
)
from nodeagent.testing import ManualClock

T = TypeVar("T")

TTL: Final = 30_000

# --- which providers ----------------------------------------------------------------------------

OURS: Final = {
    "memory": "nodeagent.providers.memory",
    "files": "nodeagent.providers.files",
    "sqlite": "nodeagent_sqlite",
}
FRESH: Final[dict[str, Callable[[Path], dict[str, object]]]] = {
    "memory": lambda folder: {"store": str(folder)},
    "files": lambda folder: {"path": str(folder / "artifacts")},
    "sqlite": lambda folder: {"path": str(folder / "nodeagent.db")},
}
"""What a provider of this workspace needs to work in a folder, without a server."""


def _installed() -> dict[str, str]:
    """Return the providers that are installed, or can be imported from a source tree."""
    near = {name: path for name, path in OURS.items() if find_spec(path.partition(".")[0])}
    found = {point.name: point.value for point in entry_points(group="nodeagent.providers")}
    return {name: path for name, path in (near | found).items() if name in FRESH}


PROVIDERS: Final = _installed()
HOOKS: Final = {
    "transactions": "transactions",
    "leases": "lease_store",
    "journal": "step_journal",
    "scheduler": "scheduler",
    "jobs": "job_store",
    "frames": "frame_store",
    "runs": "run_store",
    "maintenance": "maintenance",
    "artifacts": "artifact_store",
    "wakeups": "wakeups",
}


def having(port: str) -> list[str]:
    """Name the providers that implement a port."""
    return [n for n, path in PROVIDERS.items() if hasattr(import_module(path), f"nodeagent_{port}")]


# --- an open provider ---------------------------------------------------------------------------


@define(eq=False)
class Handle:
    """One open connection with the ports that its provider has."""

    namespace: str
    connection: Connection
    ports: dict[str, Any]

    @classmethod
    def open(cls, provider: str, folder: Path, namespace: str, clock: Clock | None) -> Handle:
        """Open the provider on what the folder holds."""
        manager = pluggy.PluginManager(hookspecs.PROJECT)
        manager.add_hookspecs(hookspecs)
        manager.register(import_module(PROVIDERS[provider]), provider)
        manager.check_pending()
        hook = manager.hook
        settings = hook.nodeagent_settings()(**FRESH[provider](folder))
        wanted = [each for each in HOOKS.values() if provider in having(each)]
        connection = hook.nodeagent_connect(settings=settings, namespace=namespace, clock=clock, ports=wanted)
        ports = {name: getattr(hook, f"nodeagent_{each}")(connection=connection) for name, each in HOOKS.items()}
        return cls(namespace, connection, ports)

    @property
    def capabilities(self) -> Capabilities:
        """What is declared."""
        return self.connection.capabilities

    def now(self) -> Ms:
        """The store's time."""
        return self.connection.now()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    @property
    def transactions(self) -> Transactions:
        """The one door for writes."""
        port: Transactions = self.ports["transactions"]
        return port

    @property
    def leases(self) -> LeaseStore:
        """The leases."""
        port: LeaseStore = self.ports["leases"]
        return port

    @property
    def journal(self) -> StepJournal:
        """The journal."""
        port: StepJournal = self.ports["journal"]
        return port

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler."""
        port: Scheduler = self.ports["scheduler"]
        return port

    @property
    def jobs(self) -> JobStore:
        """The jobs."""
        port: JobStore = self.ports["jobs"]
        return port

    @property
    def frames(self) -> FrameStore:
        """The frames."""
        port: FrameStore = self.ports["frames"]
        return port

    @property
    def runs(self) -> RunStore:
        """The runs and messages."""
        port: RunStore = self.ports["runs"]
        return port

    @property
    def maintenance(self) -> Maintenance:
        """The operator's verbs."""
        port: Maintenance = self.ports["maintenance"]
        return port

    @property
    def artifacts(self) -> ArtifactStore:
        """The artifacts."""
        port: ArtifactStore = self.ports["artifacts"]
        return port

    @property
    def wakeups(self) -> Wakeups:
        """The hints."""
        port: Wakeups = self.ports["wakeups"]
        return port


# --- the lab ------------------------------------------------------------------------------------


def _about(prefix: str, name: str) -> str:
    """Derive an id from another one, unless that would be too long."""
    return name if len(f"{prefix}{name}".encode()) > 512 else f"{prefix}{name}"


@define(eq=False)
class Lab:
    """A fresh namespace of one provider, and the words of the tests."""

    provider: str
    folder: Path
    namespace: str
    clock: ManualClock = field(factory=ManualClock)
    handles: list[Handle] = field(factory=list)
    _one: Handle | None = None
    _count: Iterator[int] = field(factory=lambda: itertools.count(1))

    def open(self, namespace: str | None = None, clock: Clock | None = None) -> Handle:
        """Open one more handle, on this namespace unless told otherwise."""
        name = self.namespace if namespace is None else namespace
        handle = Handle.open(self.provider, self.folder, name, clock or self.clock)
        self.handles.append(handle)
        return handle

    @property
    def one(self) -> Handle:
        """The handle that most tests need."""
        if self._one is None:
            self._one = self.open()
        return self._one

    def close(self) -> None:
        """Close every handle; ``one`` is opened again when it is needed."""
        self._one = None
        while self.handles:
            self.handles.pop().close()

    def new(self, what: str = "id") -> str:
        """Return an id that nobody has."""
        return f"{what}-{next(self._count)}"

    # records

    def job(self, name: str = "job", *, spec: bytes = b"{}", state: bytes = b"[]", **header: Any) -> JobRecord:
        """Build a job that is due now."""
        columns: dict[str, Any] = {
            "id": name,
            "spec_digest": sha256(spec).hexdigest(),
            "created_at": self.clock.now(),
            "lane": "lane",
            "queue": "queue",
            "runner": "runner",
            "tenant": "tenant",
            "run_after": At(self.clock.now()),
            "frame_id": _about("frame of ", name),
        }
        return JobRecord(header=JobHeader(**(columns | header)), spec=spec, state=state)

    def frame(self, job: JobRecord, **header: Any) -> FrameRecord:
        """Build a job's frame."""
        columns: dict[str, Any] = {
            "id": job.header.frame_id,
            "owner": job.owner,
            "spec_digest": sha256(b"goal").hexdigest(),
            "created_at": self.clock.now(),
        }
        return FrameRecord(header=FrameHeader(**(columns | header)), spec=b"goal", state=b"seen")

    def run(self, name: str = "run", **header: Any) -> RunRecord:
        """Build a run outside any job."""
        columns: dict[str, Any] = {
            "id": name,
            "owner": ("run", name),
            "spec_digest": sha256(b"ask").hexdigest(),
            "created_at": self.clock.now(),
            "conversation_id": "conversation",
            "tenant": "tenant",
            "status": "running",
        }
        return RunRecord(header=RunHeader(**(columns | header)), spec=b"ask", state=b"parts")

    def message(self, run: RunRecord, position: int, **header: Any) -> MessageRecord:
        """Build a message of a run's conversation."""
        columns: dict[str, Any] = {
            "id": f"message {position}",
            "owner": run.owner,
            "spec_digest": sha256(b"hello").hexdigest(),
            "created_at": self.clock.now(),
            "conversation_id": run.header.conversation_id,
            "run_id": run.id,
            "role": "user",
            "position": position,
        }
        return MessageRecord(header=MessageHeader(**(columns | header)), spec=b"hello", state=b"")

    def entry(self, key: str | tuple[str, ...] = "key", data: bytes = b"value") -> Entry:
        """Build an entry."""
        return Entry(key=(key,) if isinstance(key, str) else key, kind="step", value=Inline(data))

    def step(self, owner: JobRecord | RunRecord, key: str | tuple[str, ...] = "key", data: bytes = b"v") -> WriteOnce:
        """Build the recording of a step."""
        return WriteOnce(Held(owner.owner, "steps"), self.entry(key, data))

    def audit(self, owner: JobRecord | RunRecord) -> WriteOnce:
        """Build an audit entry: the anchor of commits that have no other."""
        return WriteOnce(Shared(owner.owner, "audit"), self.entry(self.new("audit")))

    # deeds

    def commit(self, *writes: UnfencedWrite, commit_id: str = "") -> Committed:
        """Commit without a fence."""
        return self.one.transactions.commit(Commit.unfenced(commit_id or self.new("commit"), *writes))

    def fenced(self, claim: Claim, *writes: FencedWrite, commit_id: str = "") -> Committed:
        """Commit under the lease of a claim."""
        name = commit_id or self.new("commit")
        return self.one.transactions.commit(Commit.fenced(name, claim.lease.fence, *writes))

    def enqueue(self, name: str = "job", wake: tuple[Wake, ...] = (), **job: Any) -> JobRecord:
        """Store a job with its frame; return it as stored."""
        record = self.job(name, **job)
        writes = Put(None, record), Put(None, self.frame(record))
        self.one.transactions.commit(Commit.unfenced(self.new("enqueue"), *writes, wake=wake))
        return self.stored(name)

    def start_run(self, name: str = "run", **header: Any) -> RunRecord:
        """Store a run; return it as stored."""
        self.commit(Put(None, self.run(name, **header)))
        found = self.one.runs.get(name)
        assert found is not None
        return found

    def stored(self, name: str = "job") -> JobRecord:
        """Return a job that must exist."""
        found = self.one.jobs.get(name)
        assert found is not None
        return found

    def ask(self, *lanes: str, ttl: int = TTL, claim_id: str = "", limit: int = 1, holder: str = "w") -> Claims:
        """Claim from lanes."""
        want = Lanes(names=lanes or ("lane",))
        return self.one.scheduler.claim(want, holder, ttl, claim_id or self.new("claim"), limit)

    def claim(self, *lanes: str, ttl: int = TTL, claim_id: str = "") -> Claim:
        """Claim the one job that is due."""
        (claim,) = self.ask(*lanes, ttl=ttl, claim_id=claim_id).claims
        return claim

    def running(self, name: str = "job", ttl: int = TTL, **job: Any) -> Claim:
        """Enqueue a job in a lane of its own and claim it."""
        lane = _about("lane of ", name)
        self.enqueue(name, lane=lane, **job)
        return self.claim(lane, ttl=ttl)

    def leave(self, claim: Claim, status: str = "completed", **header: Any) -> JobRecord:
        """Take a job out of running in one commit."""
        ended = None if status == "queued" else self.clock.now()
        changes: dict[str, Any] = {"status": status, "ended_at": ended, "run_after": None}
        job = evolve(claim.job, header=evolve(claim.job.header, **(changes | header)))
        self.fenced(claim, self.audit(job), Put(claim.job, job), Release())
        return self.stored(job.id)

    def cancel(self, job: JobRecord) -> JobRecord:
        """End a job from outside."""
        header = evolve(job.header, status="canceled", run_after=None, ended_at=self.clock.now())
        self.commit(self.audit(job), Put(job, evolve(job, header=header)), Revoke(job.owner))
        return self.stored(job.id)

    def rows(self, scope: Scope) -> tuple[Entry, ...]:
        """Read a short scope."""
        return self.one.journal.read(scope, after=Seq(0), limit=1000).items

    # bodies of tests

    @staticmethod
    def walk(fetch: Callable[[Cursor | None], Page[T]]) -> list[T]:
        """Follow the cursors of a listing to its end."""
        page = fetch(None)
        items = [*page.items]
        for _ in range(10_000):
            if page.next is None:
                return items
            page = fetch(page.next)
            items += page.items
        raise AssertionError("expected the walk to end, but it goes on and on")

    @staticmethod
    def race(deeds: Sequence[Callable[[], T]]) -> list[T | Exception]:
        """Do all at once, each on a thread of its own; return what each returned or raised."""
        barrier = threading.Barrier(len(deeds))

        def run(deed: Callable[[], T]) -> T | Exception:
            barrier.wait(30)
            try:
                return deed()
            except Exception as error:  # noqa: BLE001 - the test looks at it
                return error

        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)  # let the threads meet in the middle of things
        try:
            with ThreadPoolExecutor(len(deeds)) as pool:
                return list(pool.map(run, deeds))
        finally:
            sys.setswitchinterval(interval)


# --- fixtures -----------------------------------------------------------------------------------

Maker = Callable[[], Lab]
_names: Final = itertools.count(1)


def _maker(provider: str, folder: Path) -> Maker:
    return lambda: Lab(provider, folder, f"namespace {next(_names)}")


@pytest.fixture(scope="session", params=having("transactions"))
def make_lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Make fresh namespaces of one provider of the ledger, all in one store."""
    return _maker(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def lab(make_lab: Maker) -> Iterator[Lab]:
    """A fresh namespace of each provider of the ledger."""
    made = make_lab()
    yield made
    made.close()


@pytest.fixture(scope="session")
def make_oracle(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Make fresh namespaces of the memory provider, which says what is right."""
    return _maker("memory", tmp_path_factory.mktemp("oracle"))


@pytest.fixture(params=having("artifact_store"))
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A fresh namespace of each provider of artifacts."""
    made = _maker(request.param, tmp_path_factory.mktemp(request.param))()
    yield made
    made.close()


@pytest.fixture(params=having("wakeups"))
def bell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A fresh namespace of each provider of hints."""
    made = _maker(request.param, tmp_path_factory.mktemp(request.param))()
    yield made
    made.close()
