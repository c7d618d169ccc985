"""How few statements a commit needs, and that what they leave out is made up for when a commit is refused."""

from __future__ import annotations

import sqlite3
from functools import partial

import pytest
from attrs import evolve
from plugins.nodeagent_sqlite.tests.sqlite_lab import (
    LANE,
    Opener,
    Store,
    audit,
    commits_seen,
    enqueuing,
    entry,
    finishing,
    fresh,
    gathered,
    job_of,
    step,
    steps_of,
)

from nodeagent import (
    At,
    Claim,
    Commit,
    Committed,
    Conflict,
    Fenced,
    Held,
    Lanes,
    Ms,
    Put,
    Release,
    Revoke,
    Seq,
    Unavailable,
    WriteOnce,
)
from nodeagent.testing import ManualClock


def count(store: Store, table: str) -> int:
    """Return how many rows a table has."""
    query = f"SELECT count(*) FROM {table}"  # noqa: S608 - a name of ours
    found: int = store.connection.database.read(lambda c: c.execute(query).fetchone()[0])
    return found


def number_of(seen: list[str], beginning: str) -> int:
    """Return how many statements began so."""
    return sum(statement.startswith(beginning) for statement in seen)


# --- refused commits ----------------------------------------------------------------------------


def test_a_refused_commit_that_is_alone_leaves_nothing(store: Store) -> None:
    """Its transaction is undone as a whole, and its answer comes from the next one."""
    store.enqueue("j1")
    stored = store.jobs.get("j1")
    assert stored is not None
    tables = ("journal", "scopes", "specs", "frames", "jobs", "leases")
    before = [count(store, table) for table in tables]
    stale = evolve(stored, header=evolve(stored.header, version=job_of("j1").header.version))
    seen = commits_seen(store)

    commit_id = fresh("late")
    writes = (audit("j1", commit_id), Put(None, job_of("new")), Put(stale, stale), Revoke(("job", "j1")))
    with pytest.raises(Conflict) as caught:
        store.transactions.commit(Commit.unfenced(commit_id, *writes))

    assert caught.value.kind == "revision"
    assert caught.value.found == stored.header
    assert [count(store, table) for table in tables] == before
    assert store.jobs.get("j1") == stored
    assert number_of(seen, "ROLLBACK") == 2  # of the bold attempt, then to the savepoint


def test_a_commit_that_is_alone_needs_no_savepoint(store: Store) -> None:
    """Neither do many in one call of which none is refused, nor a claim, nor an artifact."""
    seen = commits_seen(store)

    store.transactions.commit_many([enqueuing(f"j{number}") for number in range(3)])
    store.artifacts.put(b"bytes", "text/plain")
    store.transactions.commit(finishing(store.claim()))

    assert number_of(seen, "SAVEPOINT") == 0
    assert number_of(seen, "COMMIT") == 5  # with the tracing call's own


def test_callers_who_share_a_transaction_are_not_bold(store: Store) -> None:
    """What one of them writes before it is refused is undone, and the others' writes stay."""
    store.enqueue("j1")
    stored = store.jobs.get("j1")
    assert stored is not None
    taken = Commit.unfenced("again", Put(None, job_of("other")), Put(None, job_of("j1")))

    answers = gathered(store, [partial(store.transactions.commit, c) for c in (taken, enqueuing("a"), enqueuing("b"))])

    assert isinstance(answers[0], Conflict)
    assert store.jobs.get("other") is None
    assert store.jobs.get("j1") == stored
    assert store.jobs.get("a") is not None
    assert store.jobs.get("b") is not None


def test_one_refused_among_many_leaves_nothing(store: Store) -> None:
    """The others are applied, though the first attempt at all of them was undone."""
    store.enqueue("j1")
    taken = Commit.unfenced("again", Put(None, job_of("other")), Put(None, job_of("j1")))

    answers = store.transactions.commit_many([enqueuing("a"), taken, enqueuing("b")])

    assert [type(answer) for answer in answers] == [Committed, Conflict, Committed]
    assert [store.jobs.get(name) is not None for name in ("a", "other", "b")] == [True, False, True]
    assert count(store, "scopes") == 3


