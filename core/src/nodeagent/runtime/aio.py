"""The one asynchronous face of the runtime.

Ports are synchronous; each call here runs one of the runtime's in a thread. Cancelling the caller never means
that it did not happen, so every mutation is fenced or idempotent: give ``enqueue`` a ``job_id`` and repeat it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Self, TypeVar

from nodeagent.errors import NodeAgentError
from nodeagent.records.job import JobHeader
from nodeagent.rules.specs import FrameRequest
from nodeagent.runtime.client import Enqueued, Runtime
from nodeagent.runtime.outcome import Outcome

T = TypeVar("T")


class AsyncRuntime:
    """A :class:`Runtime` for coroutines; the promises are the same."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    async def enqueue(self, request: FrameRequest, *, job_id: str | None = None) -> Enqueued:
        """See :meth:`Runtime.enqueue`."""
        return await asyncio.to_thread(self.runtime.enqueue, request, job_id=job_id)

    async def enqueue_many(
        self, requests: Iterable[tuple[str | None, FrameRequest]]
    ) -> Sequence[Enqueued | NodeAgentError]:
        """See :meth:`Runtime.enqueue_many`."""
        return await asyncio.to_thread(self.runtime.enqueue_many, requests)

    async def run(self, request: FrameRequest, *, job_id: str | None = None) -> Outcome:
        """See :meth:`Runtime.run`."""
        return await _in_own_thread(lambda: self.runtime.run(request, job_id=job_id))

    async def wait(self, job_id: str, timeout: float | None = None) -> JobHeader:  # noqa: ASYNC109 - the runtime's own
        """See :meth:`Runtime.wait`."""
        return await _in_own_thread(lambda: self.runtime.wait(job_id, timeout))

    async def cancel(self, job_id: str) -> JobHeader:
        """See :meth:`Runtime.cancel`."""
        return await asyncio.to_thread(self.runtime.cancel, job_id)

    async def retry(self, job_id: str, *, round: int | None = None) -> JobHeader:  # noqa: A002 - the record's word
        """See :meth:`Runtime.retry`."""
        return await asyncio.to_thread(self.runtime.retry, job_id, round=round)

    async def unblock(self, job_id: str, *, round: int | None = None) -> JobHeader:  # noqa: A002 - the record's word
        """See :meth:`Runtime.unblock`."""
        return await asyncio.to_thread(self.runtime.unblock, job_id, round=round)

    async def receipt(self, job_id: str, *, round: int | None = None) -> bytes:  # noqa: A002 - the record's word
        """See :meth:`Runtime.receipt`."""
        return await asyncio.to_thread(self.runtime.receipt, job_id, round=round)

    async def close(self) -> None:
        """See :meth:`Runtime.close`."""
        await asyncio.to_thread(self.runtime.close)

    async def __aenter__(self) -> Self:
        """Return this runtime."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close this runtime."""
        await self.close()


async def _in_own_thread(call: Callable[[], T]) -> T:
    """Run what may take long outside the loop's few threads: many waits in there would keep what they wait for out."""
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()  # canceling the caller does not cancel the call

    def work() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:  # noqa: BLE001 - handed to the caller
            answer.set_exception(error)

    threading.Thread(target=work, name="nodeagent-aio", daemon=True).start()
    return await asyncio.wrap_future(answer)
