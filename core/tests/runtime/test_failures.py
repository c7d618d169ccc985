"""What a runner may raise, and what is kept of it."""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from nodeagent import (
    Answer,
    AsyncFrameContext,
    Corrupt,
    FrameContext,
    Json,
    Permanent,
    PolicyDenied,
    RetryPolicy,
    Suspended,
    UnknownOutcome,
)

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab


class Silent(Exception):
    """Has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Deadly(Exception):
    """Ends whoever asks for its text."""

    def __str__(self) -> str:
        raise SystemExit


class Wordless(Exception):
    """Has a text that is none."""

    def __str__(self) -> str:
        return 7  # type: ignore[return-value] # noqa: PLE0307


class Fussy(Exception):
    """Cannot be built again from its arguments."""

    def __init__(self, one: int, *, two: object) -> None:
        self.two = two
        super().__init__(f"{one} of two")


def _caused() -> Exception:
    error = OSError("no disk")
    error.__cause__ = KeyError("root")
    return error


HOSTILE: dict[str, tuple[BaseException, str]] = {
    "silent": (Silent(), "(its text cannot be read: RuntimeError)"),
    "deadly": (Deadly(), "(its text cannot be read: SystemExit)"),
    "wordless": (Wordless(), "(its text cannot be read: TypeError)"),
    "fussy": (Fussy(1, two=threading.Lock()), "1 of two"),
    "surrogate": (ValueError("x\udc97y\0z"), "x\\udc97y\0z"),
    "huge": (ValueError("é" * 5_000_000), "é" * 1_997 + "..."),
    "group": (
        ExceptionGroup("two", [OSError("a"), KeyError("b")]),
        "two (2 sub-exceptions); OSError: a; KeyError: 'b'",
    ),
    "caused": (_caused(), "no disk; caused by KeyError: 'root'"),
    "exit": (SystemExit(3), "3"),
    "generator": (GeneratorExit(), ""),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("place", ["runner", "step", "async runner", "async step"])
def test_whatever_is_raised_is_kept_by_class_and_text(lab: Lab, name: str, place: str) -> None:
    """Bounded and printable; the worker lives on, and takes the next job."""
    error, text = HOSTILE[name]

    def body() -> Json:
        raise error

    async def body_async() -> Json:
        raise error

    def work(context: FrameContext) -> Answer:
        if context.input:
            return lab.answer()
        return context.step("a", body) if place == "step" else body()  # type: ignore[return-value]

    async def work_async(context: AsyncFrameContext) -> Answer:
        if context.input:
            return lab.answer()
        return await (context.step("a", body_async) if place == "async step" else body_async())  # type: ignore[return-value]

    lab.app.add_runner("work", work_async if place.startswith("async") else work)
    job = lab.enqueue(max_attempts=1, priority=9)
    other = lab.enqueue(input={"is": "fine"})
    lab.drain()

    assert lab.header(job).status == "failed"
    assert lab.receipt(job)["failure"] == {"kind": "retryable", "type": type(error).__name__, "message": text}
    assert lab.header(other).status == "completed"


def test_an_error_does_not_grow_from_attempt_to_attempt(lab: Lab) -> None:
    """The text of one is not part of the next."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        raise ValueError("\udc97" * 3_000)

    job = lab.enqueue(max_attempts=5, retry=lab.at_once)
    lab.drain()

    assert lab.header(job).attempts == 5
    assert len(lab.job(job).state) < 20_000


@pytest.mark.parametrize(
    ("error", "kind"),
    [(Permanent("no"), "permanent"), (PolicyDenied("scopes"), "permanent"), (UnknownOutcome("?"), "unknown-outcome")],
    ids=repr,
)
def test_an_error_that_another_attempt_would_meet_again_ends_the_job(lab: Lab, error: Exception, kind: str) -> None:
    """After one attempt."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        raise error

    job = lab.enqueue()
    lab.drain()

    assert (lab.header(job).status, lab.header(job).attempts) == ("failed", 1)
    assert lab.receipt(job)["failure"]["kind"] == kind


def test_a_failed_attempt_is_due_again_after_its_delay_by_the_clock_of_the_store(lab: Lab) -> None:
    """Which doubles from attempt to attempt; the job has no receipt before the last."""
    due: list[int] = []

    @lab.runner
    def work(_: FrameContext) -> Answer:
        raise OSError("gone")

    job = lab.enqueue(max_attempts=4, retry=RetryPolicy(initial_ms=1_000, jitter=0.0))
    for delay in (1_000, 2_000, 4_000):
        outcome = lab.run(job)
        after = lab.header(job).run_after
        assert after is not None
        due.append(after.ms - lab.clock.now())

        assert outcome.status == "rescheduled"
        assert lab.receipts(job) == ()
        lab.clock.advance(delay - 1)
        assert lab.run(job).status == "not_due"
        lab.clock.advance(1)

    assert due == [1_000, 2_000, 4_000]
    assert lab.run(job).status == "failed"
    assert lab.receipt(job)["failure"]["message"] == "gone"


def test_a_job_that_kills_its_worker_each_time_fails_without_another_run(lab: Lab) -> None:
    """The claim that finds its attempts used up stores the receipt, under the new token."""
    ran: list[int] = []

    @lab.runner
    def work(_: FrameContext) -> Answer:
        ran.append(1)
        return lab.answer()

    job = lab.enqueue(max_attempts=3)
    for _ in range(3):
        lab.steal(job)
    lab.clock.advance(60_000)
    outcome = lab.run(job)

    assert outcome.status == "failed"
    assert ran == []
    assert "died" in lab.receipt(job)["reason"]
    assert lab.receipt(job)["token"] == 4
    assert lab.backend.leases.get(("job", job)) is None


def test_an_exhausted_job_tells_its_last_failure(lab: Lab) -> None:
    """A crash after two errors hides neither."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        raise OSError("gone")

    job = lab.enqueue(max_attempts=2, retry=lab.at_once)
    lab.run(job)
    lab.steal(job)
    lab.clock.advance(60_000)
    lab.run(job)

    assert "OSError: gone" in lab.receipt(job)["reason"]


