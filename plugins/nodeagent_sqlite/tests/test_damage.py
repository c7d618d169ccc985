"""A damaged row hurts whoever needs it, and nobody else; a driver's error never comes out of a port."""

from __future__ import annotations

import resource
import signal
import sqlite3
from collections.abc import Callable

import pytest
from plugins.nodeagent_sqlite.tests.sqlite_lab import (
    LANE,
    Opener,
    Store,
    audit,
    commits_seen,
    finished,
    fresh,
    job_of,
    run_python,
    step,
    steps_of,
)

from nodeagent import (
    ArtifactRef,
    BackendError,
    Commit,
    Conflict,
    Corrupt,
    Entry,
    FrameIndex,
    JobIndex,
    Lanes,
    OutcomeUnknown,
    Put,
    Seq,
    Topic,
    Unavailable,
)
from nodeagent.testing import ManualClock
from nodeagent_sqlite.faults import after_commit, translated
from nodeagent_sqlite.remarks import MOST, Remarks

DAMAGES = {
    "an unknown status": "UPDATE jobs SET status = 'asleep' WHERE id = 'j2'",
    "a priority out of range": "UPDATE jobs SET priority = 77 WHERE id = 'j2'",
    "a negative time": "UPDATE jobs SET created_at = -5 WHERE id = 'j2'",
    "a time beyond all others": "UPDATE jobs SET run_after = 1 << 60 WHERE id = 'j2'",
    "attempts without end": "UPDATE jobs SET attempts = 1 << 62 WHERE id = 'j2'",
    "text that is no UTF-8": "UPDATE jobs SET tenant = CAST(x'ff41' AS TEXT) WHERE id = 'j2'",
}


def damage(store: Store, statement: str) -> None:
    """Change the file as no provider would."""
    other = sqlite3.connect(store.path)
    with other:
        assert other.execute(statement).rowcount == 1
    other.close()


def damage_all(store: Store, statement: str) -> None:
    """Change many rows of the file as no provider would."""
    other = sqlite3.connect(store.path)
    with other:
        other.execute(statement)
    other.close()


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_job_is_passed_over(store: Store, how: str) -> None:
    """Claims and listings go on without it; who asks for it by name is told."""
    for name in ("j1", "j2", "j3"):
        store.enqueue(name)
    damage(store, DAMAGES[how])

    with pytest.raises(Corrupt, match="j2"):
        store.jobs.get("j2")
    page = store.jobs.list(JobIndex.by_lane(LANE, "queued"), None, 10)
    assert [header.id for header in page.items] == ["j1", "j3"]
    claims = store.scheduler.claim(Lanes(names=(LANE,)), "me", 1000, "c", limit=5)
    assert [claim.job.id for claim in claims.claims] == ["j1", "j3"]
    assert claims.next_due is not None
    assert claims.next_due > claims.now


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE specs SET spec = x'00' WHERE id = (SELECT spec_id FROM jobs WHERE id = 'j1')",
        "DELETE FROM specs WHERE id = (SELECT spec_id FROM frames WHERE id = 'frame of j1')",
        "UPDATE frames SET owner = 'nobody' WHERE id = 'frame of j1'",
        "UPDATE frames SET owner = printf('%.*c', 100000, '[') WHERE id = 'frame of j1'",
        "DELETE FROM frames WHERE id = 'frame of j1'",
    ],
)
def test_a_job_that_nobody_can_work_on_is_passed_over(store: Store, statement: str) -> None:
    """Its spec or its frame is damaged or lost: the next one is claimed, and an idle worker does not spin."""
    store.enqueue("j1")
    store.enqueue("j2")
    damage(store, statement)
    wanted = Lanes(names=(LANE,))

    assert [c.job.id for c in store.scheduler.claim(wanted, "me", 9, "a").claims] == ["j2"]
    idle = store.scheduler.claim(wanted, "me", 9, "b")
    assert idle.next_due is not None
    assert idle.next_due > idle.now


CONTRADICTIONS: dict[str, tuple[str, int, int]] = {
    "free, but held": ("held", 1, 1),
    "a mark without a next one": ("released", 2**63 - 1, 1),
    "a mark whose next one is no token": ("released", 2**60, 1),
    "attempts that leave no room for one more": ("released", 1, 2**53 - 1),
}


