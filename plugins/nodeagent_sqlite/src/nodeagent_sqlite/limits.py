"""What this provider promises, and the sizes that it refuses before any I/O."""

from __future__ import annotations

from typing import Final

from nodeagent import (
    Capabilities,
    Commit,
    Inline,
    Put,
    TooLarge,
    WriteOnce,
)

MAX_VALUE_BYTES: Final = 16 * 2**20
MAX_COMMIT_BYTES: Final = 64 * 2**20
MAX_COMMIT_WRITES: Final = 10_000
MAX_KEY_BYTES: Final = 8 * 512
"""What the contract allows anyway: eight parts of 512 bytes."""
MAX_TTL_MS: Final = 2**40
CLAIM_SHARE: Final = 1 / 2
"""How much of its time to live a claim waits for other writers at most: whoever asked must not think it long over."""
RENEWAL_SHARE: Final = 1 / 3
"""The same of a renewal, which may be asked for again before the lease expires."""

_METHODS: Final = (
    "transactions.commit",
    "transactions.commit_many",
    "lease_store.claim",
    "lease_store.renew",
    "lease_store.release",
    "lease_store.get",
    "lease_store.expired",
    "step_journal.get",
    "step_journal.read",
    "scheduler.claim",
    "scheduler.peek",
    "job_store.get",
    "job_store.list",
    "frame_store.get",
    "frame_store.list",
    "run_store.get",
    "run_store.list",
    "run_store.messages",
    "artifact_store.put",
    "artifact_store.get",
    "artifact_store.stat",
    "wakeups.notify",
)

LIMITS: Final = Capabilities(
    shared=True,
    durable=True,
    wakeups_work=True,
    wakeups_topic=True,
    wakes_in_commit=True,
    strong_lists=True,
    round_trips=dict.fromkeys(_METHODS, 1),
    max_commit_writes=MAX_COMMIT_WRITES,
    max_commit_bytes=MAX_COMMIT_BYTES,
    max_value_bytes=MAX_VALUE_BYTES,
    max_key_bytes=MAX_KEY_BYTES,
    max_ttl_ms=MAX_TTL_MS,
)


def check_commit(commit: Commit) -> None:
    """Raise :class:`TooLarge` if the commit is over a limit."""
    if len(commit.writes) > MAX_COMMIT_WRITES:
        raise TooLarge("the number of a commit's writes", len(commit.writes), MAX_COMMIT_WRITES)
    total = 0
    for write in commit.writes:
        if isinstance(write, WriteOnce):
            value = write.entry.value
            total += _checked(len(value.data) if isinstance(value, Inline) else 0)
        elif isinstance(write, Put):
            total += _checked(len(write.after.state))
            total += _checked(len(write.after.spec)) if write.before is None else 0
    if total > MAX_COMMIT_BYTES:
        raise TooLarge("the number of a commit's bytes", total, MAX_COMMIT_BYTES)


def _checked(size: int) -> int:
    if size > MAX_VALUE_BYTES:
        raise TooLarge("the number of a value's bytes", size, MAX_VALUE_BYTES)
    return size


def check_ttl(ttl_ms: int) -> None:
    """Raise :class:`TooLarge` if a lease would last longer than any number of this store can say."""
    if ttl_ms > MAX_TTL_MS:
        raise TooLarge("a lease's time to live in milliseconds", ttl_ms, MAX_TTL_MS)
