"""Concurrent writers of a process share a commit, and share nothing else."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from plugins.nodeagent_sqlite.tests.sqlite_lab import Opener, Store, commits_seen, gathered, step, steps_of

from nodeagent import Committed, Conflict, Corrupt, Entry, Seq, Unavailable
from nodeagent_sqlite.writer import MAX_GROUP


def test_callers_that_wait_together_share_one_commit(store: Store) -> None:
    """Twenty callers who queue behind a slow one are answered after one COMMIT."""
    claim = store.held()
    seen = commits_seen(store)

    calls = [partial(store.transactions.commit, step(claim, f"k{i}")) for i in range(20)]
    answers = gathered(store, calls)

    assert sorted(answer.seqs[0] for answer in answers) == list(range(1, 21))
    assert seen.count("COMMIT") == 3  # the tracing call's own, the slow one's, and theirs


def test_a_group_is_bounded(store: Store) -> None:
    """The first of very many callers does not wait for the last."""
    claim = store.held()
    seen = commits_seen(store)
    count = MAX_GROUP + 1

    calls = [partial(store.transactions.commit, step(claim, f"k{i}")) for i in range(count)]
    gathered(store, calls)

    assert seen.count("COMMIT") == 4


def test_a_refused_caller_disturbs_nobody(store: Store) -> None:
    """Who meets a taken key in the middle of a group gets the winner; the others get their places, without a hole."""
    claim = store.held()
    store.transactions.commit(step(claim, "taken", commit_id="winner"))

    keys = ["a", "b", "taken", "c", "d"]
    calls = [partial(store.transactions.commit, step(claim, key)) for key in keys]
    answers = gathered(store, calls)

    assert isinstance(answers[2], Conflict)
    assert isinstance(answers[2].found, Entry)
    assert answers[2].found.written_by == "winner"
    assert sorted(a.seqs[0] for a in answers if isinstance(a, Committed)) == [2, 3, 4, 5]
    assert len(store.journal.read(steps_of("j1"), Seq(0), 10).items) == 5


def test_a_fault_in_one_caller_is_its_own(store: Store) -> None:
    """An atom that raises anything at all is undone; its neighbours are committed."""
    claim = store.held()

    def broken(_: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    answers = gathered(
        store,
        [
            lambda: store.transactions.commit(step(claim, "a")),
            lambda: store.connection.database.write(broken),
            lambda: store.transactions.commit(step(claim, "b")),
        ],
    )

    assert isinstance(answers[1], ZeroDivisionError)
    assert len(store.journal.read(steps_of("j1"), Seq(0), 10).items) == 2


def test_a_failed_commit_is_nobodys_success(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """If COMMIT is refused, everybody of the group hears that nothing was applied, and nothing is."""
    claim = store.held()

    def refuse(_: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode, error.sqlite_errorname = sqlite3.SQLITE_FULL, "SQLITE_FULL"
        raise Unavailable("full") from error

    with monkeypatch.context() as patch:
        patch.setattr(store.connection.database._writer, "_seal", refuse)
        calls = [partial(store.transactions.commit, step(claim, f"k{i}")) for i in range(5)]
        answers = gathered(store, calls)

    assert [type(answer) for answer in answers] == [Unavailable] * 5
    assert store.journal.read(steps_of("j1"), Seq(0), 10).items == ()
    assert store.transactions.commit(step(claim, "k0")).seqs == (1,)


def test_an_interrupted_leader_leaves_nobody_waiting(store: Store) -> None:
    """Ctrl-C in the thread that leads: the others are told to try again, and the lead goes on."""
    claim = store.held()

    def interrupted(_: sqlite3.Connection) -> None:
        raise KeyboardInterrupt

    answers = gathered(
        store,
        [
            lambda: store.transactions.commit(step(claim, "a")),
            lambda: store.connection.database.write(interrupted),
            lambda: store.transactions.commit(step(claim, "b")),
        ],
    )

    assert sorted(type(answer).__name__ for answer in answers) == [
        "KeyboardInterrupt",
        "Unavailable",
        "Unavailable",
    ]
    assert store.transactions.commit(step(claim, "a")).seqs == (1,)


def test_an_interrupted_commit_is_open(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C just after COMMIT: the others must ask again with the same id, and are told that they are duplicates."""
    claim = store.held()
    writer = store.connection.database._writer
    seal = writer._seal

    def sealed_and_interrupted(connection: sqlite3.Connection) -> None:
        seal(connection)
        if connection.execute("SELECT 1 FROM journal WHERE key LIKE '%k%'").fetchone():
            raise KeyboardInterrupt

    steps = [step(claim, f"k{i}") for i in range(4)]
    with monkeypatch.context() as patch:
        patch.setattr(writer, "_seal", sealed_and_interrupted)
        answers = gathered(store, [partial(store.transactions.commit, each) for each in steps])
    repeated = [store.transactions.commit(each) for each in steps]

    told = [type(answer).__name__ for answer in answers]
    assert sorted(told) == ["KeyboardInterrupt", *["OutcomeUnknown"] * 3]
    assert all(answer.duplicate for answer in repeated)


def test_a_commit_of_many_is_one_transaction(store: Store) -> None:
    """Independent commits given together share a commit, and each is an atom of its own."""
    claim = store.held()
    seen = commits_seen(store)

    answers = store.transactions.commit_many([step(claim, key) for key in ("a", "b", "a", "c")])

    assert [type(answer) for answer in answers] == [Committed, Committed, Conflict, Committed]
    assert seen.count("COMMIT") == 2


def test_a_closed_store_refuses_with_a_sentence(opened: Opener) -> None:
    """After close every call is Unavailable, whoever makes it."""
    store = opened()
    store.connection.close()

    with pytest.raises(Unavailable, match="closed"):
        store.jobs.get("j1")
    with pytest.raises(Unavailable, match="closed"):
        store.enqueue("j1")


def test_threads_leave_no_connections_behind(store: Store) -> None:
    """However many threads read and write, few connections stay open when they are gone."""
    store.enqueue("j1")

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(lambda _: store.jobs.get("j1"), range(400)))

    assert len(store.connection.database._known) <= 9
    assert not isinstance(store.jobs.get("j1"), Corrupt)
