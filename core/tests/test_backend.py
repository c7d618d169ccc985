"""A backend is opened whole or not at all, and refuses before any I/O what no store may accept."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from nodeagent import (
    ArtifactRef,
    Backend,
    BrokenPlugin,
    Capabilities,
    Commit,
    ConfigError,
    Entry,
    EntryKey,
    Fence,
    Held,
    Inline,
    Invalid,
    JobHeader,
    JobIndex,
    JobRecord,
    Lanes,
    Lease,
    OneJob,
    Put,
    Require,
    Shared,
    Stored,
    TooLarge,
    Topic,
    Unsupported,
    Work,
    WriteOnce,
    encode_key,
    open_backend,
    open_provider,
)
from nodeagent.config import BackendConfig, Config
from nodeagent.plugins import PORTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tests.conftest import Site

OWNER = ("job", "j")
SCOPE = Held(OWNER, "steps")
FENCE = Fence(OWNER, 1, "claim")  # type: ignore[arg-type]
LEASE = Lease(resource=("report", "x"), holder="h", token=1, claim_id="c", acquired_at=0, expires_at=1)  # type: ignore[arg-type]
NARROW = (
    "max_commit_writes=3, max_commit_bytes=100, max_value_bytes=60, max_key_bytes=40, max_ttl_ms=1000,"
    " wakeups_work=True"
)


@pytest.fixture
def plain(site: Site) -> Any:
    """A provider that declares nothing and offers everything."""
    return importlib.import_module(site.install("plain", site.full))


@pytest.fixture
def narrow(site: Site) -> Backend:
    """A backend that declares every limit, and wake-ups of one kind."""
    site.install("narrow", site.full.replace("Capabilities()", f"Capabilities({NARROW})"))
    return open_provider("narrow")


def _calls(port: Any) -> list[Any]:
    """What has reached the provider's own port."""
    inner = getattr(port, "_inner", port)
    calls: list[Any] = inner.calls
    return calls


def _step(data: bytes = b"1", key: tuple[str, ...] = ("a",)) -> WriteOnce:
    return WriteOnce(SCOPE, Entry(key=key, kind="step", value=Inline(data)))


def _job(spec: bytes, state: bytes, job_id: str = "j") -> JobRecord:
    words = {"lane": "l", "queue": "q", "runner": "r", "tenant": "t", "frame_id": "f"}
    header = JobHeader(id=job_id, spec_digest="0", created_at=0, **words)  # type: ignore[arg-type]
    return JobRecord(header=header, spec=spec, state=state)


# --- opening --------------------------------------------------------------------------------------


def test_a_backend_has_every_port_of_its_provider(plain: Any) -> None:
    """Each port is the provider's own, behind the core's checks."""
    backend = open_provider("plain", {"path": "x", "pool": 3}, namespace="ns")

    ports: dict[str, Any] = {
        "transactions": backend.transactions,
        "lease_store": backend.leases,
        "step_journal": backend.journal,
        "scheduler": backend.scheduler,
        "job_store": backend.jobs,
        "frame_store": backend.frames,
        "run_store": backend.runs,
        "maintenance": backend.maintenance,
        "artifact_store": backend.artifacts,
        "wakeups": backend.wakeups,
    }
    assert [getattr(port, "_inner", port).name for port in ports.values()] == list(ports)
    assert backend.offers == set(ports)
    assert (backend.name, backend.provider, backend.namespace) == ("plain", "plain", "ns")
    assert (backend.tools, backend.policy, backend.model) == (None, None, None)
    assert backend.now() == 1_000
    assert backend.connection.asked == (  # type: ignore[attr-defined]
        plain.Settings(path=Path("x"), pool=3),
        "ns",
        None,
        tuple(ports),
    )


def test_a_clock_is_handed_to_the_provider(plain: Any) -> None:
    """None means the store's own."""
    clock = object()

    backend = open_provider("plain", clock=clock)  # type: ignore[arg-type]

    assert plain.Connection
    assert backend.connection.asked[2] is clock  # type: ignore[attr-defined]


def test_only_wanted_ports_are_opened(plain: Any) -> None:
    """The provider learns which ones, and the others are not there."""
    backend = open_provider("plain", ports=["maintenance", "scheduler"])

    assert plain.CLOSED == []
    assert backend.connection.asked[3] == ("scheduler", "maintenance")  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"the backend 'plain' .plain. was opened without the port 'job_store'"):
        _ = backend.jobs