def test_a_bold_attempt_that_raises_is_performed_with_care(store: Store) -> None:
    """The second attempt sees nothing of the first."""
    database = store.connection.database
    add = "INSERT INTO namespaces (name) VALUES (?)"

    def bold(connection: sqlite3.Connection) -> str:
        connection.execute(add, ("bold",))
        raise ZeroDivisionError

    def careful(connection: sqlite3.Connection) -> str:
        connection.execute(add, ("careful",))
        return "done"

    assert database.write(careful, bold=bold) == "done"
    names = database.read(lambda c: c.execute("SELECT name FROM namespaces").fetchall())
    assert ("careful",) in names
    assert ("bold",) not in names


def test_a_lock_that_is_lost_between_the_attempts_is_waited_for(opened: Opener) -> None:
    """Another process may come first; if it stays for too long, nothing was applied."""
    store = opened(busy_timeout_ms=50)
    other = sqlite3.connect(store.path, isolation_level=None)

    def interrupted(connection: sqlite3.Connection) -> None:
        connection.execute("ROLLBACK")
        other.execute("BEGIN IMMEDIATE")
        raise ZeroDivisionError

    with pytest.raises(Unavailable, match="kept it locked"):
        store.connection.database.write(lambda _: None, bold=interrupted)
    other.close()

    store.enqueue("j1")
    assert store.jobs.get("j1") is not None


# --- the end of a lease -------------------------------------------------------------------------


def claims_of(store: Store, lane: str = LANE) -> list[str]:
    """Claim whatever can be claimed."""
    return [each.job.id for each in store.scheduler.claim(Lanes(names=(lane,)), "me", 60_000, fresh("claim"), 9).claims]


def test_a_job_that_is_released_unwritten_can_be_claimed(store: Store) -> None:
    """A commit may end the lease of a job without a word about the job."""
    claim = store.held()
    commit_id = fresh("leave")

    answer = store.transactions.commit(
        Commit.fenced(commit_id, claim.lease.fence, audit("j1", commit_id), Release()),
    )

    assert answer.fence_holds is False
    assert store.leases.get(("job", "j1")) is None
    assert claims_of(store, "j1") == ["j1"]


@pytest.mark.parametrize("is_last", [True, False])
def test_a_job_that_is_written_and_released_is_written_once(store: Store, *, is_last: bool) -> None:
    """One update says both that it is due and that nobody holds it."""
    claim = store.held()
    commit_id = fresh("give back")
    after = evolve(claim.job, header=evolve(claim.job.header, status="queued", run_after=At(Ms(1))))
    writes = (audit("j1", commit_id), Put(claim.job, after))
    seen = commits_seen(store)

    writes = (*writes, Release()) if is_last else (Release(), *writes)  # type: ignore[assignment]
    store.transactions.commit(Commit.fenced(commit_id, claim.lease.fence, *writes))

    assert number_of(seen, "UPDATE jobs") == 1
    assert claims_of(store, "j1") == ["j1"]


def test_a_job_that_is_written_under_its_lease_stays_leased(store: Store) -> None:
    """Only the end of its own lease frees it."""
    claim = store.held()
    commit_id = fresh("note")
    after = evolve(claim.job, state=b"noted")

    writes = (audit("j1", commit_id), Put(claim.job, after))
    store.transactions.commit(Commit.fenced(commit_id, claim.lease.fence, *writes))

    assert claims_of(store, "j1") == []
    assert store.leases.get(("job", "j1")) == claim.lease


def test_a_revoke_frees_its_own_job(store: Store) -> None:
    """Written in the same commit or not, and whatever else the commit writes."""
    claims = [store.held(name) for name in ("j1", "j2", "j3")]
    queued = [evolve(each.job, header=evolve(each.job.header, status="queued")) for each in claims]
    commit_id = fresh("cancel")
    writes = (
        audit("j1", commit_id),
        Revoke(("job", "j2")),
        Put(claims[0].job, queued[0]),
        Revoke(("job", "j1")),
    )

    store.transactions.commit(Commit.unfenced(commit_id, *writes))

    assert [claims_of(store, name) for name in ("j1", "j2", "j3")] == [["j1"], ["j2"], []]


