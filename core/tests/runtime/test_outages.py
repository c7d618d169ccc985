"""A store that fails at every kind of call, for a while or for good: no hang, no loss, no second effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import (
    Answer,
    AsyncFrameContext,
    FrameContext,
    HostClock,
    Inline,
    Json,
    NotFound,
    OutcomeUnknown,
    Stored,
    Suspended,
    Unavailable,
)

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

LARGE = "x" * 200_000
CALLS = {
    "transactions_commit": OutcomeUnknown("?"),
    "scheduler_claim": OutcomeUnknown("?"),
    "journal_read": Unavailable("away"),
    "artifacts_put": Unavailable("away"),
    "artifacts_get": Unavailable("away"),
    "now": Unavailable("away"),
}


class Flaky:
    """Fails every call twice before it works, counting per argument."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.failures = 0
        self._tried: dict[str, int] = {}

    def __call__(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Make the call, or fail."""
        name = repr(arguments)
        self._tried[name] = self._tried.get(name, 0) + 1
        if self._tried[name] <= 2:
            self.failures += 1
            raise self.error
        return call(*arguments)


def _work(lab: Lab, ran: list[str]) -> None:
    """Register a plain and an async runner with a large step, of which a first attempt fails."""

    def body(name: str) -> Json:
        ran.append(name)
        return LARGE

    def work(context: FrameContext) -> Answer:
        assert context.step("a", lambda: body("a")) == LARGE
        if context.attempt == 1:
            raise OSError
        return lab.answer()

    async def work_async(context: AsyncFrameContext) -> Answer:
        assert await context.step("a", lambda: body("a")) == LARGE
        if context.attempt == 1:
            raise OSError
        return lab.answer()

    lab.app.add_runner("work", work)
    lab.app.add_runner("async", work_async)


@pytest.mark.parametrize("runner", ["work", "async"])
@pytest.mark.parametrize("name", CALLS)
def test_a_store_that_stumbles_costs_no_attempt_and_no_second_effect(lab: Lab, name: str, runner: str) -> None:
    """Whatever is read or written is asked for again until the local deadline."""
    ran: list[str] = []
    flaky = Flaky(CALLS[name])
    _work(lab, ran)
    job = lab.enqueue(runner=runner, retry=lab.at_once)
    worker = lab.worker(lab.tap(**{name: flaky}), clock=HostClock())
    first, second = lab.run(job, worker), lab.run(job, worker)

    assert (first.status, second.status) == ("rescheduled", "completed")
    assert ran == ["a"]
    assert flaky.failures >= 2
    assert lab.header(job).attempts == 2


@pytest.mark.parametrize("name", ["transactions_commit", "artifacts_put", "journal_read", "now"])
def test_a_store_that_stays_away_until_the_deadline_ends_the_attempt(lab: Lab, name: str) -> None:
    """Nothing further starts under that lease; the next holder finishes the job."""
    _work(lab, [])
    job = lab.enqueue(retry=lab.at_once)
    if name in {"journal_read", "now"}:
        lab.steal(job)
        lab.clock.advance(60_000)

    def tamper(*_: Any) -> None:
        lab.clock.advance(30_000)
        raise Unavailable("away")

    outcome = lab.run(job, lab.worker(lab.tap(**{name: tamper})))
    lab.clock.advance(60_000)

    assert outcome.status == "fenced"
    assert lab.header(job).status == "running"
    lab.drain()
    assert lab.header(job).status == "completed"


def test_every_call_after_such_a_deadline_is_refused(lab: Lab) -> None:
    """Though the runner would go on."""
    told: list[str] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        for name in "abc":
            try:
                context.step(name, lambda: told.append("ran"))
            except Suspended:
                told.append(name)
        return lab.answer()

    def tamper(*_: Any) -> None:
        lab.clock.advance(60_000)
        raise Unavailable("away")

    outcome = lab.run(lab.enqueue(), lab.worker(lab.tap(transactions_commit=tamper)))

    assert outcome.status == "fenced"
    assert told == ["ran", "a", "b", "c"]


@pytest.mark.parametrize("size", [1, 131_000, 200_000])
def test_a_large_result_is_spilled_to_the_artifacts_and_loaded_in_a_replay(lab: Lab, size: int) -> None:
    """The journal stays light, and the value comes back equal."""
    value: Json = {"text": "ü" * (size // 2), "n": 1}
    returned = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        returned.append(context.step("a", lambda: value))
        if context.attempt == 1:
            raise OSError
        return lab.answer()

    job = lab.enqueue(retry=lab.at_once)
    lab.drain()

    assert returned == [value, value]
    assert type(lab.steps(job)[0].value) is (Stored if size > 131_072 else Inline)


def test_a_spilled_result_that_is_gone_is_told(lab: Lab) -> None:
    """A replay does not run the step again in secret."""
    ran: list[str] = []
    _work(lab, ran)
    job = lab.enqueue(retry=lab.at_once, max_attempts=2)

    def tamper(_: Any, ref: Any) -> None:
        raise NotFound(f"no artifact {ref.id!r}")

    lab.run(job)
    outcome = lab.run(job, lab.worker(lab.tap(artifacts_get=tamper)))

    assert outcome.status == "failed"
    assert lab.receipt(job)["failure"]["type"] == "NotFound"
    assert ran == ["a"]
