"""The queue of one lease: one commit in flight, and what waits behind it goes as one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

import pytest
from attrs import evolve

from nodeagent import (
    Answer,
    AsyncFrameContext,
    Backend,
    Capabilities,
    Commit,
    Committed,
    Conflict,
    EntryKey,
    FrameContext,
    HostClock,
    OutcomeUnknown,
    TooLarge,
    Unavailable,
    WriteOnce,
)

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

Send = Callable[[Commit], Committed]


class Door:
    """Records the commits of steps, and holds the first one back until the test lets it through."""

    def __init__(self, *, holds_first: bool = False) -> None:
        self.commits: list[Commit] = []
        self.arrived = threading.Event()
        self.go_on = threading.Event()
        self.in_flight = self.most = 0
        self._lock = threading.Lock()
        if not holds_first:
            self.go_on.set()

    @property
    def sizes(self) -> list[int]:
        """How many steps each commit wrote."""
        return [len(_steps(commit)) for commit in self.commits]

    def __call__(self, send: Send, commit: Commit) -> Committed:
        """Let a commit through."""
        if not _steps(commit):
            return send(commit)
        with self._lock:
            self.commits.append(commit)
            self.in_flight += 1
            self.most = max(self.most, self.in_flight)
        self.arrived.set()
        assert self.go_on.wait(20)
        try:
            return send(commit)
        finally:
            with self._lock:
                self.in_flight -= 1


def _steps(commit: Commit) -> list[WriteOnce]:
    return [w for w in commit.writes if isinstance(w, WriteOnce) and w.scope.path == ("steps",)]


def _limited(backend: Backend, **limits: Any) -> Backend:
    """Return a backend that declares limits, and keeps them."""

    class Limited:
        capabilities = Capabilities(wakes_in_commit=True, **limits)

        def __getattr__(self, name: str) -> Any:
            return getattr(backend, name)

    return cast("Backend", Limited())


def _fan_out(lab: Lab, door: Door, count: int, size: int = 1) -> str:
    """Register a runner with ``count`` tasks whose steps all wait behind the first commit; return the job."""

    @lab.runner
    async def work(context: AsyncFrameContext) -> Answer:
        first = asyncio.create_task(context.step("first", lambda: 0))
        await asyncio.to_thread(door.arrived.wait, 20)
        bodies_left = count

        async def body(number: int) -> Any:
            nonlocal bodies_left
            bodies_left -= 1
            if not bodies_left:
                asyncio.get_running_loop().call_soon(asyncio.get_running_loop().call_soon, door.go_on.set)
            return [number, "x" * size]

        rest = [context.step("n", lambda i=i: body(i), index=i) for i in range(count)]
        results: Any = await asyncio.gather(*map(asyncio.create_task, rest))
        assert [one[0] for one in results] == list(range(count))
        await first
        return lab.answer()

    return lab.enqueue()


def test_what_waits_behind_a_commit_goes_as_one(lab: Lab) -> None:
    """Eight steps that end while one is being recorded take one more commit, with one id."""
    door = Door(holds_first=True)
    job = _fan_out(lab, door, 8)
    outcome = lab.run(job, lab.worker(lab.tap(transactions_commit=door)))

    assert outcome.status == "completed"
    assert door.sizes == [1, 8]
    assert door.most == 1
    assert len(lab.steps(job)) == 9


def test_a_batch_is_bounded_in_number(lab: Lab) -> None:
    """So that a commit stays of a size that every store takes."""
    door = Door(holds_first=True)
    job = _fan_out(lab, door, 150)
    lab.run(job, lab.worker(lab.tap(transactions_commit=door)))

    assert door.sizes == [1, 64, 64, 22]
    assert len(lab.steps(job)) == 151


def test_a_batch_is_bounded_in_bytes(lab: Lab) -> None:
    """Values of 100 kB go by ten, not by sixty-four."""
    door = Door(holds_first=True)
    job = _fan_out(lab, door, 20, size=100_000)
    lab.run(job, lab.worker(lab.tap(transactions_commit=door)))

    assert door.sizes == [1, 10, 10]


@pytest.mark.parametrize("limits", [{"max_commit_writes": 3}, {"max_commit_bytes": 400}], ids=str)
def test_a_batch_keeps_the_limits_that_the_store_declares(lab: Lab, limits: dict[str, int]) -> None:
    """A step that alone would be recorded is not refused because others wait with it."""
    door = Door(holds_first=True)
    job = _fan_out(lab, door, 8, size=100)
    outcome = lab.run(job, lab.worker(_limited(lab.tap(transactions_commit=door), **limits)))

    assert outcome.status == "completed"
    assert door.sizes == [1, 3, 3, 2]


def test_a_synchronous_caller_that_finds_the_queue_idle_commits_in_its_own_thread(lab: Lab) -> None:
    """One thread hop less for each step."""
    threads: list[int] = []

    def tamper(send: Send, commit: Commit) -> Committed:
        threads.append(threading.get_ident())
        return send(commit)

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        context.step("b", lambda: 2)
        return lab.answer()

    lab.run(lab.enqueue(), lab.worker(lab.tap(transactions_commit=tamper)))

    assert threads == [threading.get_ident()] * 3


def test_threads_queue_behind_one_another(lab: Lab) -> None:
    """Never two commits at once, and every step is recorded."""
    door = Door()

    @lab.runner
    def work(context: FrameContext) -> Answer:
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda i: context.step("n", lambda: i, index=i), range(100)))
        assert results == list(range(100))
        return lab.answer()

    job = lab.enqueue()
    lab.run(job, lab.worker(lab.tap(transactions_commit=door)))

    assert door.most == 1
    assert sum(door.sizes) == 100
    assert lab.header(job).status == "completed"


def test_a_batch_that_is_refused_for_one_member_is_repeated_singly(lab: Lab) -> None:
    """Each with an id of its own; whoever lost gets the winner's value."""
    door = Door(holds_first=True)
    ids: list[str] = []

    def tamper(send: Send, commit: Commit) -> Committed:
        ids.append(commit.commit_id)
        if len(_steps(commit)) > 1:
            door(send, evolve(commit, writes=commit.writes[:1]))  # somebody was faster with one of them
            door.commits.pop()
            raise Conflict("written", EntryKey(scope=_steps(commit)[0].scope, key=("n", "0")))
        return door(send, commit)

    job = _fan_out(lab, door, 4)
    outcome = lab.run(job, lab.worker(lab.tap(transactions_commit=tamper)))

    assert outcome.status == "completed"
    assert door.sizes == [1, 1, 1, 1, 1]
    assert len(set(ids)) == len(ids)
    assert len(lab.steps(job)) == 5