# --- the first step of a scope ------------------------------------------------------------------


def test_the_first_step_of_a_scope_is_one_attempt(store: Store) -> None:
    """Its scope is added before it, the entry is written once."""
    claim = store.held()
    seen = commits_seen(store)

    store.transactions.commit(step(claim, "a"))
    store.transactions.commit(step(claim, "b"))

    assert number_of(seen, "INSERT INTO journal") == 2
    assert number_of(seen, "INSERT INTO scopes") == 1


def test_a_step_whose_fence_fails_adds_no_scope(store: Store) -> None:
    """What belongs to nobody would never be purged."""
    claim = store.held()
    store.transactions.commit(finishing(claim))
    before = count(store, "scopes")

    for _ in range(2):
        with pytest.raises(Fenced):
            store.transactions.commit(step(claim, "a"))
    answers = store.transactions.commit_many([step(claim, "a"), step(claim, "b")])

    assert [type(answer) for answer in answers] == [Fenced, Fenced]
    assert count(store, "scopes") == before


def test_a_scope_that_was_purged_begins_anew(opened: Opener) -> None:
    """That a scope was seen before is no more than a hint."""
    store = opened(clock=ManualClock())
    first = store.held("again")
    store.transactions.commit(step(first, "a"))
    store.transactions.commit(finishing(first))
    assert store.maintenance.purge(Ms(10), 10).jobs == 1

    second = store.held("again")
    answers = [store.transactions.commit(step(second, key)) for key in ("a", "b")]

    assert [answer.seqs for answer in answers] == [(1,), (2,)]
    assert len(store.journal.read(steps_of("again"), Seq(0), 9).items) == 2


def test_scopes_that_were_seen_are_forgotten_in_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded; a scope that was forgotten is found again."""
    monkeypatch.setattr("nodeagent_sqlite.transactions.REMEMBERED", 2)
    claim = store.held()
    names = ["a", "b", "c", "d", "a"]

    def once(word: str, number: int) -> Commit:
        write = WriteOnce(Held(("job", "j1"), word), entry(f"key {number}"))
        return Commit.fenced(fresh("step"), claim.lease.fence, write)

    answers = [store.transactions.commit(once(word, number)) for number, word in enumerate(names)]

    assert [answer.seqs for answer in answers] == [(1,), (1,), (1,), (1,), (2,)]


def test_entries_of_many_scopes_in_one_commit(store: Store) -> None:
    """Each scope counts on its own, old or new."""
    claim = store.held()
    store.transactions.commit(step(claim, "a"))

    def once(word: str, key: str) -> WriteOnce:
        return WriteOnce(Held(("job", "j1"), word), entry(key))

    writes = (once("steps", "b"), once("more", "a"), once("steps", "c"), once("more", "b"))
    answer = store.transactions.commit(Commit.fenced(fresh("many"), claim.lease.fence, *writes))

    assert answer.seqs == (2, 1, 3, 2)


# --- claims -------------------------------------------------------------------------------------


def test_a_claim_reads_no_job_that_it_does_not_take(store: Store) -> None:
    """That there are more is told without a look at them."""
    for number in range(3):
        store.enqueue(f"j{number}")
    claimed: list[Claim] = []
    seen = commits_seen(store)

    for _ in range(3):
        claims = store.scheduler.claim(Lanes(names=(LANE,)), "me", 60_000, fresh("claim"), 1)
        claimed += claims.claims
        is_due = claims.next_due is not None and claims.next_due <= claims.now
        assert is_due == (len(claimed) < 3)

    assert number_of(seen, "SELECT j.id, j.revision") == 3
    assert number_of(seen, "WITH RECURSIVE") == 1
