"""What a runner sees: its frame, and steps that survive it. Neither a backend nor a port."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nodeagent.errors import Aborted
from nodeagent.lossless import Json, decode
from nodeagent.records.answer import Confidence
from nodeagent.records.commit import WriteOnce
from nodeagent.records.journal import Entry
from nodeagent.records.lease import Claim
from nodeagent.records.policy import PolicyContext
from nodeagent.rules.specs import FrameSpec, JobSpec
from nodeagent.runtime.committer import Committer
from nodeagent.runtime.events import Observers
from nodeagent.runtime.failures import Permanent, Suspended
from nodeagent.runtime.holding import Holding
from nodeagent.runtime.steps import STEP, Fresh, Recorded, Running, Steps, decoded, encoded
from nodeagent.runtime.values import fits_ledger, store_value

if TYPE_CHECKING:
    from nodeagent.backend import Backend

T = TypeVar("T")


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
        return decoded(self.bytes_of(entry))

    def bytes_of(self, entry: Entry) -> bytes:
        """Return what a recorded step holds."""
        return self.holding.insist(lambda: self.steps.bytes_of(entry))

    def write_of(self, turn: Fresh, data: bytes) -> WriteOnce:
        """Return the write that records ``data``; large bytes are put to the artifact port here."""
        if not self.holding.may_record():
            raise Suspended
        attempt = self.holding.claim.job.header.attempts
        value = self.holding.insist(lambda: store_value(self._backend, data))
        return WriteOnce(self.steps.scope, Entry(key=turn.key, kind=STEP, value=value, attempt=attempt))

    def fits_ledger(self, data: bytes) -> bool:
        """Say whether these bytes are stored without putting them to the artifact port."""
        return fits_ledger(self._backend, data)

    def settle(self, turn: Fresh, written: WriteOnce, stored: Entry, data: bytes) -> Json:
        """Return the result, after the store has answered: the winner's, if somebody else's stands there."""
        if stored is not written.entry:
            data = self.bytes_of(stored)
        self.steps.settle(turn, stored, data)
        self._observers.emit("step.recorded", self.holding.claim.job.id, step=list(turn.key))
        return decode(data, is_own=True) if stored is written.entry else decoded(data)

    def failed(self, turn: Fresh, error: BaseException) -> None:
        """Hand the error of a body to whoever shares it. A canceled body is *suspended* only if its frame is."""
        if turn.result.done():
            return
        if isinstance(error, asyncio.CancelledError):
            is_stopped = self.holding.fate is not None
            error = Suspended() if is_stopped else Aborted(f"the body of step {turn.key[0]!r} was canceled")
        self.steps.fail(turn, error)


class FrameContext(FrameInfo):
    """The durable context of a plain runner."""

    def __init__(self, claim: Claim, job: JobSpec, frame: FrameSpec, recorder: Recorder) -> None:
        super().__init__(claim, job, frame)
        self._recorder = recorder

    def step(self, name: str, fn: Callable[[], Json], *, index: int | None = None) -> Json:
        """Return the recorded result of this step, running ``fn`` and recording it first if there is none.

        The result is lossless JSON, and what is returned is detached from what is stored. A crash between the body's
        effect and its record repeats the effect: make it idempotent. A loop gives each turn its ``index``. A body asks
        for no other step.

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
                mark = recorder.steps.enter_body()
                try:
                    result = fn()
                finally:
                    recorder.steps.leave_body(mark)
                data = encoded(result)
                write = recorder.write_of(turn, data)
                return recorder.settle(turn, write, recorder.committer.write(write), data)
            except BaseException as error:
                recorder.failed(turn, error)
                raise
        finally:
            recorder.holding.end_body()


