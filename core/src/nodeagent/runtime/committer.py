"""One commit in flight per lease; what waits behind it goes as one commit."""

from __future__ import annotations

import functools
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from nodeagent.errors import Conflict, Fenced
from nodeagent.records.commit import Commit, Committed, WriteOnce
from nodeagent.records.journal import Entry, Inline
from nodeagent.runtime.failures import Suspended
from nodeagent.runtime.hints import notify
from nodeagent.runtime.holding import Holding
from nodeagent.runtime.ids import new_id

if TYPE_CHECKING:
    from nodeagent.backend import Backend

MAX_BATCH: Final = 64
MAX_BATCH_BYTES: Final = 1024 * 1024

_Waiting = tuple[WriteOnce, "Future[Entry]"]


class Committer:
    """Writes the entries of one holding.

    A synchronous caller that finds the queue idle commits in its own thread. A batch that is refused
    because one key is taken is repeated member by member, each with an id of its own.
    """

    def __init__(self, backend: Backend, holding: Holding) -> None:
        self._backend = backend
        self._holding = holding
        declared = backend.capabilities
        self._max_writes = _least(MAX_BATCH, declared.max_commit_writes)
        self._max_bytes = _least(MAX_BATCH_BYTES, declared.max_commit_bytes)
        self._lock = threading.Lock()
        self._is_busy = False
        self._waiting: list[_Waiting] = []

    def write(self, write: WriteOnce) -> Entry:
        """Return the entry that is stored under the key afterwards: this one, or the earlier winner's.

        Raises:
            Suspended: the fence does not hold, or the store did not answer before the local deadline.

        """
        with self._lock:
            is_leader = not self._is_busy
            if is_leader:
                self._is_busy = True
        if not is_leader:
            return self.submit(write).result()
        try:
            return self._write_one(write)
        finally:
            self._hand_over()

    def submit(self, write: WriteOnce) -> Future[Entry]:
        """Queue a write and return at once."""
        answer: Future[Entry] = Future()
        with self._lock:
            self._waiting.append((write, answer))
            if self._is_busy:
                return answer
            self._is_busy = True
        _pool().submit(self._drain)
        return answer

    def leave(self, commit: Commit) -> Committed:
        """Send the leaving commit, alone and last. Raises :class:`Suspended` as :meth:`write` does."""
        committed = self._ask(commit)
        notify(self._backend, commit)
        return committed

    def _hand_over(self) -> None:
        with self._lock:
            if not self._waiting:
                self._is_busy = False
                return
        _pool().submit(self._drain)

    def _drain(self) -> None:
        while True:
            with self._lock:
                batch = self._next_batch()
                del self._waiting[: len(batch)]
                if not batch:
                    self._is_busy = False
                    return
            self._write_batch(batch)

    def _next_batch(self) -> list[_Waiting]:
        size = 0
        batch: list[_Waiting] = []
        for item in self._waiting[: self._max_writes]:
            value = item[0].entry.value
            size += len(value.data) if isinstance(value, Inline) else 0
            if batch and size > self._max_bytes:
                break
            batch.append(item)
        return batch

    def _write_batch(self, batch: list[_Waiting]) -> None:
        if len(batch) > 1 and self._wrote_together(batch):
            return
        for write, answer in batch:
            if answer.done():
                continue
            try:
                entry = self._write_one(write)
            except BaseException as error:  # noqa: BLE001 - handed to the caller that waits
                answer.set_exception(error)
            else:
                answer.set_result(entry)

    def _wrote_together(self, batch: list[_Waiting]) -> bool:
        writes = (write for write, _ in batch)
        try:
            self._send(Commit.fenced(new_id(), self._holding.lease.fence, *writes))
        except Conflict:
            return False
        except BaseException as error:  # noqa: BLE001 - handed to the callers that wait
            for _, answer in batch:
                answer.set_exception(error)
            return True
        for write, answer in batch:
            answer.set_result(write.entry)
        return True

    def _write_one(self, write: WriteOnce) -> Entry:
        try:
            self._send(Commit.fenced(new_id(), self._holding.lease.fence, write))
        except Conflict as conflict:
            if conflict.kind == "written" and isinstance(conflict.found, Entry):
                return conflict.found
            raise
        return write.entry

    def _send(self, commit: Commit) -> Committed:
        if not self._holding.may_record():
            raise Suspended
        return self._ask(commit)

    def _ask(self, commit: Commit) -> Committed:
        try:
            committed = self._holding.insist(lambda: self._backend.transactions.commit(commit))
        except Fenced as error:
            self._holding.stop("lost")
            raise Suspended from error
        if committed.fence_holds is False:
            self._holding.stop("lost")
        return committed


def _least(own: int, declared: int | None) -> int:
    return own if declared is None else min(own, declared)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=16, thread_name_prefix="nodeagent-commit")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