def test_a_runner_that_raises_suspended_itself_has_failed(lab: Lab) -> None:
    """Nobody stopped it, so the lease is left and the attempt counts."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        raise Suspended

    job = lab.enqueue()
    outcome = lab.run(job)

    assert outcome.status == "rescheduled"
    assert lab.backend.leases.get(("job", job)) is None


def _interrupt_plain(lab: Lab) -> Callable[[FrameContext], Answer]:
    def work(context: FrameContext) -> Answer:
        context.step("a", lambda: 1)
        if context.attempt == 1 and not lab.seen("job.given-back"):
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(20)
        return lab.answer()

    return work


def _interrupt_async(lab: Lab) -> Callable[[AsyncFrameContext], object]:
    async def work(context: AsyncFrameContext) -> Answer:
        async def body() -> Json:
            if not lab.seen("job.given-back"):
                os.kill(os.getpid(), signal.SIGINT)
            return 1

        await context.step("a", body)
        await context.step("b", lambda: 1)
        return lab.answer()

    return work


@pytest.mark.parametrize("make", [_interrupt_plain, _interrupt_async])
def test_an_interrupt_of_the_main_thread_gives_the_job_back(lab: Lab, make: Callable[[Lab], object]) -> None:
    """The lease is released, no attempt is used up, what was recorded stays, and the interrupt goes on."""
    lab.app.add_runner("work", make(lab))  # type: ignore[arg-type]
    job = lab.enqueue()

    with pytest.raises(KeyboardInterrupt):
        lab.run(job)
    assert (lab.header(job).status, lab.header(job).attempts) == ("queued", 0)
    assert lab.backend.leases.get(("job", job)) is None
    assert lab.keys(job) == ["a"]
    assert lab.run(job).status == "completed"


def test_an_interrupt_that_a_runner_raises_in_a_worker_is_a_failure(lab: Lab) -> None:
    """Interrupts come to the main thread; on another one it is an error like any."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        if context.attempt == 1:
            raise KeyboardInterrupt
        return lab.answer()

    jobs = [lab.enqueue(retry=lab.at_once) for _ in range(3)]
    lab.drain()

    assert [lab.header(job).status for job in jobs] == ["completed"] * 3
    assert [lab.header(job).attempts for job in jobs] == [2] * 3


def test_an_interrupt_that_meets_a_lost_lease_goes_on(lab: Lab) -> None:
    """It is not swallowed because there was nothing to give back."""

    @lab.runner
    def work(context: FrameContext) -> Answer:
        lab.steal(context.job_id)
        _thread.interrupt_main()
        threading.Event().wait(20)
        return lab.answer()

    job = lab.enqueue()

    with pytest.raises(KeyboardInterrupt):
        lab.run(job)
    assert lab.header(job).token == 2


def test_a_slot_outlives_a_job_that_cannot_be_left(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    """The store contradicts itself about one job: that is reported, and the others are worked on."""

    @lab.runner
    def work(_: FrameContext) -> Answer:
        return lab.answer()

    def tamper(send: Callable[[object], object], commit: object) -> object:
        if "broken" in repr(commit):
            raise Corrupt("written by somebody else")
        return send(commit)

    for name in ("broken", "fine", "good"):
        lab.enqueue(name, priority=9 if name == "broken" else 5)
    worker = lab.worker(lab.tap(transactions_commit=tamper))
    worker.run(until_idle=True, max_wait_ms=0)

    assert [lab.header(name).status for name in ("broken", "fine", "good")] == ["running", "completed", "completed"]
    assert "broken" in caplog.text
    assert lab.seen("job.abandoned") == 1
