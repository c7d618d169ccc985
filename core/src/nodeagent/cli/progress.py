"""Live progress of one job on stderr: a moving line on a terminal, else one line per event."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from nodeagent.cli.printing import clean, count, say, span

if TYPE_CHECKING:
    from nodeagent.runtime.events import Event

MAX_LINES: Final = 200
"""Without a terminal, no more lines than this: a loop of steps does not fill a log."""
NAME_WIDTH: Final = 60
REASON_WIDTH: Final = 120


class Progress:
    """An observer that shows what happens to a job."""

    def __init__(self, *, is_quiet: bool = False) -> None:
        self.recorded = 0
        self.replayed = 0
        self._attempt = 0
        self._failure = ""
        self._delay_ms = 0
        self._lines = 0
        self._is_quiet = is_quiet
        self._status: Any = None

    def __enter__(self) -> Self:
        """Begin to draw, if there is a terminal."""
        if sys.stderr.isatty() and not self._is_quiet:
            from rich.console import Console

            self._status = Console(stderr=True).status("starting")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the moving line."""
        if self._status is not None:
            self._status.stop()
            self._status = None

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event.name:
            case "job.claimed":
                self._attempt = int(str(event.details.get("attempt", 0)))
                self.note(f"attempt {self._attempt}")
            case "step.recorded":
                self.recorded += 1
                self._step("recorded", event)
            case "step.replayed":
                self.replayed += 1
                self._step("replayed", event)
            case "job.rescheduled":
                self._delay_ms = int(str(event.details.get("delay_ms", 0)))
                self._failure = str(event.details.get("failure"))
            case "store.unavailable":
                self.note("the store does not answer; asking again")
            case _:
                pass

    def failed(self, reason: str | None) -> None:
        """Show that an attempt failed, after its event, which tells the failure's type and no text."""
        why = self._failure if not reason else f"{self._failure}: {clean(reason, limit=REASON_WIDTH)}"
        self.note(f"attempt {self._attempt} failed ({why}); again in {span(self._delay_ms)}")

    def note(self, text: str) -> None:
        """Show a sentence."""
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(f"{clean(text, limit=NAME_WIDTH)}  ({self.counts()})"))
        elif not self._is_quiet and self._lines < MAX_LINES:
            self._lines += 1
            say(clean(text, limit=200) if self._lines < MAX_LINES else "(no further lines of progress)")

    def counts(self) -> str:
        """Return how many steps were recorded and replayed."""
        return f"{count(self.recorded, 'step')} recorded, {self.replayed:,} replayed"

    def _step(self, verb: str, event: Event) -> None:
        step = event.details.get("step")
        name = " ".join(str(part) for part in step) if isinstance(step, list) else str(step)
        self.note(f"step {name} {verb}")
