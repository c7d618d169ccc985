"""Names and bytes: nothing collides, nothing is bent, and a namespace is a wall."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import (
    After,
    Fenced,
    Held,
    Inline,
    JobIndex,
    Lanes,
    LeaseLost,
    Ms,
    NotFound,
    OneJob,
    Put,
    RunIndex,
    Shared,
    WriteOnce,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

ODD = [
    "\0",
    "a\0b",
    "\x01\x1f\x7f",
    " ",
    "a ",
    "/",
    "../..",
    "%",
    "_",
    "*?[a]",
    ":",
    "a|b",
    "\"\\'",
    "NULL",
    "0",
    "é",
    "e\u0301",
    "İıſK",  # noqa: RUF001 - what folds to another letter
    "\u200b\u202e\ufeff",
    "\uffff",
    "\U0001f600",
    "\U0010ffff",
    "A",
    "a",
    "x" * 512,
    "é" * 256,
    "\U0001f600" * 128,
    "\0" * 512,
]
BYTES = [
    b"",
    b"\0",
    b"\0" * 100,
    b"\xff\xfe\x00",
    b"\x80",
    b"null",
    b'{"a": 1e400, "b": 18446744073709551616, "c": [], "d": {}}',
    bytes(range(256)),
    b"'; DROP TABLE jobs; --",
    "\ufeff\U0001f600".encode(),
    b"x" * 1_000_000,
]


def test_any_id_is_an_id(lab: Lab) -> None:
    """Odd ids of jobs come back as they went in, are claimed by name, and none is another."""
    for name in ODD:
        lab.enqueue(name)

    for name in ODD:
        assert lab.stored(name).id == name
        (claim,) = lab.one.scheduler.claim(OneJob(name), name, 1_000, lab.new()).claims
        assert (claim.job.id, claim.lease.holder) == (name, name)
        assert lab.fenced(claim, lab.step(claim.job, (name, name), name.encode())).seqs == (1,)
    listed = lab.walk(lambda after: lab.one.jobs.list(JobIndex.by_status("running"), after, 5))
    assert sorted(header.id for header in listed) == sorted(ODD)


def test_any_id_is_a_column(lab: Lab) -> None:
    """Lane, queue, runner, tenant and frame id are ids like any other."""
    for number, name in enumerate(ODD):
        columns: dict[str, Any] = dict.fromkeys(("lane", "queue", "runner", "tenant", "frame_id"), name)
        job = lab.enqueue(f"job {number}", **columns)
        assert {column: getattr(job.header, column) for column in columns} == columns

    for number, name in enumerate(ODD):
        page = lab.one.jobs.list(JobIndex.by_tenant(name), None, 10)
        assert [header.id for header in page.items] == [f"job {number}"]
        assert lab.claim(name).job.id == f"job {number}"


def test_any_id_names_a_run_and_its_parts(lab: Lab) -> None:
    """Conversation, status and role too."""
    for name in ODD:
        run = lab.start_run(name, conversation_id=name, status=name, tenant=name)
        lab.commit(Put(None, lab.message(run, 1, id=name, role=name)))

    for name in ODD:
        by = lab.one.runs.list(RunIndex.by_conversation(name), None, 10).items
        assert [header.id for header in by] == [name]
        assert [each.id for each in lab.one.runs.messages(name, None, 10).items] == [name]
        lease = lab.one.leases.claim(("run", name), name, 1_000, name)
        assert lease is not None
        assert (lease.resource, lease.holder, lease.claim_id) == (("run", name), name, name)


def test_keys_with_separators_never_collide(lab: Lab) -> None:
    """Parts are never joined: each of these is a key, a scope and a resource of its own."""
    names: list[tuple[str, ...]] = [
        ("a", "b"),
        ("a,b",),
        ("a:b",),
        ("a/b",),
        ("a\0b",),
        ("ab",),
        ("a", "b", "c"),
        ("a", "b,c"),
        ("a,b", "c"),
        ('a","b',),
        ('["a","b"]',),
        ("a\\", "b"),
        ("a", "\\b"),
        ("a\0", "b"),
        ("a", "\0b"),
        ("a\x1f", "b"),
        ("a ", "b"),
        ("a", " b"),
        ("1:a", "b"),
        ("A", "b"),
    ]
    claim = lab.running()
    owner = claim.job.owner
    for number, name in enumerate(names):
        data = f"{number}".encode()
        lab.fenced(
            claim,
            WriteOnce(Held(owner, "keys"), lab.entry(name, data)),
            WriteOnce(Held(owner, *name), lab.entry("k", data)),
            WriteOnce(Shared(owner, *name), lab.entry("k", data)),
        )
        assert lab.one.leases.claim(name, "w", 1_000, f"claim {number}") is not None

    for number, name in enumerate(names):
        value = Inline(f"{number}".encode())
        found = lab.one.journal.get(Held(owner, "keys"), name)
        assert found is not None
        assert (found.key, found.value, found.seq) == (name, value, number + 1)
        assert [entry.value for entry in lab.rows(Held(owner, *name))] == [value]
        assert [entry.value for entry in lab.rows(Shared(owner, *name))] == [value]
        lease = lab.one.leases.get(name)
        assert lease is not None
        assert (lease.resource, lease.claim_id) == (name, f"claim {number}")


def test_the_longest_names_are_kept(lab: Lab) -> None:
    """Keys of eight parts of 512 bytes each, and scopes of as many."""
    claim = lab.running("j" * 512)
    long = tuple(letter * 512 for letter in "abcdefgh")
    scope = Held(claim.job.owner, *long[:5])

    lab.fenced(claim, WriteOnce(scope, lab.entry(long, b"deep")))
    with pytest.raises(Exception, match="write-once"):
        lab.fenced(claim, WriteOnce(scope, lab.entry(long, b"again")))

    (entry,) = lab.rows(scope)
    assert entry.key == long


def test_long_names_that_differ_at_the_end_differ(lab: Lab) -> None:
    """Nothing is cut off."""
    claim = lab.running()
    long = "x" * 511
    lab.fenced(claim, lab.step(claim.job, (long + "a",), b"a"))
    lab.fenced(claim, lab.step(claim.job, (long + "b",), b"b"))
    lab.enqueue(long + "a")
    lab.enqueue(long + "b")

    assert [entry.key for entry in lab.rows(Held(claim.job.owner, "steps"))] == [
        (long + "a",),
        (long + "b",),
    ]
    assert lab.stored(long + "b").id == long + "b"


@pytest.mark.parametrize("data", BYTES, ids=range(len(BYTES)))
def test_bytes_are_opaque(lab: Lab, data: bytes) -> None:
    """Spec, state and values come back byte for byte, of every kind of record."""
    job = lab.enqueue(spec=data, state=data)
    claim = lab.claim()
    run = lab.run(owner=claim.job.owner, spec_digest=sha256(data).hexdigest())
    lab.fenced(
        claim,
        lab.step(claim.job, "k", data),
        Put(None, type(run)(header=run.header, spec=data, state=data)),
    )

    (entry,) = lab.rows(Held(job.owner, "steps"))
    stored_run = lab.one.runs.get("run")
    assert stored_run is not None
    assert (job.spec, job.state) == (data, data)
    assert (claim.job.spec, claim.job.state) == (data, data)
    assert (stored_run.spec, stored_run.state) == (data, data)
    assert entry.value == Inline(data)
    assert type(job.spec) is type(job.state) is bytes


def test_large_numbers_are_kept(lab: Lab) -> None:
    """Every count up to 2**53 - 1; a delay or a lease that would go beyond ends there."""
    most = 2**53 - 1
    job = lab.enqueue(created_at=Ms(most), round=most, attempts=most - 1, run_after=After(Ms(most)))

    assert (job.header.created_at, job.header.round, job.header.attempts) == (most, most, most - 1)
    assert job.header.run_after is not None
    assert job.header.run_after.ms == most
    ttl = lab.one.capabilities.max_ttl_ms or most
    lease = lab.one.leases.claim(("run", "r"), "w", ttl, "c")
    assert lease is not None
    assert lease.expires_at == min(lab.clock.now() + ttl, most)


# --- namespaces ---------------------------------------------------------------------------------


def test_namespaces_do_not_see_one_another(lab: Lab) -> None:
    """The same ids live in both, and neither reads, lists or claims what is the other's."""
    other = lab.open("elsewhere of " + lab.namespace)
    claim = lab.running()
    lab.enqueue("second")
    lab.start_run()
    lab.fenced(claim, lab.step(claim.job))
    lease = lab.one.leases.claim(("run", "run"), "w", 1_000, "c")
    assert lease is not None

    assert other.jobs.get("job") is None
    assert other.frames.get(claim.frame.id) is None
    assert other.runs.get("run") is None
    assert other.jobs.list(JobIndex.by_status("running"), None, 10).items == ()
    assert other.runs.list(RunIndex.by_owner(("run", "run")), None, 10).items == ()
    assert other.journal.get(Held(claim.job.owner, "steps"), ("key",)) is None
    assert other.leases.get(("run", "run")) is None
    answer = other.scheduler.claim(Lanes(names=("lane", "lane of job")), "w", 1_000, "c")
    assert (answer.claims, answer.next_due) == ((), None)
    assert other.scheduler.claim(OneJob("second"), "w", 1_000, "c").claims == ()
    with pytest.raises(LeaseLost):
        other.leases.renew(lease, 1_000)
    assert other.leases.release(lease) is False
    with pytest.raises(NotFound):
        other.artifacts.get(lab.one.artifacts.put(b"mine", "text/plain"))


