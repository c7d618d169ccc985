"""The steps of one scope: what is recorded, what is running, what was asked for."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import frozen

from nodeagent.errors import Diverged, Invalid
from nodeagent.lossless import Json, decode, encode
from nodeagent.records.ids import Key, Seq, check_id, check_int
from nodeagent.records.journal import Entry, Scope
from nodeagent.runtime.values import load_value

if TYPE_CHECKING:
    from nodeagent.backend import Backend

STEP: Final = "step"
PAGE: Final = 1_000
MAX_STEP_BYTES: Final = 64 * 1024 * 1024


@frozen
class Recorded:
    """The step was recorded before: this is its entry."""

    entry: Entry


@frozen
class Running:
    """Another caller is running the step: its result will be here."""

    result: Future[bytes]


@frozen
class Fresh:
    """Nobody has run the step: the caller runs it and settles it."""

    key: Key
    result: Future[bytes]


Turn = Recorded | Running | Fresh
Mark: TypeAlias = "Token[Steps | None]"


class Steps:
    """Tells each caller of a step whether to run it. Safe for threads and tasks.

    Callers who ask for one key while it runs share the execution. Asking for a name again after that is an error
    unless there is an index, because a loop would get its first result again and again. Only what an *earlier*
    attempt recorded may be asked for by several callers, each once: they may have shared it then. Asking from inside
    a body is an error too: once the outer step is recorded, no replay would ask for the inner one.
    """

    def __init__(self, backend: Backend, scope: Scope, *, round_token: int) -> None:
        self._backend = backend
        self.scope = scope
        self._round_token = round_token
        self._recorded: dict[Key, Entry] = {}
        self._running: dict[Key, Future[bytes]] = {}
        self._asked: dict[Key, set[object]] = {}
        self._settled: set[Key] = set()
        self._lock = threading.Lock()

    def load(self) -> None:
        """Read what earlier attempts have recorded."""
        after = Seq(0)
        while True:
            page = self._backend.journal.read(self.scope, after, PAGE)
            self._recorded.update((entry.key, entry) for entry in page.items)
            if page.next is None or not page.items:
                return
            after = page.items[-1].seq

    def admit(self, name: str, index: int | None) -> Turn:
        """Decide what the caller of this step does."""
        key = _key(name, index)
        if _inside.get() is self:
            raise Invalid(f"step {name!r}", "is asked for inside the body of another step; ask for it before or after")
        with self._lock:
            self._note_caller(key, index)
            if (entry := self._recorded.get(key)) is not None:
                return Recorded(entry)
            if (running := self._running.get(key)) is not None:
                return Running(running)
            fresh = Fresh(key, Future())
            self._running[key] = fresh.result
            return fresh

    def settle(self, turn: Fresh, entry: Entry, data: bytes) -> None:
        """Note that the store has answered: ``entry`` is what is recorded, ``data`` its bytes."""
        with self._lock:
            self._recorded[turn.key] = entry
            self._settled.add(turn.key)
            self._running.pop(turn.key, None)
        turn.result.set_result(data)

    def fail(self, turn: Fresh, error: BaseException) -> None:
        """Note that nothing was recorded; whoever shares the execution gets the error too."""
        with self._lock:
            self._running.pop(turn.key, None)
            self._asked.pop(turn.key, None)
        turn.result.set_exception(error)

    def enter_body(self) -> Mark:
        """Mark what runs in this context from now on as the body of a step."""
        return _inside.set(self)

    @staticmethod
    def leave_body(mark: Mark) -> None:
        """Take the mark away."""
        _inside.reset(mark)

    def bytes_of(self, entry: Entry) -> bytes:
        """Return the bytes that a recorded step holds."""
        if entry.kind != STEP:
            raise Diverged(f"the step {entry.key!r} was recorded as a {entry.kind}; the runner's code has changed")
        return load_value(self._backend, entry)

    def check_all_asked(self) -> None:
        """Raise :class:`Diverged` if this round recorded a step that the runner never asked for."""
        skipped = [k for k, e in self._recorded.items() if k not in self._asked and e.token > self._round_token]
        if skipped:
            raise Diverged(
                f"the step {skipped[0]!r} was recorded earlier in this round, but the runner ended without asking"
                " for it; a runner must ask for the same steps each time"
            )

    def _note_caller(self, key: Key, index: int | None) -> None:
        caller = _caller()
        callers = self._asked.setdefault(key, set())
        if index is None and (caller in callers or key in self._settled):
            raise Invalid(f"step {key[0]!r}", "is asked for twice; give each turn of a loop its own index=")
        callers.add(caller)


def encoded(value: object) -> bytes:
    """Encode a step's result. Raises :class:`~nodeagent.NotLossless` or :class:`~nodeagent.TooLarge`."""
    return encode(value, max_bytes=MAX_STEP_BYTES)


def decoded(data: bytes) -> Json:
    """Return a fresh, detached value."""
    return decode(data)


def _key(name: str, index: int | None) -> Key:
    check_id("a step's name", name)
    return (name,) if index is None else (name, str(check_int("a step's index", index)))


def _caller() -> object:
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return threading.current_thread() if task is None else task


_inside: Final[ContextVar[Steps | None]] = ContextVar("nodeagent-body", default=None)
"""The steps of which a body runs in this context."""
