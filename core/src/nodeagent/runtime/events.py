"""What the runtime tells observers. An observer can change nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, Literal

from attrs import field, frozen

from nodeagent.lossless import Json

_LOG: Final = logging.getLogger("nodeagent")

EventName = Literal[
    "job.enqueued",
    "job.claimed",
    "job.finished",
    "job.rescheduled",
    "job.given-back",
    "job.abandoned",
    "step.recorded",
    "step.replayed",
    "worker.idle",
    "worker.stopping",
    "store.unavailable",
]


@frozen(kw_only=True)
class Event:
    """Something that happened. ``details`` hold names and numbers, never payloads."""

    name: EventName
    job_id: str | None = None
    details: Mapping[str, Json] = field(factory=dict)


Observer = Callable[[Event], None]


class Observers:
    """Calls every observer; one that raises is reported and changes nothing."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = list(observers)

    def add(self, observer: Observer) -> None:
        """Call ``observer`` from now on."""
        self._observers.append(observer)

    def emit(self, name: EventName, job_id: str | None = None, **details: Json) -> None:
        """Tell everyone."""
        if not self._observers:
            return
        event = Event(name=name, job_id=job_id, details=details)
        for observer in self._observers:
            try:
                observer(event)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - an observer changes nothing, not even by leaving
                _LOG.error("an observer failed on %s with %s; the work goes on", name, type(error).__name__)
                _LOG.debug("what the observer raised", exc_info=error)
