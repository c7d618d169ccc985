"""What a runner sees: its frame, and steps that survive it. Neither a backend nor a port."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, cast

from nodeagent.lossless import Json
from nodeagent.records.answer import Confidence
from nodeagent.records.commit import WriteOnce
from nodeagent.records.journal import Entry
from nodeagent.records.lease import Claim
from nodeagent.records.policy import PolicyContext
from nodeagent.rules.specs import FrameSpec, JobSpec
from nodeagent.runtime.committer import Committer
from nodeagent.runtime.events import Observers
from nodeagent.runtime.failures import Suspended
from nodeagent.runtime.holding import Holding
from nodeagent.runtime.steps import STEP, Fresh, Recorded, Running, Steps, decoded, encoded
from nodeagent.runtime.values import store_value

if TYPE_CHECKING:
    from nodeagent.backend import Backend


class FrameInfo:
    """What every runner may read of its frame. ``round`` and ``attempt`` count from 1."""

    def __init__(self, claim: Claim, job: JobSpec, frame: FrameSpec) -> None:
        self.job_id = claim.job.id
        self.frame_id = claim.frame.id
        self.goal: str = frame.goal
        self.phase: str = frame.phase
        self.minimum_confidence: Confidence = frame.minimum_confidence
        self.deliverables: tuple[str, ...] = frame.deliverables
        self.input: Json = job.input
        self.policy: PolicyContext = job.policy
        self.round: int = claim.job.header.round
        self.attempt: int = claim.job.header.attempts


class Recorder:
    """Runs a body at most once per recorded result, under a holding's protection."""

    def __init__(
        self, backend: Backend, holding: Holding, steps: Steps, committer: Committer, observers: Observers
    ) -> None:
        self._backend = backend
        self._observers = observers
        self.holding = holding
        self.steps = steps
        self.committer = committer

    def replayed(self, entry: Entry) -> Json:
        """Return a recorded result."""
        self._observers.emit("step.replayed", self.holding.claim.job.id, step=list(entry.key))
        return decoded(self.steps.bytes_of(entry))

    def write_of(self, turn: Fresh, data: bytes) -> WriteOnce:
        """Return the write that records ``data``; large bytes are put to the artifact port here."""
        if not self.holding.may_record():
            raise Suspended
        attempt = self.holding.claim.job.header.attempts
        entry = Entry(key=turn.key, kind=STEP, value=store_value(self._backend, data), attempt=attempt)
        return WriteOnce(self.steps.scope, entry)

    def settle(self, turn: Fresh, written: WriteOnce, stored: Entry, data: bytes) -> Json:
        """Return the result, after the store has answered: the winner's, if somebody else's stands there."""
        if stored is not written.entry:
            data = self.steps.bytes_of(stored)
        self.steps.settle(turn, stored, data)
        self._observers.emit("step.recorded", self.holding.claim.job.id, step=list(turn.key))
        return decoded(data)


class FrameContext(FrameInfo):
    """The durable context of a plain runner."""

    def __init__(self, claim: Claim, job: JobSpec, frame: FrameSpec, recorder: Recorder) -> None:
        super().__init__(claim, job, frame)
        self._recorder = recorder

    def step(self, name: str, fn: Callable[[], Json], *, index: int | None = None) -> Json:
        """Return the recorded result of this step, running ``fn`` and recording it first if there is none.

        The result is lossless JSON, and what is returned is detached from what is stored. A crash between the body's
        effect and its record repeats the effect: make it idempotent. A loop gives each turn its ``index``.

        Raises:
            NotLossless: the result cannot be stored; nothing was recorded, though ``fn`` has run.
            Diverged: the name was recorded as something else.
            Suspended: the frame has left or lost its lease. A ``BaseException``: let it pass.

        """
        recorder = self._recorder
        recorder.holding.start_body()
        try:
            turn = recorder.steps.admit(name, index)
            if isinstance(turn, Recorded):
                return recorder.replayed(turn.entry)
            if isinstance(turn, Running):
                return decoded(turn.result.result())
            try:
                data = encoded(fn())
                write = recorder.write_of(turn, data)
                return recorder.settle(turn, write, recorder.committer.write(write), data)
            except BaseException as error:
                _failed(recorder.steps, turn, error)
                raise
        finally:
            recorder.holding.end_body()


class AsyncFrameContext(FrameInfo):
    """The durable context of an ``async def`` runner."""

    def __init__(self, claim: Claim, job: JobSpec, frame: FrameSpec, recorder: Recorder) -> None:
        super().__init__(claim, job, frame)
        self._recorder = recorder
        self._bodies: set[asyncio.Task[None]] = set()

    async def step(
        self, name: str, fn: Callable[[], Json] | Callable[[], Awaitable[Json]], *, index: int | None = None
    ) -> Json:
        """Do what :meth:`FrameContext.step` does; ``fn`` may be plain (it runs in a thread) or ``async def``.

        The body runs in a task of its own: cancelling one caller cancels neither it nor who shares it.
        """
        recorder = self._recorder
        recorder.holding.start_body()
        turn: Recorded | Running | Fresh | None = None
        try:
            turn = recorder.steps.admit(name, index)
            if isinstance(turn, Recorded):
                return recorder.replayed(turn.entry)
        finally:
            if not isinstance(turn, Fresh):
                recorder.holding.end_body()
        if isinstance(turn, Fresh):
            body = asyncio.create_task(self._run(turn, fn))
            self._bodies.add(body)
            body.add_done_callback(self._bodies.discard)
        return decoded(await asyncio.shield(asyncio.wrap_future(turn.result)))

    async def bodies_done(self, *, cancel: bool) -> None:
        """Wait until no body runs, after cancelling them if ``cancel``."""
        while bodies := list(self._bodies):
            if cancel:
                for body in bodies:
                    body.cancel()
            await asyncio.wait(bodies)

    async def _run(self, turn: Fresh, fn: Callable[[], Json] | Callable[[], Awaitable[Json]]) -> None:
        recorder = self._recorder
        try:
            data = encoded(await _call(fn))
            write = recorder.write_of(turn, data)
            stored = await asyncio.shield(asyncio.wrap_future(recorder.committer.submit(write)))
            recorder.settle(turn, write, stored, data)
        except BaseException as error:  # noqa: BLE001 - handed to the callers that wait
            _failed(recorder.steps, turn, Suspended() if isinstance(error, asyncio.CancelledError) else error)
        finally:
            recorder.holding.end_body()


async def _call(fn: Callable[[], Json] | Callable[[], Awaitable[Json]]) -> Json:
    result = fn() if inspect.iscoroutinefunction(fn) else await asyncio.to_thread(fn)
    return cast("Json", await result if inspect.isawaitable(result) else result)


def _failed(steps: Steps, turn: Fresh, error: BaseException) -> None:
    if not turn.result.done():
        steps.fail(turn, error)