@pytest.mark.usefixtures("plain")
def test_a_wanted_port_must_be_one() -> None:
    """A misspelt name is no way to get less."""
    with pytest.raises(Invalid, match="ports names 'schedular', which is no port; did you mean 'scheduler'"):
        open_provider("plain", ports=["schedular"])
    with pytest.raises(Invalid, match="ports names no port that the backend 'plain' offers"):
        open_provider("plain", ports=["model"])


@pytest.mark.usefixtures("plain")
def test_settings_that_do_not_fit_are_listed() -> None:
    """Paths are relative to the settings."""
    with pytest.raises(ConfigError) as caught:
        open_provider("plain", {"pol": 1, "pool": "2"})

    assert set(caught.value.problems) == {
        "pol: there is no such key; did you mean 'pool'?",
        "pool: must be an integer, but is a string",
    }


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("namespace", ["", "x" * 513, "\ud800", 7])
def test_a_namespace_is_an_id(namespace: Any) -> None:
    """It is refused before anything is opened."""
    with pytest.raises(Invalid, match="namespace"):
        open_provider("plain", namespace=namespace)


def test_closing_twice_is_fine(plain: Any) -> None:
    """The provider's connection is closed once."""
    with open_provider("plain") as backend:
        backend.close()
    backend.close()

    assert len(plain.CLOSED) == 1


def test_a_failed_opening_closes_what_was_opened(plain: Any, site: Site) -> None:
    """A provider that fails later leaves no connection of an earlier one behind."""
    raising = "from nodeagent import Unavailable\n    raise Unavailable('down')"
    site.install("down", site.full.replace("return Connection(settings, namespace, clock, ports)", raising))

    with pytest.raises(ConnectionError, match="down"):
        open_backend(_config(artifacts="down"))

    assert len(plain.CLOSED) == 1


def test_a_port_that_does_not_fit_closes_the_connection(site: Site) -> None:
    """Answers of hooks are checked while opening."""
    module = importlib.import_module(site.install("odd", site.full.replace('return Port("run_store")', "return 1")))

    with pytest.raises(BrokenPlugin, match="nodeagent_run_store returned a int, which lacks get, list, messages"):
        open_provider("odd")

    assert len(module.CLOSED) == 1


def test_no_setting_is_shown(plain: Any) -> None:
    """A backend's repr tells names alone."""
    assert plain
    assert repr(open_provider("plain", {"password": "hunter2"})) == (
        "Backend(name='plain', provider='plain', namespace='default')"
    )


# --- ports of other backends ----------------------------------------------------------------------


def _config(**ports: str) -> Config:
    names = dict.fromkeys(["plain", *ports.values()])
    return Config(
        backend="plain", backends={name: BackendConfig(provider=name) for name in names}, ports=ports, namespace="ns"
    )


def test_a_port_may_come_from_another_backend(plain: Any, site: Site) -> None:
    """It is connected once, in the same namespace, and for that port alone."""
    other = importlib.import_module(site.install("other", site.full))

    backend = open_backend(_config(artifacts="other", wakeups="other"))

    own = [port for port in PORTS if port in backend.offers and port not in ("artifact_store", "wakeups")]
    assert backend.connection.asked[1:] == ("ns", None, tuple(own))  # type: ignore[attr-defined]
    assert type(_inner(backend.artifacts)) is other.Port
    assert type(_inner(backend.jobs)) is plain.Port
    backend.close()
    assert (len(plain.CLOSED), len(other.CLOSED)) == (1, 1)


def test_a_backend_whose_ports_are_not_wanted_is_not_connected(plain: Any, site: Site) -> None:
    """An operator's verb does not need the artifacts' store to be up."""
    other = importlib.import_module(site.install("other", site.full))

    open_backend(_config(artifacts="other"), ports=["maintenance"]).close()

    assert (len(plain.CLOSED), len(other.CLOSED)) == (1, 0)


def _inner(port: Any) -> Any:
    return port._inner


@pytest.mark.parametrize("promise", ["durable", "shared"])
def test_artifacts_that_last_less_than_the_ledger_are_refused(site: Site, promise: str) -> None:
    """Else a finished job would lose its receipt; whatever was opened is closed again."""
    plain = importlib.import_module(
        site.install("plain", site.full.replace("Capabilities()", f"Capabilities({promise}=True)"))
    )
    other = importlib.import_module(site.install("other", site.full))

    with pytest.raises(ConfigError, match=f"the ledger is {promise}, but the backend 'other' is not"):
        open_backend(_config(artifacts="other"))
    assert (len(plain.CLOSED), len(other.CLOSED)) == (1, 1)


