"""What a provider declares of itself. Declared means it holds; nothing is ever detected."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import field, frozen


def _read_only(value: Mapping[str, int]) -> Mapping[str, int]:
    return MappingProxyType(dict(value))


@frozen(kw_only=True)
class Capabilities:
    """The promises of one connection, and its numbers. A limit of None means: none of its own.

    ``server_clock``: the store has a clock of its own. ``shared``: other processes see the store.
    ``durable``: survives ``kill -9``, and a power cut by the engine's own setting. ``failover_safe``: a
    promoted replica loses nothing that was answered. ``wakeups_work``, ``wakeups_topic``: hints of that
    kind are sent and received; ``wakes_in_commit``: the ledger sends a commit's hints itself.
    ``strong_lists``: a listing shows every write that was answered before it began. ``round_trips``: per
    port method, such as ``"scheduler.claim"``, how many exchanges with the store one call takes.
    """

    server_clock: bool = False
    shared: bool = False
    durable: bool = False
    failover_safe: bool = False
    wakeups_work: bool = False
    wakeups_topic: bool = False
    wakes_in_commit: bool = False
    strong_lists: bool = False
    round_trips: Mapping[str, int] = field(factory=dict, converter=_read_only)
    max_commit_writes: int | None = None
    max_commit_bytes: int | None = None
    max_value_bytes: int | None = None
    max_key_bytes: int | None = None
    max_ttl_ms: int | None = None
