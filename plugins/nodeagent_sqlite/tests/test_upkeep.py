"""Purge, restored back-ups, and the doctor."""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from pathlib import Path

import pytest
from plugins.nodeagent_sqlite.tests.sqlite_lab import (
    Opener,
    Store,
    finishing,
    fresh,
    open_store,
    step,
    steps_of,
)

import nodeagent_sqlite as provider
from nodeagent import (
    Check,
    Commit,
    Entry,
    Fenced,
    Held,
    Lanes,
    Ms,
    Seq,
    Shared,
    Stored,
    WriteOnce,
    encode_key,
)
from nodeagent.testing import ManualClock
from nodeagent_sqlite import filesystem
from nodeagent_sqlite import rows as looking
from nodeagent_sqlite.maintenance import ARTIFACT_GRACE_MS


def rows(store: Store, table: str) -> int:
    """Count a table's rows."""
    (count,) = store.connection.database.read(
        lambda c: c.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608 - the test's own
    )
    return int(count)


def test_a_purged_job_leaves_no_row_behind(store: Store) -> None:
    """Job, frame, specs, scopes, entries and lease all go; a job whose id begins the same stays whole."""
    for name in ("j", "j1", 'j","x'):
        claim = store.held(name)
        store.transactions.commit(step(claim, "a"))
        if name == "j":
            store.transactions.commit(finishing(claim))

    purged = store.maintenance.purge(Ms(10), 10)

    assert (purged.jobs, purged.entries, purged.more) == (1, 3, False)
    assert [rows(store, t) for t in ("jobs", "frames", "specs", "scopes", "journal", "leases")] == [
        2,
        2,
        4,
        4,
        4,
        2,
    ]
    assert len(store.journal.read(steps_of("j1"), Seq(0), 9).items) == 1


def test_a_purge_goes_in_bounded_batches(store: Store) -> None:
    """Up to ``limit`` a call, whatever one transaction takes."""
    for number in range(5):
        store.transactions.commit(finishing(store.held(f"j{number}")))

    assert store.maintenance.purge(Ms(10), 3).jobs == 3
    last = store.maintenance.purge(Ms(10), 3)
    assert (last.jobs, last.more) == (2, False)


def test_artifacts_that_an_entry_or_a_frame_names_are_kept(opened: Opener) -> None:
    """What nothing refers to any more goes with what referred to it, if it is old enough."""
    clock = ManualClock()
    store = opened(clock=clock)
    claim = store.held()
    kept = store.artifacts.put(b"kept", "text/plain")
    loose = store.artifacts.put(b"loose", "text/plain")
    value = Stored(ref=kept.id, sha256=kept.sha256, size=4)
    once = WriteOnce(steps_of("j1"), Entry(key=("a",), kind="k", value=value))
    store.transactions.commit(Commit.fenced(fresh("step"), claim.lease.fence, once))
    later = Ms(clock.now() + 10)
    clock.advance(ARTIFACT_GRACE_MS)
    assert store.maintenance.purge(later, 9).artifacts == 0
    clock.advance(1)

    assert store.maintenance.purge(Ms(5), 9).artifacts == 0
    assert store.maintenance.purge(later, 9).artifacts == 1
    assert store.artifacts.stat(loose) is None
    assert store.artifacts.get(kept) == b"kept"
    store.transactions.commit(finishing(claim))
    assert store.maintenance.purge(later, 9).artifacts == 1
    assert rows(store, "artifact_bytes") == 0


def test_tokens_rise_over_a_purge(store: Store) -> None:
    """A job of the same id starts above the mark that was forgotten, as does everything else that is new."""
    for _ in range(3):
        claim = store.held("again")
        store.transactions.commit(finishing(claim))
        old = claim
        store.maintenance.purge(Ms(10), 10)

    assert store.held("again").lease.token > old.lease.token
    with pytest.raises(Fenced):
        store.transactions.commit(step(old, "late"))


def _quoted(text: str, connection: sqlite3.Connection) -> tuple[str]:
    row: tuple[str] = connection.execute("SELECT json_quote(?)", (text,)).fetchone()
    return row


