"""Steps: recorded once, replayed as recorded, detached from what the runner does to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from nodeagent import Answer, AsyncFrameContext, FrameContext, Inline, Json

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

VALUES: list[Json] = [None, False, 0, 0.5, "", "a\0b", [], {}, {"b": [1, {"a": None}]}, "ünï 😀"]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_step_returns_the_same_value_when_it_is_recorded_and_when_it_is_replayed(lab: Lab, value: Json) -> None:
    """Equal and of the same type, whatever JSON says."""
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
    assert [type(one) for one in returned] == [type(value)] * 2
    assert len(lab.steps(job)) == 1


def test_a_recorded_step_is_not_run_again(lab: Lab) -> None:
    """An attempt that fails after two steps leaves both to the next one."""
    ran: list[str] = []

    def body(name: str) -> str:
        ran.append(name)
        return name

    @lab.runner
    def work(context: FrameContext) -> Answer:
        for name in ("a", "b", "c"):
            context.step(name, lambda name=name: body(name))  # type: ignore[misc]
            if context.attempt == 1 and name == "b":
                raise OSError
        return lab.answer()

    job = lab.enqueue(retry=lab.at_once)
    lab.drain()

    assert ran == ["a", "b", "c"]
    assert lab.keys(job) == ["a", "b", "c"]
    assert lab.header(job).status == "completed"


def test_what_a_runner_does_to_a_result_changes_no_record(lab: Lab) -> None:
    """What is returned is detached from what is stored, and from what the body keeps."""
    kept: list[Any] = []
    seen: list[Any] = []

    def body() -> Json:
        kept.append({"list": [1]})
        return kept[0]  # type: ignore[no-any-return]

    @lab.runner
    def work(context: FrameContext) -> Answer:
        result: Any = context.step("a", body)
        kept[0]["list"].append(2)
        seen.append({"list": list(result["list"])})
        result["list"].append(3)
        if context.attempt == 1:
            raise OSError
        return lab.answer()

    lab.enqueue(retry=lab.at_once)
    lab.drain()

    assert seen == [{"list": [1]}, {"list": [1]}]


@pytest.mark.parametrize("value", [float("nan"), {1: 2}, (1,), b"x", "\udc97", {"k\udc97": 1}, 2**70], ids=repr)
def test_a_result_that_json_would_bend_is_not_recorded(lab: Lab, value: Any) -> None:
    """The frame fails for good, with the path and the reason, after one attempt."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("good", lambda: 1)
        context.step("bad", lambda: value)
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert lab.keys(job) == ["good"]
    assert (lab.header(job).status, lab.header(job).attempts) == ("failed", 1)
    assert lab.receipt(job)["failure"]["type"] == "NotLossless"
    assert "$" in lab.receipt(job)["reason"]


def test_a_body_that_raises_records_nothing_and_may_be_tried_again_at_once(lab: Lab) -> None:
    """A runner that catches the error asks for the same step again, and that is no repetition of a name."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        with pytest.raises(ZeroDivisionError):
            context.step("a", lambda: 1 // 0)
        context.step("a", lambda: 2)
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert [entry.value for entry in lab.steps(job)] == [Inline(b"2")]
    assert lab.header(job).status == "completed"


def test_one_name_twice_without_an_index_is_an_error_at_once_and_in_a_replay(lab: Lab) -> None:
    """A loop would get its first result again and again."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("fetch", lambda: context.attempt)
        if context.attempt == 1:
            raise OSError
        context.step("fetch", lambda: -1)
        return lab.answer()

    job = lab.enqueue(retry=lab.at_once)
    lab.drain()

    assert lab.header(job).attempts == 2
    assert "index=" in lab.receipt(job)["reason"]


def test_an_index_gives_each_turn_of_a_loop_a_key_of_its_own(lab: Lab) -> None:
    """After a crash in the second turn, each turn still gets its own result."""
    got: list[Json] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        got[:] = [context.step("fetch", lambda i=i: i * 10, index=i) for i in range(2)]  # type: ignore[misc]
        if context.attempt == 1:
            raise OSError
        got.append(context.step("fetch", lambda: 20, index=2))
        got.append(context.step("fetch", lambda: "again", index=2))
        return lab.answer()

    job = lab.enqueue(retry=lab.at_once)
    lab.drain()

    assert got == [0, 10, 20, 20]
    assert lab.keys(job) == ["fetch/0", "fetch/1", "fetch/2"]


@pytest.mark.parametrize("index", [-1, True, 1.0, "1", 2**53], ids=repr)
def test_an_index_is_a_count(lab: Lab, index: Any) -> None:
    """Anything else would make two keys of one turn."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1, index=index)
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert lab.header(job).status == "failed"
    assert lab.steps(job) == ()


@pytest.mark.parametrize("name", ["", "x" * 513, "\udc97", 7, None], ids=repr)
def test_a_name_is_an_id(lab: Lab, name: Any) -> None:
    """It is refused before the body runs."""
    ran: list[int] = []

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step(name, lambda: ran.append(1))
        return lab.answer()

    job = lab.enqueue()
    lab.drain()

    assert lab.header(job).status == "failed"
    assert ran == []


@pytest.mark.parametrize("index", [None, 1])
def test_a_step_inside_the_body_of_another_is_refused(lab: Lab, index: int | None) -> None:
    """No replay would ask for it once the outer one is recorded; and asking for oneself would wait for ever."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("outer", lambda: context.step("outer", lambda: 1, index=index), index=index)
        return lab.answer()

    async def work_async(context: AsyncFrameContext) -> Answer:
        async def outer() -> Json:
            return await context.step("outer", lambda: 1, index=index)

        await context.step("outer", outer, index=index)
        return lab.answer()

    lab.app.add_runner("async", work_async)
    for job in (lab.enqueue(), lab.enqueue(runner="async")):
        lab.run(job)

        assert "inside the body" in lab.receipt(job)["reason"]
        assert lab.steps(job) == ()