def test_a_claim_id_is_known_in_its_namespace_alone(lab: Lab) -> None:
    """Two applications that draw the same id do not get one another's leases."""
    lab.enqueue()
    lab.claim(claim_id="c")
    elsewhere = type(lab)(lab.provider, lab.folder, "elsewhere of " + lab.namespace, lab.clock)
    elsewhere.enqueue("theirs")

    found = elsewhere.ask(claim_id="c").claims
    elsewhere.close()

    assert [claim.job.id for claim in found] == ["theirs"]


def test_the_operators_verbs_stay_in_their_namespace(lab: Lab) -> None:
    """Purge, restored and drop touch nothing of the other."""
    done = lab.leave(lab.running("done"))
    claim = lab.running()
    ref = lab.one.artifacts.put(b"mine", "text/plain")
    other = lab.open("elsewhere of " + lab.namespace)
    lab.clock.advance(10)

    other.maintenance.purge(lab.clock.now(), 100)
    other.maintenance.restored()
    other.maintenance.drop_namespace()

    assert lab.stored("done") == done
    assert lab.fenced(claim, lab.step(claim.job)).fence_holds is True
    assert lab.one.artifacts.get(ref) == b"mine"


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
def test_any_namespace_is_a_namespace(lab: Lab, name: str) -> None:
    """However odd, it holds its own and nothing else."""
    mine = type(lab)(lab.provider, lab.folder, name, lab.clock)
    mine.one.maintenance.drop_namespace()

    mine.enqueue()
    claim = mine.claim()
    mine.fenced(claim, mine.step(claim.job))
    ref = mine.one.artifacts.put(b"data", "text/plain")
    found = mine.one.artifacts.get(ref)
    jobs = mine.one.jobs.list(JobIndex.by_status("running"), None, 10).items
    mine.close()

    assert [header.id for header in jobs] == ["job"]
    assert found == b"data"
    assert lab.one.jobs.get("job") is None
    with pytest.raises(Fenced):
        lab.fenced(claim, lab.step(claim.job))
