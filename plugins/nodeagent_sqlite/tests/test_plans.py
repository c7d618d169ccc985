"""What a claim looks at: seeks in partial indexes, however much is finished, parked or leased."""

from __future__ import annotations

import re
from typing import Any

import pytest
from plugins.nodeagent_sqlite.tests.sqlite_lab import LANE, Opener, Store, enqueuing, finishing

from nodeagent import After, At, Lanes, Ms
from nodeagent.testing import ManualClock
from nodeagent_sqlite import statements

SQL = statements.load("scheduler")


def plan_of(store: Store, statement: str) -> list[str]:
    """Return SQLite's plan, one step a line."""
    holes = max([int(n) for n in re.findall(r"\?(\d+)", statement)] or [statement.count("?")])
    rows = store.connection.database.read(
        lambda c: c.execute(f"EXPLAIN QUERY PLAN {statement}", (None,) * holes).fetchall()
    )
    return [row[3] for row in rows]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("next_priority", "jobs_ready"),
        ("ready", "jobs_ready"),
        ("next_ready", "jobs_ready"),
        ("abandoned", "leases_held"),
        ("held_in_lane", "leases_held"),
        ("held_by_claim", "leases_by_claim"),
        ("one_job", "sqlite_autoindex_jobs_1"),
        ("whole_job", "PRIMARY KEY"),
    ],
)
def test_a_claim_seeks(store: Store, name: str, index: str) -> None:
    """Every statement of a claim searches by an index; none walks over a table of ours."""
    plan = plan_of(store, SQL[name])

    assert any(index in step for step in plan)
    assert [step for step in plan if re.match(r"SCAN (?!in_use|json_each|\d|CONSTANT)", step)] == []


@pytest.mark.parametrize("name", ["next_priority", "ready", "held_in_lane"])
def test_the_order_of_a_claim_is_the_index(store: Store, name: str) -> None:
    """Nothing is sorted: a claim reads as many rows as it takes."""
    assert [step for step in plan_of(store, SQL[name]) if "TEMP B-TREE" in step] == []


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("journal", "append"),
        ("journal", "append_fenced"),
        ("journal", "add_scope_fenced"),
        ("journal", "scope"),
        ("journal", "read"),
        ("journal", "get"),
        ("leases", "holds"),
        ("leases", "take"),
        ("leases", "token"),
        ("leases", "release"),
        ("leases", "free_job"),
        ("records", "jobs_by_status"),
        ("records", "jobs_by_lane"),
        ("records", "jobs_by_tenant"),
        ("records", "jobs_by_frame"),
        ("records", "frames_by_job"),
        ("records", "runs_by_owner"),
        ("records", "runs_by_status"),
        ("records", "runs_by_conversation"),
        ("records", "messages_by_conversation"),
        ("maintenance", "scopes_of"),
        ("maintenance", "purge_entries"),
        ("maintenance", "stale_artifacts"),
        ("maintenance", "purge_messages"),
    ],
)
def test_nothing_else_walks_over_a_table(store: Store, module: str, name: str) -> None:
    """Journal, listings and purge seek too, and a page comes in the order of its index."""
    plan = plan_of(store, statements.load(module)[name])

    assert [step for step in plan if step.startswith("SCAN") and "CONSTANT" not in step] == []
    assert [step for step in plan if "TEMP B-TREE" in step and name != "stale_artifacts"] == []


def test_what_is_not_claimable_is_not_looked_at(opened: Opener) -> None:
    """Finished, parked and leased jobs of a lane do not lengthen a claim's way, counted in SQLite's own steps."""

    def steps_of_a_claim(store: Store, names: Lanes) -> int:
        database = store.connection.database
        count = 0

        def counted() -> None:
            nonlocal count
            count += 1

        database.write(lambda c: c.set_progress_handler(counted, 1))
        assert len(store.scheduler.claim(names, "me", 60_000, f"last {names}").claims) == 1
        database.write(lambda c: c.set_progress_handler(None, 1))
        return count

    store = opened(clock=ManualClock())
    fill(store, "crowded", 300)
    store.enqueue("a", lane="alone")
    store.enqueue("b", lane="crowded")

    alone = steps_of_a_claim(store, Lanes(names=("alone",)))
    crowded = steps_of_a_claim(store, Lanes(names=("crowded",)))

    assert crowded < alone * 1.5


def fill(store: Store, lane: str, count: int) -> None:
    """Store as many finished, for ever parked, later due and leased jobs."""
    headers: dict[str, dict[str, Any]] = {
        "finished": {},
        "leased": {},
        "parked": {"run_after": None},
        "later": {"run_after": After(Ms(10**9))},
    }
    for word, header in headers.items():
        some = [enqueuing(f"{word} {i}", lane=lane, **header) for i in range(count)]
        store.transactions.commit_many(some)
        claims = store.scheduler.claim(Lanes(names=(lane,)), "me", 10**6, f"{lane} {word}", limit=count).claims
        if word == "finished":
            store.transactions.commit_many([finishing(claim) for claim in claims])


def test_many_priorities_and_abandoned_jobs_merge(opened: Opener) -> None:
    """Jobs whose holder died stand in the same order as the others."""
    clock = ManualClock()
    store = opened(clock=clock)
    for number, priority in enumerate([3, 9, 5, 5, 0]):
        due = At(Ms(clock.now() - number))
        store.enqueue(f"j{number}", priority=priority, run_after=due, created_at=clock.now())
    wanted = Lanes(names=(LANE,))
    dead = store.scheduler.claim(wanted, "dead", 10, "c1", limit=3)
    assert [claim.job.id for claim in dead.claims] == ["j1", "j3", "j2"]
    assert dead.next_due is not None
    assert dead.next_due <= dead.now

    clock.advance(10)
    again = store.scheduler.claim(wanted, "me", 10, "c2", limit=9)

    assert [claim.job.id for claim in again.claims] == ["j1", "j3", "j2", "j0", "j4"]
    assert [claim.lease.token for claim in again.claims] == [2, 2, 2, 1, 1]
    assert again.next_due == again.now + 10
