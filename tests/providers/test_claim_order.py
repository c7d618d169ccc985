"""Random jobs are claimed in the order that sorting gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nodeagent import At, Commit, Lanes, Ms, Put

if TYPE_CHECKING:
    from tests.providers.conftest import Lab, Maker

LANES = ("a", "b", "z")
IDS = st.text(st.sampled_from("aBz\0é\uffff\U0001f600 "), min_size=1, max_size=4)
JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "name": IDS,
            "lane": st.sampled_from(LANES),
            "priority": st.sampled_from((0, 1, 5, 9)),
            "due": st.integers(-3, 3),
            "created": st.integers(0, 2),
        }
    ),
    max_size=12,
    unique_by=lambda job: job["name"],
)


def _enqueue(lab: Lab, jobs: list[dict[str, Any]]) -> None:
    commits = []
    for each in jobs:
        now = lab.clock.now()
        job = lab.job(
            each["name"],
            lane=each["lane"],
            priority=each["priority"],
            run_after=At(Ms(now + each["due"])),
            created_at=Ms(now + each["created"]),
        )
        commits.append(Commit.unfenced(lab.new(), Put(None, job), Put(None, lab.frame(job))))
    lab.one.transactions.commit_many(commits)


def _expected(jobs: list[dict[str, Any]], lanes: list[str]) -> list[str]:
    wanted = [job for job in jobs if job["lane"] in lanes and job["due"] <= 0]
    wanted.sort(
        key=lambda job: (
            lanes.index(job["lane"]),
            -job["priority"],
            job["due"],
            job["created"],
            job["name"].encode(),
        )
    )
    return [job["name"] for job in wanted]


@settings(max_examples=60, deadline=None)
@given(
    jobs=JOBS,
    lanes=st.permutations(LANES).flatmap(lambda names: st.integers(1, 3).map(lambda count: names[:count])),
    limit=st.integers(1, 5),
)
def test_claims_come_in_order(make_lab: Maker, jobs: list[dict[str, Any]], lanes: list[str], limit: int) -> None:
    """Lane by lane, by priority descending, due time, age and id bytewise; a peek says the same."""
    lab = make_lab()
    _enqueue(lab, jobs)
    expected = _expected(jobs, lanes)
    want = Lanes(names=tuple(lanes))

    peeked = [header.id for header in lab.one.scheduler.peek(want, limit=20).jobs]
    found: list[str] = []
    while (claims := lab.ask(*lanes, limit=limit).claims) and len(found) <= len(jobs):
        found += [claim.job.id for claim in claims]
    future = [job["due"] for job in jobs if job["lane"] in lanes and job["due"] > 0]
    answer = lab.ask(*lanes)
    lab.close()

    assert peeked == expected
    assert found == expected
    dues = [answer.now + due for due in future] + [answer.now + 30_000 for _ in expected]
    assert answer.next_due == min(dues, default=None)
