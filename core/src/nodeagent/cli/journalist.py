"""What a worker tells while it works: a line per job for people, or every event as JSON."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from nodeagent.cli.printing import clean, put, say, span

if TYPE_CHECKING:
    from nodeagent.runtime.events import Event

LINES_A_SECOND: Final = 10
"""More lines than this nobody reads; the others are counted."""
REASON_WIDTH: Final = 160


class Journalist:
    """An observer for many threads. Without ``as_json`` it bounds what it prints.

    ``stop`` is called, and ``is_unread`` set, when whoever read the output has left. ``is_canceled`` says
    whether a job that was abandoned was canceled.
    """

    def __init__(
        self,
        stop: Callable[[], object],
        *,
        is_quiet: bool,
        as_json: bool,
        is_canceled: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.is_unread = False
        self._stop = stop
        self._is_canceled = is_canceled
        self._is_idle = False
        self._is_quiet = is_quiet
        self._as_json = as_json
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._second = 0
        self._lines = 0
        self._silent = 0

    def __call__(self, event: Event) -> None:
        """Note one event, and print it if it is of interest; stop the worker if nobody reads any more."""
        is_canceled = event.name == "job.abandoned" and self._is_canceled(event.job_id or "")
        with self._lock:
            line = self._line(event, is_canceled=is_canceled)
            try:
                if self._as_json:
                    self._put(event)
                elif line is not None and not self._is_quiet:
                    self._say(line)
            except BrokenPipeError:
                self.is_unread, self._as_json, self._is_quiet = True, False, True
                self._stop()

    def sum_up(self) -> None:
        """Say in one line what came of all the jobs."""
        with self._lock:
            self._flush()
            parts = [f"{number:,} {word}" for word, number in sorted(self._counts.items())]
            if not self._is_quiet:
                say(f"done: {', '.join(parts)}" if parts else "done: there was nothing to work on")

    def _line(self, event: Event, *, is_canceled: bool) -> str | None:
        """Count an event that ends an attempt, and return its line."""
        details = event.details
        match event.name:
            case "job.finished":
                word = str(details.get("verdict"))
                rest = "" if word == "completed" else f": {details.get('reason')}"
            case "job.rescheduled":
                word = "rescheduled"
                rest = f": {details.get('failure')}, again in {span(int(str(details.get('delay_ms', 0))))}"
            case "job.given-back":
                word, rest = "given back", ""
            case "job.abandoned" if is_canceled:
                word, rest = "canceled", ""
            case "job.abandoned":
                word, rest = "abandoned", ": the lease was lost, and whoever has it goes on"
            case "store.unavailable":
                return "the store does not answer; asking again"
            case _:
                return None
        self._counts[word] += 1
        return f"{event.job_id} {word}{rest}"

    def _put(self, event: Event) -> None:
        """Print an event; a worker that stays idle says so once."""
        was_idle, self._is_idle = self._is_idle, event.name == "worker.idle"
        if was_idle and self._is_idle:
            return
        fields = {"event": event.name, "job_id": event.job_id, "at": time.time_ns() // 1_000_000}
        put(json.dumps({**fields, **event.details}))

    def _say(self, line: str) -> None:
        second = int(time.monotonic())
        if second != self._second:
            self._flush()
            self._second, self._lines = second, 0
        self._lines += 1
        if self._lines <= LINES_A_SECOND:
            say(clean(line, limit=REASON_WIDTH))
        else:
            self._silent += 1

    def _flush(self) -> None:
        if self._silent:
            say(f"… and {self._silent:,} more")
        self._silent = 0