def test_wakeups_are_declared_by_whoever_serves_them(site: Site) -> None:
    """The ledger's own declarations of hints hold only for its own wake-ups."""
    own = "Capabilities(wakeups_work=True, wakes_in_commit=True, durable=True)"
    site.install("plain", site.full.replace("Capabilities()", own))
    site.install("other", site.full.replace("Capabilities()", "Capabilities(wakeups_topic=True)"))

    alone, mixed = open_backend(_config()), open_backend(_config(wakeups="other"))

    assert (alone.sends_wakes, mixed.sends_wakes) == (True, False)
    assert mixed.capabilities == Capabilities(wakeups_topic=True, durable=True)
    assert alone.capabilities == Capabilities(wakeups_work=True, wakes_in_commit=True, durable=True)


def test_without_wakeups_hints_go_nowhere(site: Site) -> None:
    """Nothing raises, nothing is declared, and the ledger sends nothing itself."""
    source = site.store + site.ledger + site.artifacts
    site.install("mute", source.replace("Capabilities()", "Capabilities(wakes_in_commit=True, wakeups_work=True)"))

    backend = open_provider("mute")

    backend.wakeups.notify([Work("l")])
    backend.wakeups.subscribe([Work("l")], print).close()
    assert backend.capabilities == Capabilities()
    assert not backend.sends_wakes


def test_without_artifacts_the_error_says_what_to_add(site: Site) -> None:
    """A third party's ledger can be opened alone; only storing needs a store."""
    site.install("bare", site.store + site.ledger)

    backend = open_provider("bare")

    with pytest.raises(ConfigError, match=r'provider "?.bare.? stores no artifacts; add \[backends.blobs\] with'):
        _ = backend.artifacts


def test_artifacts_alone_are_a_backend(site: Site) -> None:
    """A provider without a ledger can be opened by its name."""
    site.install("blobs", site.store + site.artifacts)

    assert open_provider("blobs").offers == {"artifact_store", "wakeups"}


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("writes", "what", "size", "limit"),
    [
        ([_step(key=(name,)) for name in "abcd"], "the number of writes of a commit", 4, 3),
        ([_step(b"x" * 61)], "the size of a value in bytes", 61, 60),
        ([Put(None, _job(b"x" * 61, b""))], "the size of a value in bytes", 61, 60),
        ([_step(), Put(_job(b"", b""), _job(b"", b"x" * 61))], "the size of a value in bytes", 61, 60),
        ([_step(b"x" * 60, ("a",)), _step(b"x" * 41, ("b",))], "the size of a commit in bytes", 101, 100),
        ([Put(None, _job(b"x" * 60, b"x" * 41))], "the size of a commit in bytes", 101, 100),
        ([_step(key=("x" * 37,))], "the encoded length of a key", 41, 40),
        ([_step(key=("\0" * 6, "xx"))], "the encoded length of a key", 45, 40),
        ([_step(key=("ä" * 19,))], "the encoded length of a key", 42, 40),
        (
            [_step(), Require("entry", EntryKey(scope=Shared(OWNER, "w"), key=("x" * 37,)), None)],
            "the encoded length of a key",
            41,
            40,
        ),
        ([_step(), Require("message", "x" * 37, None)], "the encoded length of a key", 41, 40),
    ],
)
def test_what_is_too_large_is_refused_before_the_provider_sees_it(
    narrow: Backend, writes: list[Any], what: str, size: int, limit: int
) -> None:
    """The error says what, how large, and the limit."""
    with pytest.raises(TooLarge) as caught:
        narrow.transactions.commit(Commit.fenced("c", FENCE, *writes))

    assert (caught.value.what, caught.value.size, caught.value.limit) == (what, size, limit)
    assert _calls(narrow.transactions) == []


@pytest.mark.parametrize(
    "writes",
    [
        [_step(key=(name,)) for name in "abc"],
        [_step(b"x" * 60)],
        [_step(b"x" * 60, ("a",)), _step(b"x" * 40, ("b",))],
        [_step(key=("x" * 36,))],
        [_step(), Put(_job(b"x" * 90, b""), _job(b"x" * 90, b""))],
        [WriteOnce(SCOPE, Entry(key=("a",), kind="s", value=Stored("ref", "0", 1_000_000)))],
    ],
)
def test_what_just_fits_goes_through(narrow: Backend, writes: list[Any]) -> None:
    """A spec travels only with a new record, and a stored value's bytes are elsewhere."""
    commit = Commit.fenced("c", FENCE, *writes)

    narrow.transactions.commit(commit)

    assert _calls(narrow.transactions) == [("commit", commit)]


