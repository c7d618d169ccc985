"""The limits that a provider declares, checked before any I/O.

What is counted, so that every provider means the same:

* ``max_commit_writes``: the writes of one commit, of every kind;
* ``max_value_bytes``: each inline value, each spec and each state, alone;
* ``max_commit_bytes``: all of these together that one commit carries;
* ``max_key_bytes``: each scope, entry key, resource and record id, alone, as
  :func:`~nodeagent.encode_key` writes it;
* ``max_ttl_ms``: the time-to-live of a claim or renewal.
"""

from __future__ import annotations

from typing import Final

from attrs import frozen

from nodeagent.errors import TooLarge
from nodeagent.keys import encode_key
from nodeagent.records.capabilities import Capabilities
from nodeagent.records.commit import Commit, Put, Require, Revoke, Write, WriteOnce
from nodeagent.records.ids import INT_LIMIT, check_int
from nodeagent.records.journal import EntryKey, Inline

_WORST: Final = 6
"""Bytes that one character takes at most in an encoded key: ``\\u0000``."""

Names = tuple[tuple[str, ...], ...]


@frozen
class Limits:
    """One provider's limits; None where it has none."""

    writes: int | None
    commit: int | None
    value: int | None
    key: int | None
    ttl: int | None

    @classmethod
    def of(cls, declared: Capabilities) -> Limits:
        """Take the limits out of what was declared."""
        return cls(
            declared.max_commit_writes,
            declared.max_commit_bytes,
            declared.max_value_bytes,
            declared.max_key_bytes,
            declared.max_ttl_ms,
        )

    @property
    def bound_commits(self) -> bool:
        """Say whether any commit could be too large."""
        return any(x is not None for x in (self.writes, self.commit, self.value, self.key))

    def check_commit(self, commit: Commit) -> None:
        """Raise :class:`TooLarge` if one of the limits is exceeded."""
        writes = commit.writes
        if self.writes is not None and len(writes) > self.writes:
            raise TooLarge("the number of writes of a commit", len(writes), self.writes)
        if self.value is not None or self.commit is not None:
            self._check_payload(writes)
        if self.key is not None:
            for write in writes:
                for name in _names(write):
                    self.check_name(name)

    def check_name(self, name: tuple[str, ...]) -> None:
        """Raise :class:`TooLarge` if a scope, key, resource or id is too long."""
        limit = self.key
        if limit is None or _WORST * sum(map(len, name)) + 3 * len(name) + 2 <= limit:
            return
        size = len(encode_key(name).encode())
        if size > limit:
            raise TooLarge("the encoded length of a key", size, limit)

    def check_ttl(self, ttl_ms: int) -> None:
        """Refuse a time-to-live that is no positive number of milliseconds, or too long."""
        check_int("ttl_ms", ttl_ms, 1, INT_LIMIT - 1)
        if self.ttl is not None and ttl_ms > self.ttl:
            raise TooLarge("ttl_ms", ttl_ms, self.ttl)

    def _check_payload(self, writes: tuple[Write, ...]) -> None:
        total = 0
        for write in writes:
            for size in _sizes(write):
                if self.value is not None and size > self.value:
                    raise TooLarge("the size of a value in bytes", size, self.value)
                total += size
        if self.commit is not None and total > self.commit:
            raise TooLarge("the size of a commit in bytes", total, self.commit)


def _sizes(write: Write) -> tuple[int, ...]:
    """Return the sizes of the payloads that a write carries."""
    if isinstance(write, WriteOnce):
        value = write.entry.value
        return (len(value.data),) if isinstance(value, Inline) else ()
    if isinstance(write, Put):
        state = len(write.after.state)
        return (state,) if write.before is not None else (state, len(write.after.spec))
    return ()


def _names(write: Write) -> Names:
    """Return the names under which a write is stored or looked up."""
    if isinstance(write, WriteOnce):
        return (write.scope, write.entry.key)
    if isinstance(write, Put):
        return ((write.after.id,),)
    if isinstance(write, Require):
        key = write.key
        return (key.scope, key.key) if isinstance(key, EntryKey) else ((key,),)
    return (write.resource,) if isinstance(write, Revoke) else ()
