"""Hints to look again. A hint is never a fact: it may be lost, late or false."""

from __future__ import annotations

from attrs import field, frozen

from nodeagent.records.ids import an_id


@frozen
class Work:
    """A job of this lane may be claimable: one consumer is enough."""

    lane: str = field(validator=an_id)


@frozen
class Topic:
    """Something about this name changed: everyone who asked should look."""

    name: str = field(validator=an_id)


Wake = Work | Topic