def test_a_lost_answer_is_asked_for_again_with_the_same_id(lab: Lab) -> None:
    """So that what was applied is recognised, and the step is neither repeated nor taken for a conflict."""
    ids: list[str] = []
    ran: list[int] = []

    def tamper(send: Send, commit: Commit) -> Committed:
        ids.append(commit.commit_id)
        answer = send(commit)
        if len(ids) in (1, 3, 4):
            raise OutcomeUnknown("the connection broke")
        return answer

    @lab.runner
    def work(context: FrameContext) -> Answer:
        assert context.step("a", lambda: len([ran.append(1)])) == 1  # type: ignore[func-returns-value]
        return lab.answer()

    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(transactions_commit=tamper), clock=HostClock()))

    assert outcome.status == "completed"
    assert ids[0] == ids[1]
    assert len({*ids[2:]}) == 1
    assert len(ids) == 5
    assert (ran, len(lab.steps(job)), len(lab.receipts(job))) == ([1], 1, 1)


def test_a_store_that_is_away_for_a_while_costs_no_attempt(lab: Lab) -> None:
    """The commit is sent again until the local deadline, and the lease is renewed meanwhile."""
    refusals = iter(range(5))

    def tamper(send: Send, commit: Commit) -> Committed:
        if next(refusals, None) is not None:
            raise Unavailable("restarting")
        return send(commit)

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        return lab.answer()

    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(transactions_commit=tamper), clock=HostClock()))

    assert outcome.status == "completed"
    assert lab.header(job).attempts == 1


def test_what_no_commit_can_hold_fails_for_good(lab: Lab) -> None:
    """Asking again would meet the same limit."""

    def tamper(send: Send, commit: Commit) -> Committed:
        if _steps(commit):
            raise TooLarge("the size of a value in bytes", 10, 5)
        return send(commit)

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        return lab.answer()

    job = lab.enqueue()
    outcome = lab.run(job, lab.worker(lab.tap(transactions_commit=tamper)))

    assert (outcome.status, lab.header(job).attempts) == ("failed", 1)
