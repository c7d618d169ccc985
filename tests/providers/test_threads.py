"""Many threads at once: nobody gets what another one has, and nothing is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from attrs import evolve

from nodeagent import (
    Claim,
    Commit,
    Committed,
    Conflict,
    EntryKey,
    Fenced,
    Held,
    JobRecord,
    Lanes,
    OneJob,
    Put,
    Release,
    Require,
    Revoke,
    Shared,
    WriteOnce,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

TTL = 30_000


def _enqueue_many(lab: Lab, count: int) -> list[str]:
    jobs = [lab.job(f"job {number:03}") for number in range(count)]
    commits = [Commit.unfenced(lab.new(), Put(None, each), Put(None, lab.frame(each))) for each in jobs]
    lab.one.transactions.commit_many(commits)
    return [job.id for job in jobs]


def test_each_job_is_claimed_once(lab: Lab) -> None:
    """Whatever the number of workers and of handles."""
    names = _enqueue_many(lab, 40)
    handles = [lab.open() for _ in range(4)]

    def work(number: int) -> list[str]:
        found = []
        for turn in range(200):
            claims = handles[number % 4].scheduler.claim(
                Lanes(names=("lane",)), "w", TTL, f"claim {number} {turn}", 1 + number % 3
            )
            found += [claim.job.id for claim in claims.claims]
            if not claims.claims and (claims.next_due or 0) > claims.now:
                break
        return found

    answers = lab.race([partial(work, n) for n in range(8)])

    found = [name for names in answers if isinstance(names, list) for name in names]
    assert sorted(found) == names


def test_one_worker_gets_an_expired_job(lab: Lab) -> None:
    """All see that it expired; one takes it, and the old holder is fenced."""
    old = lab.running()
    lab.clock.advance(TTL)

    def take(number: int) -> tuple[Claim, ...]:
        return lab.one.scheduler.claim(OneJob("job"), "w", TTL, f"claim {number}").claims

    answers = lab.race([partial(take, n) for n in range(8)])

    (claims,) = [each for each in answers if each]
    assert not isinstance(claims, Exception)
    assert claims[0].lease == lab.one.leases.get(old.job.owner)
    assert claims[0].job.header.attempts == 2


def test_one_of_many_updates_of_a_version_wins(lab: Lab) -> None:
    """The others conflict, and the stored revision has risen by one."""
    job = lab.enqueue()

    def change(number: int) -> Committed:
        after = evolve(job, state=f"{number}".encode())
        return lab.commit(lab.audit(job), Put(job, after), commit_id=f"change {number}")

    answers = lab.race([partial(change, n) for n in range(8)])

    assert Counter(map(type, answers)) == {Committed: 1, Conflict: 7}
    assert lab.stored().header.version.revision == 2
    assert len(lab.rows(Shared(job.owner, "audit"))) == 1


def test_read_and_write_loops_lose_no_update(lab: Lab) -> None:
    """Who conflicts reads again: every increment is there at the end."""
    lab.enqueue(state=b"0")

    def add(_: int) -> int:
        tries = 0
        for _turn in range(5):
            while tries < 10_000:
                tries += 1
                job = lab.stored()
                after = evolve(job, state=str(int(job.state) + 1).encode())
                try:
                    lab.commit(lab.audit(job), Put(job, after))
                except Conflict:
                    continue
                break
        return tries

    answers = lab.race([partial(add, n) for n in range(4)])

    assert not [each for each in answers if isinstance(each, Exception)]
    assert lab.stored().state == b"20"
    assert len(lab.rows(Shared(("job", "job"), "audit"))) == 20


def test_a_repeated_commit_applies_once(lab: Lab) -> None:
    """Sent by many threads at once it is one commit and many duplicates, with the same places."""
    claim = lab.running()
    commit = Commit.fenced("c", claim.lease.fence, lab.step(claim.job, "a"), lab.step(claim.job, "b"))

    answers = lab.race([lambda: lab.one.transactions.commit(commit)] * 8)

    assert sorted(getattr(each, "duplicate", None) for each in answers) == [False] + [True] * 7  # type: ignore[type-var]
    assert {getattr(each, "seqs", None) for each in answers} == {(1, 2)}


def test_a_park_and_a_delivery_never_miss_one_another(lab: Lab) -> None:
    """Whichever comes second conflicts: a parked job never sleeps on what was delivered."""
    for number in range(15):
        claim = lab.running(f"job {number}")
        scope = Shared(claim.job.owner, "wait", "paid")
        key = EntryKey(scope=scope, key=("1",))
        parked = evolve(claim.job.header, status="queued", run_after=None)

        def park(c: Claim = claim, k: EntryKey = key, j: JobRecord = claim.job) -> Committed:
            after = evolve(j, header=parked)  # noqa: B023 - runs within this turn
            return lab.fenced(c, lab.audit(j), Require("entry", k, None), Put(j, after), Release())

        def deliver(j: JobRecord = claim.job, s: Shared = scope) -> Committed:
            return lab.commit(Require("job", j.id, j.header.version), WriteOnce(s, lab.entry("1")))

        deeds: list[Callable[[], Committed]] = [park, deliver]
        answers = lab.race(deeds)

        assert sorted(type(each).__name__ for each in answers) == ["Committed", "Conflict"]


def test_a_step_and_a_cancel_agree(lab: Lab) -> None:
    """Either the step was stored before the revoke, or it was fenced: the journal says the same."""
    for number in range(15):
        claim = lab.running(f"job {number}")

        def step(c: Claim = claim) -> Committed:
            return lab.fenced(c, lab.step(c.job))

        def cancel(j: JobRecord = claim.job) -> Committed:
            header = evolve(j.header, status="canceled", run_after=None)
            return lab.commit(lab.audit(j), Put(j, evolve(j, header=header)), Revoke(j.owner))

        deeds: list[Callable[[], Committed]] = [step, cancel]
        stepped, canceled = lab.race(deeds)

        assert isinstance(canceled, Committed)
        assert isinstance(stepped, (Committed, Fenced))
        rows = lab.rows(Held(claim.job.owner, "steps"))
        assert len(rows) == (1 if isinstance(stepped, Committed) else 0)


def test_renewals_and_commits_do_not_disturb_each_other(lab: Lab) -> None:
    """A heartbeat beside a busy writer refuses nothing."""
    claim = lab.running()

    def beat() -> int:
        for _ in range(20):
            lab.one.leases.renew(claim.lease, TTL)
        return 20

    def write() -> int:
        for number in range(20):
            lab.fenced(claim, lab.step(claim.job, f"{number}"))
        return 20

    assert lab.race([beat, write]) == [20, 20]
    assert len(lab.rows(Held(claim.job.owner, "steps"))) == 20


def test_commits_of_many_threads_are_all_answered(lab: Lab) -> None:
    """Refused and applied ones in one rush; each caller gets its own answer."""
    claims = [lab.running(f"job {number}") for number in range(4)]
    lost = claims[0]
    lab.cancel(lost.job)

    def write(number: int) -> list[str]:
        names = []
        for turn in range(10):
            claim = claims[number % 4]
            try:
                lab.fenced(claim, lab.step(claim.job, f"{number} {turn}"))
                names.append("written")
            except Fenced:
                names.append("fenced")
        return names

    answers = lab.race([partial(write, n) for n in range(8)])

    for number, names in enumerate(answers):
        assert names == ["fenced" if number % 4 == 0 else "written"] * 10
    for claim in claims[1:]:
        rows = lab.rows(Held(claim.job.owner, "steps"))
        assert [entry.seq for entry in rows] == list(range(1, 21))
