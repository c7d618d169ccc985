"""The commands there are: where each lives, and its line in the help."""

from __future__ import annotations

import importlib
from typing import Final, NamedTuple

import click


class Entry(NamedTuple):
    """A command by the module and the name of its function, so that the help imports neither."""

    module: str
    name: str
    help: str

    def load(self) -> click.Command:
        """Import the module and return the command."""
        found = getattr(importlib.import_module(f"nodeagent.cli.{self.module}"), self.name)
        assert isinstance(found, click.Command)  # noqa: S101 - the table names commands
        return found


COMMANDS: Final[dict[str, Entry]] = {
    "happy-path": Entry("happy", "happy_path", "Take the timed tour: a crash, a recovery, a receipt."),
    "run": Entry("run", "run", "Ask something of your documents, and work on it here."),
    "enqueue": Entry("enqueue", "enqueue", "Store requests for a worker to work on."),
    "worker": Entry("worker", "worker", "Work on what is enqueued."),
    "jobs": Entry("jobs", "jobs", "List, show, retry, cancel and unblock jobs."),
    "status": Entry("status", "status", "Say per lane what waits, runs and is stuck."),
    "receipt": Entry("receipt", "receipt", "Show what a job came to."),
    "doctor": Entry("doctor", "doctor", "Look for what is wrong, and say what to do about it."),
    "smoke": Entry("smoke", "smoke", "Prove the runtime's promises on a store."),
    "adapters": Entry("adapters", "adapters", "List stores, and set one up."),
    "plugins": Entry("plugins", "plugins", "List the installed providers and extensions."),
    "migrate": Entry("upkeep", "migrate", "Bring the store's schema up to date."),
    "purge": Entry("upkeep", "purge", "Remove jobs that ended long ago."),
    "restored": Entry("upkeep", "restored", "Make a store safe after a back-up came back."),
}
"""In the order of the help: what a newcomer tries first comes first."""
