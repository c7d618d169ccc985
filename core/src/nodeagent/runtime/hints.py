"""Hints to look again. They are never facts: whatever becomes of one, the work goes on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from nodeagent.ports import Subscription
from nodeagent.records.commit import Commit
from nodeagent.records.wake import Wake

if TYPE_CHECKING:
    from nodeagent.backend import Backend

_LOG: Final = logging.getLogger("nodeagent")


def notify(backend: Backend, commit: Commit) -> None:
    """Send a commit's hints, unless the ledger has sent them itself."""
    if not commit.wake or backend.sends_wakes:
        return
    try:
        backend.wakeups.notify(commit.wake)
    except Exception as error:  # noqa: BLE001 - what is written is written, whether or not a hint gets through
        _LOG.debug("hints were not sent", exc_info=error)


def listen(backend: Backend, wakes: Sequence[Wake], heard: Callable[[], None]) -> Subscription | None:
    """Call ``heard`` on each of these hints; None if the backend sends none: then the caller looks by itself."""
    try:
        return backend.wakeups.subscribe(wakes, lambda _: heard())
    except Exception as error:  # noqa: BLE001 - the caller looks again by itself, only less soon
        _LOG.debug("no hints will come", exc_info=error)
        return None