@pytest.mark.parametrize("how", CONTRADICTIONS)
def test_a_job_that_cannot_be_taken_is_passed_over(store: Store, how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Its rows contradict each other: the others are claimed, once each, and nothing of it is half taken."""
    store.enqueue("j1", priority=9)
    store.claim()
    store.enqueue("j2")
    store.enqueue("j3")
    state, mark, attempts = CONTRADICTIONS[how]
    damage(store, f"UPDATE leases SET state = '{state}', mark = {mark} WHERE job_id = 'j1'")  # noqa: S608
    damage(store, f"UPDATE jobs SET leased = 0, attempts = {attempts} WHERE id = 'j1'")  # noqa: S608
    wanted = Lanes(names=(LANE,))
    before = _everything_of(store, "j1")

    assert [c.job.id for c in store.scheduler.claim(wanted, "me", 60_000, "a").claims] == ["j2"]
    assert [c.job.id for c in store.scheduler.claim(wanted, "me", 60_000, "b", limit=9).claims] == ["j3"]
    idle = store.scheduler.claim(wanted, "me", 60_000, "c")
    assert idle.claims == ()
    assert idle.next_due is not None
    assert idle.next_due > idle.now
    assert _everything_of(store, "j1") == before
    assert [record.getMessage() for record in caplog.records if "'j1'" in record.getMessage()] == [
        "the stored job 'j1' is passed over, because it cannot be read or taken; run \"nodeagent doctor\""
    ]


def _everything_of(store: Store, job_id: str) -> list[object]:
    job = "SELECT * FROM jobs WHERE id = ?"
    lease = "SELECT * FROM leases WHERE job_id = ?"
    return [store.connection.database.read(lambda c, q=q: c.execute(q, (job_id,)).fetchall()) for q in (job, lease)]  # type: ignore[misc]


def test_a_job_that_is_said_to_be_free_is_claimed_when_its_lease_has_expired(opened: Opener) -> None:
    """The contradiction ends by itself; the job is found once, though it stands in both indexes."""
    clock = ManualClock()
    store = opened(clock=clock)
    store.enqueue("j1")
    first = store.claim(ttl_ms=1000)
    damage(store, "UPDATE jobs SET leased = 0 WHERE id = 'j1'")
    wanted = Lanes(names=(LANE,))
    idle = store.scheduler.claim(wanted, "me", 1000, "a")
    assert (idle.claims, idle.next_due) == ((), first.lease.expires_at)
    clock.advance(1000)

    again = store.scheduler.claim(wanted, "me", 1000, "b", limit=5)

    assert [claim.job.id for claim in again.claims] == ["j1"]
    assert again.claims[0].lease.token > first.lease.token


def test_many_contradictory_jobs_are_looked_at_once_each(store: Store) -> None:
    """A claim reads a bad job once, whatever its limit, and then the good one behind them all."""
    for number in range(30):
        store.enqueue(f"j{number:02}", priority=9)
    store.scheduler.claim(Lanes(names=(LANE,)), "me", 60_000, "a", limit=30)
    damage_all(store, "UPDATE jobs SET leased = 0")
    store.enqueue("good")
    seen = commits_seen(store)

    claims = store.scheduler.claim(Lanes(names=(LANE,)), "me", 60_000, "b", limit=5)

    assert [claim.job.id for claim in claims.claims] == ["good"]
    assert sum("INSERT INTO leases" in statement for statement in seen) == 1 + 31  # boldly the first, then each


def test_a_listing_tells_what_it_leaves_out(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """Once for each record and connection, by its id, without anything that is in it."""
    for name in ("j1", "j2"):
        store.enqueue(name)
    damage(store, "UPDATE jobs SET priority = 77, tenant = 'secret' WHERE id = 'j1'")
    damage(store, "UPDATE frames SET owner = printf('%.*c', 100000, '[') WHERE id = 'frame of j2'")

    for _ in range(3):
        store.jobs.list(JobIndex.by_status("queued"), None, 10)
        store.frames.list(FrameIndex.by_job("j1"), None, 10)
        store.scheduler.peek(Lanes(names=(LANE,)))
        store.scheduler.claim(Lanes(names=(LANE,)), "me", 1000, fresh("c"))

    said = [record.getMessage() for record in caplog.records]
    assert [record.name for record in caplog.records] == ["nodeagent"] * 2
    assert sorted(text.split(" is passed over")[0] for text in said) == ["the stored job 'j1'", "the stored job 'j2'"]
    assert "secret" not in "".join(said)


def test_a_file_that_is_damaged_all_over_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A connection remembers so many ids and no more."""
    remarks = Remarks()

    for number in range(2 * MOST):
        remarks.passed_over("job", f"j{number}")

    assert len(caplog.records) == MOST


def test_damaged_jobs_of_dead_holders_stand_in_nobodys_way(opened: Opener) -> None:
    """However many leases of unreadable jobs expire, the readable ones behind them are claimed."""
    clock = ManualClock()
    store = opened(clock=clock)
    for number in range(6):
        store.enqueue(f"j{number}")
    wanted = Lanes(names=(LANE,))
    store.scheduler.claim(wanted, "dead", 10, "a", limit=6)
    for number in range(5):
        damage(store, f"UPDATE jobs SET status = 'asleep' WHERE id = 'j{number}'")  # noqa: S608
    clock.advance(10)

    claims = store.scheduler.claim(wanted, "me", 10, "b")

    assert [claim.job.id for claim in claims.claims] == ["j5"]


def test_a_digest_that_does_not_fit_is_corrupt(store: Store) -> None:
    """A spec is checked against its digest, as an artifact is against its name."""
    store.enqueue("j1")
    damage(store, "UPDATE specs SET spec = x'00' WHERE id = (SELECT spec_id FROM jobs)")
    ref = store.artifacts.put(b"bytes", "text/plain")
    damage(store, "UPDATE artifact_bytes SET data = x'00'")

    with pytest.raises(Corrupt, match="j1"):
        store.jobs.get("j1")
    with pytest.raises(Corrupt, match=ref.id):
        store.artifacts.get(ref)
    assert store.artifacts.put(b"bytes", "text/plain") == ref
    assert store.artifacts.get(ArtifactRef.of(b"bytes")) == b"bytes"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE journal SET data = x'00' WHERE seq = 2 AND key = '[\"b\"]'",
        "UPDATE journal SET key = 'no json' WHERE seq = 2 AND key = '[\"b\"]'",
        "UPDATE journal SET kind = '' WHERE seq = 2 AND key = '[\"b\"]'",
        "DELETE FROM journal WHERE seq = 2 AND key = '[\"b\"]'",
    ],
)
def test_a_damaged_entry_fails_its_own_scope(store: Store, statement: str) -> None:
    """The scope is Corrupt as a whole, since a replay would go wrong; other scopes are read and written."""
    hurt, well = store.held("hurt"), store.held("well")
    for key in ("a", "b", "c"):
        store.transactions.commit(step(hurt, key))
    store.transactions.commit(step(well, "a"))
    damage(store, statement)

    with pytest.raises(Corrupt, match="hurt"):
        store.journal.read(steps_of("hurt"), Seq(0), 10)
    assert store.journal.get(steps_of("hurt"), ("a",)) is not None
    assert len(store.journal.read(steps_of("well"), Seq(0), 10).items) == 1
    assert store.transactions.commit(step(well, "b")).seqs == (2,)


