"""Observers are told, and can change nothing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from nodeagent import Answer, Event, FrameContext, Worker
from nodeagent.rules.specs import lane_of
from nodeagent.runtime.events import Observers

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(1), RecursionError()], ids=repr)
def test_an_observer_that_raises_is_reported_and_changes_nothing(
    lab: Lab, caplog: pytest.LogCaptureFixture, error: BaseException
) -> None:
    """Whatever it raises, and whichever thread calls it."""
    seen: list[str] = []

    def broken(_: Event) -> None:
        raise error

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        return lab.answer()

    job = lab.enqueue()
    observers = Observers(broken, lambda event: seen.append(event.name))
    with caplog.at_level(logging.ERROR, "nodeagent"):
        Worker(
            lab.backend, lab.app.runners, lanes=[lane_of("default", "work")], clock=lab.clock, observers=observers
        ).run(until_idle=True, max_wait_ms=0)

    assert lab.header(job).status == "completed"
    assert [name for name in seen if name.startswith(("job", "step"))] == [
        "job.claimed",
        "step.recorded",
        "job.finished",
    ]
    assert "the work goes on" in caplog.text


def test_events_hold_names_and_numbers_and_no_payload(lab: Lab) -> None:
    """So that a log of them is safe to keep."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: "secret-1")
        if context.attempt == 1:
            raise OSError("secret-2")
        return lab.answer("secret-3")

    lab.enqueue(input="secret-4", goal="secret-5", retry=lab.at_once)
    lab.drain()

    assert lab.seen("job.rescheduled") == lab.seen("step.replayed") == 1
    assert "secret" not in repr(lab.events)