def test_the_length_of_a_key_is_that_of_its_encoding(narrow: Backend) -> None:
    """The boundary is where :func:`encode_key` puts it, whatever the characters."""
    for parts in (("a" * 36,), ("a" * 17, "b" * 16), ("é" * 18,), ("\n" * 18,), ('"' * 18,)):
        assert len(encode_key(parts).encode()) == 40
        narrow.journal.get(SCOPE, parts)
        with pytest.raises(TooLarge):
            narrow.journal.get(SCOPE, (*parts[:-1], f"{parts[-1]}a"))


def test_a_refused_commit_does_not_disturb_its_neighbours(plain: Any, site: Site) -> None:
    """It is answered in its place, and only the others are sent."""
    source = site.full.replace("Capabilities()", "Capabilities(max_value_bytes=1)")
    site.install("small", source.replace("return ()", "return [one.commit_id for one in arguments[0]]"))
    backend = open_provider("small")
    commits = [
        Commit.fenced(name, FENCE, _step(data)) for name, data in [("a", b"1"), ("b", b"22"), ("c", b"3"), ("d", b"44")]
    ]

    answers: Any = backend.transactions.commit_many(commits)

    assert [answer if isinstance(answer, str) else type(answer) for answer in answers] == ["a", TooLarge, "c", TooLarge]
    assert [one.commit_id for one in _calls(backend.transactions)[0][1]] == ["a", "c"]
    assert [type(answer) for answer in backend.transactions.commit_many(commits[1:2])] == [TooLarge]
    assert len(_calls(backend.transactions)) == 1
    assert plain


def test_without_limits_commits_go_straight_through(plain: Any) -> None:
    """Nothing could be refused, so nothing is looked at."""
    assert type(open_provider("plain").transactions) is plain.Port


def test_a_time_to_live_has_a_limit(narrow: Backend) -> None:
    """For claims of both kinds and for renewals."""
    calls: list[Callable[[int], Any]] = [
        lambda ttl: narrow.leases.claim(("report", "x"), "h", ttl, "c"),
        lambda ttl: narrow.leases.renew(LEASE, ttl),
        lambda ttl: narrow.scheduler.claim(Lanes(names=("l",)), "h", ttl, "c"),
    ]
    for call in calls:
        call(1_000)
        with pytest.raises(TooLarge, match="ttl_ms is 1001 but the limit is 1000"):
            call(1_001)


