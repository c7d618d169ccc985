"""Ctrl-C, and what a service manager sends.

:class:`Interrupts` is for a frame that is worked on in this process's main thread. The first signal lets
no further step start, and the runtime gives the job back. Code of the runner or of a step is interrupted
where it is; code of the runtime or of a store never is, because a lock could stay locked: it ends, and the
next step is refused. The second signal leaves at once. :class:`News` is for a thread that only waits.
"""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from nodeagent.runtime.worker import Worker

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
DONE: Final = 0
"""No signal has this number."""
EXIT_BY_SIGNAL: Final = 128
_RUNTIME: Final = "nodeagent"
_USERS: Final = ("nodeagent.evidence", "nodeagent.cli.demo")
"""Runners that are shipped with the core: their code is a user's, not the runtime's."""
_CALLERS: Final = {("nodeagent.runtime.runners", "call_runner"), ("nodeagent.runtime.context", "step")}
_SHOW_CURSOR: Final = b"\x1b[?25h"
"""Undoes what a moving line of progress has done."""
_NOTICE: Final = b"\nstopping: the job is given back when its running step lets go; Ctrl-C again leaves at once\n"


class Interrupts:
    """Within this context a signal stops ``worker``; ``asked`` is the first one that came."""

    def __init__(self, worker: Worker) -> None:
        self.asked: int | None = None
        self._worker = worker
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        """Take over the signals."""
        self._before = {number: signal.signal(number, self._on_signal) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal returned

    @property
    def code(self) -> int:
        """What to exit with after an interruption."""
        return EXIT_BY_SIGNAL + (self.asked or signal.SIGINT)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None:
            leave(EXIT_BY_SIGNAL + number)
        self.asked = number
        os.write(2, _NOTICE)  # not through sys.stderr, whose buffer may be in use
        self._worker.interrupt()
        if _in_users_code(frame):
            raise KeyboardInterrupt


class News:
    """Within this context signals are read like messages, one by one, by a thread that does nothing else.

    The C handler writes each signal's number into a pipe at once. A handler in Python would run only between
    two operations of the main thread, so a signal that comes just before a wait would be seen after it.
    """

    def __enter__(self) -> Self:
        """Take over the signals."""
        self._read, self._write = os.pipe()
        self._is_open = True
        os.set_blocking(self._write, False)
        self._before = {number: signal.signal(number, _no_more) for number in SIGNALS}
        self._fd = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back."""
        self._is_open = False
        signal.set_wakeup_fd(self._fd)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._read)
        os.close(self._write)

    def next(self) -> int:
        """Wait for the next number."""
        while True:
            number = os.read(self._read, 1)[0]
            if number == DONE or number in SIGNALS:
                return number

    def tell(self, number: int) -> None:
        """Send a number from another thread; nobody hears it once the context has ended."""
        if self._is_open:
            os.write(self._write, bytes([number]))


def _no_more(number: int, frame: FrameType | None) -> None:
    """Do nothing: the number is in the pipe already."""
    del number, frame


def leave(code: int) -> None:
    """End the process at once. A held lease runs out by itself, and the next worker goes on."""
    if os.isatty(2):
        os.write(2, _SHOW_CURSOR)
    os._exit(code)


def _in_users_code(frame: FrameType | None) -> bool:
    """Say whether a runner or a step's body runs, and nothing of the runtime or of a store inside it."""
    is_below = False
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if (module, frame.f_code.co_name) in _CALLERS:
            return is_below
        if _is_runtime(module):
            return False
        is_below = True
        frame = frame.f_back
    return False


def _is_runtime(module: str) -> bool:
    is_users = any(module == name or module.startswith(f"{name}.") for name in _USERS)
    return (module == _RUNTIME or module.startswith(f"{_RUNTIME}.")) and not is_users
