"""A connection: what it declares, whose time it tells, and how it ends."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from nodeagent import Capabilities, Lanes

if TYPE_CHECKING:
    from tests.providers.conftest import Lab


def test_every_method_declares_its_round_trips(lab: Lab) -> None:
    """By port and method, so that the budget can be counted."""
    declared = lab.one.capabilities

    assert isinstance(declared, Capabilities)
    assert {"transactions.commit", "scheduler.claim", "step_journal.read"} <= set(declared.round_trips)
    assert all(number >= 0 for number in declared.round_trips.values())


def test_artifacts_declare_theirs(shelf: Lab) -> None:
    """The port that is implemented singly too."""
    assert "artifact_store.put" in shelf.one.capabilities.round_trips


def test_the_clock_that_was_given_is_the_stores(lab: Lab) -> None:
    """Exactly, forwards and back."""
    assert lab.one.now() == lab.clock.now()
    lab.clock.advance(3_600_000)
    assert lab.one.now() == lab.clock.now()
    lab.clock.set(1_000)
    assert lab.one.now() == 1_000


def test_every_time_is_of_the_given_clock(lab: Lab) -> None:
    """A handle with another clock judges and writes by that one."""
    ahead = lab.open(clock=lab.clock.skewed(10_000))
    lab.enqueue()

    claims = ahead.scheduler.claim(Lanes(names=("lane",)), "w", 500, "c")

    assert claims.now == lab.clock.now() + 10_000
    assert claims.claims[0].lease.acquired_at == claims.now


def test_without_a_clock_time_passes(lab: Lab) -> None:
    """It is the store's own or the host's, of this century."""
    handle = type(lab.one).open(lab.provider, lab.folder, lab.namespace, None)

    assert handle.now() > 1_700_000_000_000
    handle.close()


def test_closing_twice_is_closing_once(lab: Lab) -> None:
    """And other handles go on."""
    handle = lab.open()
    handle.close()
    handle.close()

    lab.enqueue()
    assert lab.claim().job.id == "job"


def test_a_connection_is_a_context(lab: Lab) -> None:
    """It gives itself and closes at the end."""
    connection = lab.open().connection

    with connection as same:
        assert same is connection


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_uses_what_its_parent_opened(lab: Lab) -> None:
    """And the parent goes on; where the store is shared, it sees what the child wrote."""
    lab.enqueue("before")

    child = os.fork()
    if child == 0:
        status = 1
        try:
            lab.enqueue("of the child")
            status = 0 if lab.one.jobs.get("before") is not None else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    lab.enqueue("after")

    assert status == 0
    assert lab.stored("before").id == "before"
    if lab.one.capabilities.shared:
        assert lab.stored("of the child").id == "of the child"