# --- arguments ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda b: b.leases.claim((), "h", 1, "c"), "resource"),
        (lambda b: b.leases.claim(["report"], "h", 1, "c"), "resource"),
        (lambda b: b.leases.claim(("report", ""), "h", 1, "c"), "a part of resource"),
        (lambda b: b.leases.claim(("report",), "", 1, "c"), "holder"),
        (lambda b: b.leases.claim(("report",), "h", 0, "c"), "ttl_ms"),
        (lambda b: b.leases.claim(("report",), "h", "1", "c"), "ttl_ms"),
        (lambda b: b.leases.claim(("report",), "h", 1, ""), "claim_id"),
        (lambda b: b.leases.renew(LEASE, -1), "ttl_ms"),
        (lambda b: b.leases.get("report"), "resource"),
        (lambda b: b.leases.expired("", None, 1), "kind"),
        (lambda b: b.leases.expired("report", None, 0), "limit"),
        (lambda b: b.leases.expired("report", 5, 1), "after"),
        (lambda b: b.scheduler.claim("lane", "h", 1, "c"), "want"),
        (lambda b: b.scheduler.claim(Lanes(names=("",)), "h", 1, "c"), "a lane"),
        (lambda b: b.scheduler.claim(OneJob("j"), "", 1, "c"), "holder"),
        (lambda b: b.scheduler.claim(OneJob("j"), "h", 1.5, "c"), "ttl_ms"),
        (lambda b: b.scheduler.claim(OneJob("j"), "h", 1, "c", 0), "limit"),
        (lambda b: b.scheduler.peek("lane"), "want"),
        (lambda b: b.scheduler.peek(OneJob("j"), 0), "limit"),
        (lambda b: b.journal.get(("job", "j", "held", "steps"), ("a",)), "scope"),
        (lambda b: b.journal.get(SCOPE, ()), "key"),
        (lambda b: b.journal.read(SCOPE, -1, 1), "after"),
        (lambda b: b.journal.read(SCOPE, 0, 0), "limit"),
        (lambda b: b.jobs.get(""), "job_id"),
        (lambda b: b.jobs.list(JobIndex.by_tenant("t"), None, 0), "limit"),
        (lambda b: b.jobs.list(JobIndex.by_tenant("t"), b"x", 1), "after"),
        (lambda b: b.frames.get(1), "frame_id"),
        (lambda b: b.frames.list(None, None, 0), "limit"),
        (lambda b: b.runs.get("\ud800"), "run_id"),
        (lambda b: b.runs.list(None, None, 0), "limit"),
        (lambda b: b.runs.messages("", None, 1), "conversation_id"),
        (lambda b: b.runs.messages("c", None, 0), "limit"),
        (lambda b: b.maintenance.migrate("during"), "phase"),
        (lambda b: b.maintenance.purge(-1, 1), "ended_before"),
        (lambda b: b.maintenance.purge(0, 0), "limit"),
        (lambda b: b.artifacts.put(bytearray(b"x"), "text/plain"), "data"),
        (lambda b: b.artifacts.put(b"x", ""), "media_type"),
        (lambda b: b.artifacts.get("sha256:0"), "ref"),
        (lambda b: b.artifacts.stat(None), "ref"),
        (lambda b: b.wakeups.subscribe([], print), "wakes"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("plain")
def test_arguments_that_no_store_may_accept_are_refused(call: Callable[[Any], object], what: str) -> None:
    """The core checks them once, so no adapter needs to."""
    backend = open_provider("plain")

    with pytest.raises(Invalid) as caught:
        call(backend)

    assert caught.value.what == what


@pytest.mark.usefixtures("plain")
def test_arguments_that_are_right_arrive_as_they_are() -> None:
    """Every verb of every port is passed on with its arguments."""
    backend: Any = open_provider("plain")
    want, ref, index = OneJob("j"), ArtifactRef.of(b"x"), JobIndex.by_tenant("t")
    sent: dict[Any, list[Any]] = {
        backend.leases: [
            ("claim", ("report", "x"), "h", 1, "c"),
            ("renew", LEASE, 1),
            ("release", LEASE),
            ("get", OWNER),
            ("expired", "report", "cursor", 5),
        ],
        backend.scheduler: [("claim", want, "h", 1, "c", 3), ("peek", want, 2)],
        backend.journal: [("get", SCOPE, ("a",)), ("read", SCOPE, 0, 10)],
        backend.jobs: [("get", "j"), ("list", index, None, 1)],
        backend.frames: [("get", "f"), ("list", index, "cursor", 1)],
        backend.runs: [("get", "r"), ("list", index, None, 1), ("messages", "c", None, 1)],
        backend.maintenance: [
            ("schema",),
            ("migrate", "pre"),
            ("purge", 0, 1),
            ("drop_namespace",),
            ("restored",),
        ],
        backend.artifacts: [("put", b"x", "text/plain"), ("get", ref), ("stat", ref)],
    }

    for port, calls in sent.items():
        for verb, *arguments in calls:
            getattr(port, verb)(*arguments)

    assert {port: _calls(port) for port in sent} == sent


@pytest.mark.usefixtures("plain")
def test_the_lease_of_a_job_is_not_the_lease_stores() -> None:
    """It is taken by the scheduler and ended by a commit; looking and renewing are fine."""
    leases = open_provider("plain").leases
    lease = evolve(LEASE, resource=OWNER)

    with pytest.raises(Unsupported, match="claimed only through the scheduler"):
        leases.claim(OWNER, "h", 1, "c")
    with pytest.raises(Unsupported, match="ended only by a commit"):
        leases.release(lease)
    leases.renew(lease, 1)
    leases.get(OWNER)
    assert [verb for verb, *_ in _calls(leases)] == ["renew", "get"]


# --- wake-ups -------------------------------------------------------------------------------------


def test_hints_of_undeclared_kinds_are_dropped(narrow: Backend) -> None:
    """A hint may get lost, so this is no error; nothing is sent for nothing."""
    narrow.wakeups.notify([Topic("t"), Work("l"), Topic("u")])
    narrow.wakeups.notify([Topic("t")])
    narrow.wakeups.notify([])

    assert _calls(narrow.wakeups) == [("notify", [Work("l")])]


def test_a_subscription_to_an_undeclared_kind_is_refused(narrow: Backend) -> None:
    """Whoever waits for it would wait for ever."""
    narrow.wakeups.subscribe([Work("l")], print)

    with pytest.raises(Unsupported, match="no wake-ups of kind Topic"):
        narrow.wakeups.subscribe([Work("l"), Topic("t")], print)
    assert len(_calls(narrow.wakeups)) == 1