class AsyncFrameContext(FrameInfo):
    """The durable context of an ``async def`` runner."""

    def __init__(self, claim: Claim, job: JobSpec, frame: FrameSpec, recorder: Recorder) -> None:
        super().__init__(claim, job, frame)
        self._recorder = recorder
        self._bodies: set[asyncio.Task[None]] = set()
        self._calls: dict[object, tuple[str, Coroutine[Any, Any, Json]]] = {}
        self._is_over = False

    def step(
        self, name: str, fn: Callable[[], Json] | Callable[[], Awaitable[Json]], *, index: int | None = None
    ) -> Coroutine[Any, Any, Json]:
        """Do what :meth:`FrameContext.step` does; ``fn`` may be plain (it runs in a thread) or ``async def``.

        The body runs in a task of its own: cancelling one caller cancels neither it nor who shares it. A step that is
        never awaited fails the attempt.
        """
        call = object()
        coroutine = self._step(call, name, fn, index)
        self._calls[call] = (name, coroutine)
        return coroutine

    def check_all_awaited(self) -> None:
        """Raise :class:`Permanent` if the runner has forgotten to await a step."""
        forgotten = [(n, c) for n, c in self._calls.values() if inspect.getcoroutinestate(c) == inspect.CORO_CREATED]
        for _, coroutine in forgotten:
            coroutine.close()
        if forgotten:
            name = forgotten[0][0]
            raise Permanent(f"step {name!r} was never awaited, so it did not run; write `await frame.step(…)`")

    async def _step(
        self,
        call: object,
        name: str,
        fn: Callable[[], Json] | Callable[[], Awaitable[Json]],
        index: int | None,
    ) -> Json:
        del self._calls[call]
        recorder = self._recorder
        if self._is_over:
            raise Suspended
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
            body.add_done_callback(functools.partial(self._ended, turn))
            await asyncio.wait((body,))  # which does not cancel it
            return decoded(turn.result.result())
        return decoded(await _shared(turn.result))

    def cancel_lost(self) -> None:
        """Cancel the bodies whose results may no longer be recorded."""
        if not self._recorder.holding.may_record():
            for body in self._bodies:
                body.cancel()

    async def bodies_done(self) -> None:
        """Wait until no body runs; none starts any more afterwards."""
        while self._bodies:
            await asyncio.wait(self._bodies)
        self._is_over = True

    async def _run(self, turn: Fresh, fn: Callable[[], Json] | Callable[[], Awaitable[Json]]) -> None:
        recorder = self._recorder
        try:
            mark = recorder.steps.enter_body()
            try:
                result = await _call(fn)
            finally:
                recorder.steps.leave_body(mark)
            data = encoded(result)
            if recorder.fits_ledger(data):
                write = recorder.write_of(turn, data)
            else:  # not on the loop: bytes are put to the artifact port
                write = await asyncio.to_thread(recorder.write_of, turn, data)
            stored = await _shared(recorder.committer.submit(write))
            recorder.settle(turn, write, stored, data)
        except BaseException as error:  # noqa: BLE001 - handed to the callers that wait
            recorder.failed(turn, error)

    def _ended(self, turn: Fresh, body: asyncio.Task[None]) -> None:
        """Settle what is left: a body that is canceled before its first line has not come to do it."""
        self._bodies.discard(body)
        self._recorder.failed(turn, asyncio.CancelledError())
        self._recorder.holding.end_body()


def _shared(result: Future[T]) -> Awaitable[T]:
    """Wait for a result that others may wait for too: cancelling this wait does not cancel it."""
    waiter = asyncio.wrap_future(result)
    # Its error is for whoever still waits: if nobody does, asyncio need not say so.
    waiter.add_done_callback(_heard)
    return asyncio.shield(waiter)


def _heard(waiter: asyncio.Future[Any]) -> None:
    if not waiter.cancelled():
        waiter.exception()


async def _call(fn: Callable[[], Json] | Callable[[], Awaitable[Json]]) -> Json:
    result = fn() if inspect.iscoroutinefunction(fn) else await asyncio.to_thread(fn)
    return cast("Json", await result if inspect.isawaitable(result) else result)