def test_half_a_commit_is_corrupt(store: Store) -> None:
    """If some anchors of a repeated commit are its own and others are missing, the store lost something."""
    commit_id = fresh("enqueue")
    commit = Commit.unfenced(commit_id, Put(None, job_of("j1")), audit("j1", commit_id))
    store.transactions.commit(commit)
    damage(store, "DELETE FROM journal WHERE seq = 1")

    with pytest.raises(Corrupt, match="anchors"):
        store.transactions.commit(commit)


def test_a_conflict_with_an_unreadable_row_is_corrupt(store: Store) -> None:
    """What cannot be shown to the loser of a race is reported as what it is."""
    store.enqueue("j1")
    damage(store, "UPDATE jobs SET status = 'asleep'")

    with pytest.raises(Corrupt):
        store.enqueue("j1")


def test_a_full_disk_is_unavailable_and_leaves_nothing(store: Store) -> None:
    """The commit that does not fit is refused whole; after space is freed the same one works."""
    claim = store.held()
    database = store.connection.database
    pages = database.write(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    database.write(lambda c: c.execute(f"PRAGMA max_page_count = {pages}").fetchone())
    big = step(claim, "big", b"x" * 100_000)

    with pytest.raises(Unavailable, match="full"):
        store.transactions.commit(big)
    assert store.journal.read(steps_of("j1"), Seq(0), 9).items == ()

    database.write(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchone())
    answer = store.transactions.commit(big)
    assert (answer.duplicate, answer.seqs) == (False, (1,))


LIMITED = """
import resource, sys
from pathlib import Path
from nodeagent import Seq, Unavailable
from sqlite_lab import open_store, step, steps_of

store = open_store(Path(sys.argv[1]))
claim = store.held()
size = max(Path(sys.argv[1] + suffix).stat().st_size for suffix in ("", "-wal"))
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, hard))
big = step(claim, "big", b"x" * 200_000)
try:
    store.transactions.commit(big)
except Unavailable as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
assert store.journal.read(steps_of("j1"), Seq(0), 9).items == ()
answer = store.transactions.commit(big)
assert not answer.duplicate
"""


def test_a_file_that_may_not_grow_is_unavailable(store: Store) -> None:
    """A write of the log that the operating system refuses: nothing was applied, and the store goes on."""
    assert signal.getsignal(signal.SIGXFSZ) is not None
    assert resource.RLIMIT_FSIZE
    path = store.path.with_name("limited.db")

    assert "could not be used" in finished(run_python(LIMITED, path))


def test_a_read_only_store_is_unavailable(store: Store) -> None:
    """A write to what turned read-only is refused with a sentence; reading goes on."""
    store.enqueue("j1")
    store.connection.database.write(lambda c: c.execute("PRAGMA query_only = ON"))

    with pytest.raises(Unavailable, match="writable"):
        store.enqueue("j2")
    assert store.jobs.get("j1") is not None


def test_a_lost_table_is_no_driver_error(store: Store) -> None:
    """Somebody dropped a table under our feet: every port says Corrupt, none sqlite3.OperationalError."""
    other = sqlite3.connect(store.path)
    for table in ("jobs", "journal", "leases", "artifacts"):
        other.execute(f"DROP TABLE {table}")
    other.commit()
    other.close()
    calls: list[Callable[[], object]] = [
        lambda: store.jobs.get("j1"),
        lambda: store.jobs.list(JobIndex.by_status("queued"), None, 3),
        lambda: store.enqueue("j1"),
        lambda: store.leases.get(("thing", "a")),
        lambda: store.leases.claim(("thing", "a"), "me", 1, "c"),
        lambda: store.scheduler.claim(Lanes(names=("a",)), "me", 1, "c"),
        lambda: store.journal.read(steps_of("j1"), Seq(0), 3),
        lambda: store.artifacts.put(b"", "text/plain"),
        store.maintenance.drop_namespace,
    ]

    for call in calls:
        with pytest.raises(Corrupt, match="nodeagent doctor"):
            call()
    store.wakeups.notify([Topic("a")])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SQLITE_FULL", Unavailable),
        ("SQLITE_IOERR_WRITE", Unavailable),
        ("SQLITE_IOERR_FSYNC", OutcomeUnknown),
        ("SQLITE_IOERR", OutcomeUnknown),
    ],
)
def test_what_a_failed_commit_means(name: str, expected: type[BackendError]) -> None:
    """A record that was not written whole is void; one that was not synced may come back after a crash."""
    error = sqlite3.OperationalError("some words of the driver's")
    error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name

    assert type(after_commit(error, "x.db")) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("SQLITE_BUSY_SNAPSHOT", Unavailable),
        ("SQLITE_READONLY_DBMOVED", Unavailable),
        ("SQLITE_CANTOPEN", Unavailable),
        ("SQLITE_CORRUPT_INDEX", Corrupt),
        ("SQLITE_NOTADB", Corrupt),
        ("SQLITE_ERROR", Corrupt),
    ],
)
def test_every_error_has_a_sentence(name: str, expected: type[BackendError]) -> None:
    """It names the file and the code, never what the driver said, which may quote what was stored."""
    error = sqlite3.OperationalError("near 'secret'")
    error.sqlite_errorcode, error.sqlite_errorname = getattr(sqlite3, name), name

    told = translated(error, "x.db")

    assert type(told) is expected
    assert "x.db" in str(told)
    assert name in str(told)
    assert "secret" not in str(told)


def test_a_taken_key_shows_the_winner(store: Store) -> None:
    """The usual refusal, for contrast."""
    claim = store.held()
    store.transactions.commit(step(claim, "a", commit_id="first"))

    with pytest.raises(Conflict) as caught:
        store.transactions.commit(step(claim, "a"))
    assert isinstance(caught.value.found, Entry)
    assert caught.value.found.written_by == "first"
