"""Applications and their runners, and a frame that is run without any store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import Answer, App, AsyncFrameContext, FrameContext, Invalid, NotLossless, Permanent, run_reasoning_frame

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


def test_a_name_is_registered_once(lab: Lab) -> None:
    """The second runner of a name would never be called."""
    lab.app.add_runner("work", lambda _: lab.answer())

    with pytest.raises(Invalid, match="twice"):
        lab.app.add_runner("work", lambda _: lab.answer())
    assert list(lab.app.runners) == ["work"]


@pytest.mark.parametrize("name", ["", 7, "x" * 513], ids=repr)
def test_a_runner_has_a_name_that_can_be_stored(name: Any) -> None:
    """A job names it."""
    with pytest.raises(Invalid):
        App().runner(name)


def test_a_runner_can_be_called() -> None:
    """Anything else is refused where it is registered, not when its first job comes."""
    with pytest.raises(Invalid, match="function"):
        App().add_runner("work", "not a function")  # type: ignore[arg-type]


def test_the_runners_of_an_application_are_not_changed_from_outside(lab: Lab) -> None:
    """They are looked at, not edited."""
    with pytest.raises(TypeError):
        lab.app.runners["work"] = lambda _: lab.answer()  # type: ignore[index]


def test_a_runner_sees_its_frame_and_no_store(lab: Lab) -> None:
    """What was asked for, how often it was tried, and steps."""
    seen: dict[str, Any] = {}

    @lab.runner
    def work(context: FrameContext) -> Answer:
        seen.update({name: value for name, value in vars(context).items() if not name.startswith("_")})
        return lab.answer(deliverables={"memo": lab.memo()})

    job = lab.enqueue(input={"a": [1]}, phase="draft", deliverables=("memo",), minimum_confidence="low")
    lab.drain()

    assert lab.header(job).status == "completed"
    assert seen == {
        "job_id": job,
        "frame_id": job,
        "goal": "Is it so?",
        "phase": "draft",
        "minimum_confidence": "low",
        "deliverables": ("memo",),
        "input": {"a": [1]},
        "policy": lab.request().policy,
        "round": 1,
        "attempt": 1,
    }


def test_a_frame_runs_without_a_store(lab: Lab) -> None:
    """Its steps run and keep nothing, and its answer is judged as everywhere."""

    def work(context: FrameContext) -> Answer:
        kept: Any = [1]
        result: Any = context.step("a", lambda: kept)
        kept.append(2)
        return lab.answer(confidence="high" if result == context.input else "low")

    verdict, answer = run_reasoning_frame(work, lab.request(input=[1]))

    assert verdict.decision == "completed"
    assert answer.confidence == "high"


def test_an_async_frame_runs_without_a_store(lab: Lab) -> None:
    """Plain and async bodies alike."""

    async def work(context: AsyncFrameContext) -> Answer:
        async def body() -> int:
            return 2

        total = [await context.step("a", lambda: 1), await context.step("b", body)]
        return lab.answer(str(total), error="no")

    verdict, answer = run_reasoning_frame(work, lab.request())

    assert verdict.decision == "failed"
    assert answer.statements[0].text == "[1, 2]"


def test_without_a_store_errors_are_the_callers(lab: Lab) -> None:
    """Nobody tries again."""

    def fails(_: FrameContext) -> Answer:
        raise Permanent("no")

    def bends(context: FrameContext) -> Answer:
        context.step("a", lambda: float("nan"))
        return lab.answer()

    with pytest.raises(Permanent):
        run_reasoning_frame(fails, lab.request())
    with pytest.raises(NotLossless):
        run_reasoning_frame(bends, lab.request())
