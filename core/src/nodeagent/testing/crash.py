"""Crashes at a chosen call, to see that work goes on afterwards.

Every call that a program makes at a port of its backend is numbered and named. A *point* names one of
them and what happens there::

    point = CrashAt("transactions.commit#3", "after")
    app = open_app(point.wrap(backend))
    with pytest.raises(Crash):
        app.work()                       # dies when the third commit is stored, before it knows
    assert finishes(open_app(backend))   # a fresh one goes on

Without a call nothing happens but the counting, so ``CrashAt().wrap(backend)`` tells, in ``calls``,
which points a program has. A sweep over all of them is a loop.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Literal, NoReturn, Self, TypeVar, cast, get_args

from nodeagent.errors import OutcomeUnknown, Unavailable

Mode = Literal["before", "after", "ack-lost"]
B = TypeVar("B")

PORTS: Final = (
    "transactions",
    "leases",
    "journal",
    "scheduler",
    "jobs",
    "frames",
    "runs",
    "maintenance",
    "artifacts",
    "wakeups",
)
_MUTATIONS: Final = frozenset(
    {
        "transactions.commit",
        "leases.claim",
        "leases.renew",
        "leases.release",
        "scheduler.claim",
        "artifacts.put",
        "maintenance.migrate",
        "maintenance.purge",
        "maintenance.drop_namespace",
        "maintenance.restored",
    }
)


class Crash(BaseException):
    """The process died at ``call``, for all that the code around it can tell.

    It is no :class:`Exception`, because a dead process handles nothing.
    """

    def __init__(self, call: str) -> None:
        self.call = call
        super().__init__(f"crashed at {call}")


class CrashAt:
    """One point of a program: a call, and what happens there.

    ``call`` is the number of the call, from 1, or its name: port, method, and how many of those
    (``"scheduler.claim#2"``); None: never. ``mode`` says when:

    * ``before``: the process dies, and the call had no effect.
    * ``after``: the process dies when the call took effect, before its answer is seen.
    * ``ack-lost``: the call took effect, but its caller is told :class:`~nodeagent.OutcomeUnknown`
      (a reader: :class:`~nodeagent.Unavailable`) and lives on. Hints are lost in silence.

    Dying is a :class:`Crash`, after which every call at the wrapped backend crashes too, on any
    thread; with ``kill=True`` it is ``SIGKILL`` to this very process.
    """

    def __init__(self, call: int | str | None = None, mode: Mode = "before", *, kill: bool = False) -> None:
        if mode not in get_args(Mode):
            raise ValueError(f"a mode is one of {', '.join(get_args(Mode))}, not {mode!r}")
        self.call = call
        self.mode: Mode = mode
        self.kill = kill
        self._calls: list[str] = []
        self._counts: Counter[str] = Counter()
        self._dead: str | None = None
        self._lock = threading.Lock()

    @property
    def calls(self) -> tuple[str, ...]:
        """The calls that were made so far, by name and in order."""
        with self._lock:
            return tuple(self._calls)

    @property
    def crashed(self) -> bool:
        """Whether the program died."""
        return self._dead is not None

    def wrap(self, backend: B) -> B:
        """Return a backend of the same shape whose calls are counted here."""
        return cast("B", _FaultyBackend(backend, self))

    # --- at a call --------------------------------------------------------------------------------

    def made(self, method: str, call: Callable[[], Any]) -> Any:
        """Make a call, or crash there."""
        name, is_here = self._count(method)
        if is_here and self.mode == "before":
            self._die(name)
        try:
            answer = call()
        except Exception:  # a refusal is an answer too, and can be lost like one
            self._answered(name, is_here=is_here)
            if is_here:
                _lose(method, name)
            raise
        self._answered(name, is_here=is_here)
        return _without_answer(method, answer, name) if is_here else answer

    def heard(self, call: Callable[[], None]) -> None:
        """Call back, unless the program is dead."""
        if not self.crashed:
            call()

    def _count(self, method: str) -> tuple[str, bool]:
        with self._lock:
            if self._dead is not None:
                raise Crash(self._dead)
            self._counts[method] += 1
            name = f"{method}#{self._counts[method]}"
            self._calls.append(name)
            return name, self.call in (name, len(self._calls))

    def _answered(self, name: str, *, is_here: bool) -> None:
        """Die before the answer is seen, here or because another thread died meanwhile."""
        if self._dead is not None:
            raise Crash(self._dead)
        if is_here and self.mode == "after":
            self._die(name)

    def _die(self, name: str) -> NoReturn:
        if self.kill:
            os.kill(os.getpid(), signal.SIGKILL)
        self._dead = name
        raise Crash(name)


def _without_answer(method: str, answer: Any, name: str) -> Any:
    """Lose an answer, in the way in which a store loses it."""
    if method == "transactions.commit_many":
        return [_unknown(name) for _ in answer]
    if method.startswith("wakeups."):
        return answer
    return _lose(method, name)


def _lose(method: str, name: str) -> NoReturn:
    if method in _MUTATIONS:
        raise _unknown(name)
    raise Unavailable(f"the answer to {name} was lost; nothing happened, read again")


def _unknown(name: str) -> OutcomeUnknown:
    return OutcomeUnknown(f"the answer to {name} was lost; ask again with the same id")


class _FaultyBackend:
    """A backend whose ports are watched; all else is the backend's own."""

    def __init__(self, backend: Any, point: CrashAt) -> None:
        self._backend = backend
        self._point = point

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._backend, name)
        return _FaultyPort(found, name, self._point) if name in PORTS else found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._backend.close()


class _FaultyPort:
    """A port whose calls are counted."""

    def __init__(self, port: Any, name: str, point: CrashAt) -> None:
        self._port = port
        self._name = name
        self._point = point

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        label = f"{self._name}.{name}"

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._point.made(label, lambda: method(*args, **kwargs))

        return call

    def subscribe(self, wakes: Any, wake: Callable[[Any], None]) -> Any:
        """Subscribe; a dead program is not called back."""
        deaf = lambda hint: self._point.heard(lambda: wake(hint))  # noqa: E731
        return self._point.made(f"{self._name}.subscribe", lambda: self._port.subscribe(wakes, deaf))
