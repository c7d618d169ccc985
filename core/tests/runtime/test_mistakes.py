"""What people get wrong, and what they are told."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import Answer, AsyncFrameContext, Conflict, FrameContext, FrameRequest, Invalid, PolicyContext

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def test_an_async_runner_inside_a_running_loop_is_refused_before_anything_is_claimed(lab: Lab) -> None:
    """The attempt is not used up, and the message names the asynchronous face."""

    @lab.runner
    async def work(_: AsyncFrameContext) -> Answer:
        return lab.answer()

    job = lab.enqueue()

    async def main() -> None:
        lab.run(job)

    with pytest.raises(Invalid, match="AsyncRuntime"):
        asyncio.run(main())
    assert lab.header(job).attempts == 0


def test_an_async_runner_under_a_plain_decorator_is_awaited(lab: Lab) -> None:
    """As decorators of other libraries leave it."""

    async def work(context: AsyncFrameContext) -> Answer:
        return lab.answer(str(await context.step("a", lambda: 1)))

    @functools.wraps(work)
    def wrapped(*arguments: Any) -> Any:
        return work(*arguments)

    lab.runner(wrapped)
    job = lab.enqueue()
    lab.drain()

    assert lab.header(job).status == "completed"


def test_an_id_with_another_request_says_so(lab: Lab) -> None:
    """The most common mistake with ids is told in its own words, and nothing is touched."""
    lab.enqueue("a")

    with pytest.raises(Conflict, match="another request"):
        lab.enqueue("a", goal="Another one?")
    assert lab.header("a").version.revision == 1


@pytest.mark.parametrize("kind", [OSError("broken pipe"), ValueError("odd")])
def test_a_hint_that_cannot_be_sent_or_heard_changes_nothing(lab: Lab, kind: Exception) -> None:
    """Whatever a wake-up port raises: the job is stored, run and finished."""

    def broken(*_: object) -> None:
        raise kind

    @lab.runner
    def work(_: FrameContext) -> Answer:
        return lab.answer()

    tap: Any = lab.tap(wakeups_notify=broken, wakeups_subscribe=broken)
    tap.sends_wakes = False
    runtime = lab.runtime(tap)
    job = runtime.enqueue(lab.request()).job.id
    lab.worker(tap).run(until_idle=True, max_wait_ms=0)

    assert runtime.wait(job, 0).status == "completed"


@pytest.mark.parametrize(
    "make",
    [
        lambda: FrameRequest(goal="g", runner="r", deliverables="memo"),
        lambda: PolicyContext(scopes="admin"),  # type: ignore[arg-type]
        lambda: PolicyContext(egress=["a"]),  # type: ignore[arg-type]
        lambda: Answer(confidence="sky-high"),  # type: ignore[arg-type]
        lambda: FrameRequest(goal="g", runner="r", timeout_ms=0),
        lambda: FrameRequest(goal="g", runner="r", priority=10),
    ],
)
def test_a_value_that_would_change_on_its_way_is_refused(make: Any) -> None:
    """A text is not taken for its letters, nor a word for a degree."""
    with pytest.raises(Invalid):
        make()


def test_enqueuing_is_told_to_observers(lab: Lab) -> None:
    """Once for a stored job, and not again for its duplicate."""
    lab.enqueue("a")
    lab.enqueue("a")

    assert lab.seen("job.enqueued") == 1