def test_json_of_sqlite_and_of_the_core_agree(store: Store) -> None:
    """The purge compares owners that SQLite quotes with owners that the core encoded."""
    awkward = ["".join(map(chr, range(1, 0x90))), "\0", '"\\/', "é\u2028\U0001f600", "'; DROP TABLE"]

    for text in awkward:
        (quoted,) = store.connection.database.read(partial(_quoted, text))
        assert f'["run",{quoted}]' == encode_key(("run", text))
        assert json.loads(quoted) == text


def test_a_restored_back_up_repeats_no_token(opened: Opener, path: Path, tmp_path: Path) -> None:
    """Leases that the back-up holds are revoked, and new tokens are above those of the lost time line."""
    store = opened()
    claim = store.held()
    back_up = sqlite3.connect(tmp_path / "copy.db")
    source = sqlite3.connect(path)
    source.backup(back_up)
    back_up.close()
    source.close()

    copy = open_store(tmp_path / "copy.db")
    copy.maintenance.restored()

    with pytest.raises(Fenced) as caught:
        copy.transactions.commit(step(claim, "a"))
    assert caught.value.reason == "revoked"
    again = copy.scheduler.claim(Lanes(names=("j1",)), "me", 1000, "again")
    assert again.claims[0].lease.token > claim.lease.token + 1_000_000
    lease = copy.leases.claim(("thing", "new"), "me", 1000, "new")
    assert lease is not None
    assert lease.token > 1_000_000
    copy.connection.close()


def test_a_scope_is_found_by_its_exact_owner(store: Store) -> None:
    """Owners that begin alike own different scopes."""
    names = [Held(("job", "a"), "b"), Held(("job", "a"), "b", "c"), Shared(("job", 'a","b'), "c")]

    assert len({encode_key(name) for name in names}) == 3
    assert all(store.journal.read(name, Seq(0), 1).items == () for name in names)


def checks(path: Path, store: Store | None = None) -> dict[str, Check]:
    """Return what the doctor finds, by name; of several alike the worst."""
    settings = provider.SqliteSettings(path=str(path))
    connection = None if store is None else store.connection
    found = provider.nodeagent_doctor(settings=settings, connection=connection)
    order = ["ok", "warning", "failed"]
    return {check.name: check for check in sorted(found, key=lambda c: order.index(c.status))}


def test_the_doctor_finds_a_healthy_store_healthy(store: Store) -> None:
    """Everything is looked at, and nothing is wrong."""
    store.enqueue("j1")
    found = checks(store.path, store)

    assert set(found) >= {
        "sqlite",
        "file system",
        "free space",
        "file",
        "mode",
        "integrity",
        "schema",
        "journal mode",
        "durability",
        "rows",
    }
    assert {check.status for check in found.values()} == {"ok"}


def test_the_doctor_names_a_remedy(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong comes with what to do about it, and the doctor makes nothing itself."""
    store.connection.close()
    store.path.chmod(0o644)
    monkeypatch.setattr(filesystem, "_read_mounts", lambda: "1 1 0:1 / / rw - nfs4 server:/ rw\n")

    found = checks(store.path)
    bad = {name: check for name, check in found.items() if check.status != "ok"}

    assert set(bad) == {"mode", "file system"}
    assert all(check.remedy for check in bad.values())
    assert checks(tmp_path / "missing.db")["file"].status == "warning"
    assert not (tmp_path / "missing.db").exists()


@pytest.mark.parametrize("kind", ["text", "stranger", "folder"])
def test_the_doctor_survives_what_is_no_database(tmp_path: Path, kind: str) -> None:
    """It looks at anything, and says that it is not right."""
    path = tmp_path / "it"
    if kind == "text":
        path.write_text("Dear diary " * 1000)
    elif kind == "folder":
        path.mkdir()
    else:
        sqlite3.connect(path).execute("CREATE TABLE jobs (id)").connection.close()

    found = checks(path)

    assert any(check.status == "failed" and check.remedy for check in found.values())


# --- the doctor looks at rows -------------------------------------------------------------------


def damage(store: Store, statement: str) -> None:
    """Change the file as no provider would."""
    with sqlite3.connect(store.path) as other:
        other.execute(statement)
    other.close()


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE jobs SET status = 'asleep' WHERE id = 'j1'", "job 'j1' of 'test' is damaged"),
        ("UPDATE jobs SET priority = 77 WHERE id = 'j1'", "job 'j1' of 'test' is damaged"),
        ("UPDATE jobs SET tenant = CAST(x'ff41' AS TEXT) WHERE id = 'j1'", "job 'j1' of 'test' is damaged"),
        ("DELETE FROM frames WHERE id = 'frame of j1'", "job 'j1' of 'test' has no frame"),
        ("UPDATE frames SET owner = printf('%.*c', 100000, '[') WHERE id = 'frame of j1'", "frame 'frame of j1'"),
        ("DELETE FROM specs WHERE id = (SELECT spec_id FROM jobs WHERE id = 'j1')", "job 'j1' of 'test' is damaged"),
        (
            "UPDATE specs SET spec = x'00' WHERE id = (SELECT spec_id FROM frames WHERE id = 'frame of j1')",
            "'frame of j1'",
        ),
        ("UPDATE jobs SET leased = 1 WHERE id = 'j1'", "job 'j1' of 'test' is not held although leased"),
        ("UPDATE jobs SET attempts = (1 << 53) - 1 WHERE id = 'j1'", "job 'j1' of 'test' has no number left"),
        ("UPDATE leases SET mark = 1 << 60 WHERE job_id = 'held'", "job 'held' of 'test' has no number left"),
        ("UPDATE jobs SET leased = 0 WHERE id = 'held'", "job 'held' of 'test' is held although free"),
    ],
)
def test_the_doctor_names_rows_that_are_damaged(store: Store, statement: str, words: str) -> None:
    """Each by its id, with what to do; nothing that is in them is shown."""
    store.held("held")
    store.enqueue("j1")
    assert checks(store.path)["rows"].status == "ok"
    damage(store, statement)

    check = checks(store.path)["rows"]

    assert check.status == "failed"
    assert words in check.found
    assert check.found.startswith(("1 of 4 looked at: ", "1 of 3 looked at: "))
    assert "back-up" in str(check.remedy)
    assert "purge" in str(check.remedy)


def test_the_doctor_looks_at_every_namespace(opened: Opener) -> None:
    """Of all that share the file."""
    one, other = opened(), opened(namespace="other")
    one.enqueue("j1")
    other.enqueue("j1")
    damage(other, "UPDATE jobs SET priority = 77 WHERE number = (SELECT max(number) FROM jobs)")

    assert "job 'j1' of 'other'" in checks(one.path)["rows"].found


def test_the_doctor_names_so_many_and_counts_the_others(store: Store) -> None:
    """A file that is damaged all over gives no endless sentence; a long id is cut."""
    for number in range(12):
        store.enqueue(f"j{number}" + "x" * 200)
    damage(store, "UPDATE jobs SET priority = 77")

    found = checks(store.path)["rows"].found

    assert found.startswith("12 of 24 looked at: ")
    assert found.endswith("; and 2 more")
    assert len(found) < 2500


@pytest.mark.parametrize(("name", "value"), [("SECONDS", 0.0), ("MOST_ROWS", 3)])
def test_the_doctor_does_not_look_for_ever(
    store: Store, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    """It says what it did not look at; what is youngest comes first."""
    for number in range(looking.BATCH + 9):
        store.enqueue(f"j{number}")
    damage(store, "UPDATE jobs SET priority = 77 WHERE id = 'j0'")
    assert checks(store.path)["rows"].status == "failed"
    monkeypatch.setattr(looking, name, value)

    check = checks(store.path)["rows"]

    assert check.status == "ok"
    assert check.found.endswith("looked at; older ones were not, because there are too many jobs and frames")


def test_the_doctor_does_not_read_rows_of_another_schema(store: Store) -> None:
    """They may not be there."""
    damage(store, "UPDATE nodeagent_migrations SET number = 9999")

    found = checks(store.path)

    assert found["schema"].status == "failed"
    assert found["rows"].status == "warning"
