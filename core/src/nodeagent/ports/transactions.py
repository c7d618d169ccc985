"""The one door for writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from nodeagent.errors import BackendError, PortError
from nodeagent.records.commit import Commit, Committed


class Transactions(Protocol):
    """Atomic, fenced, repeatable writes.

    A commit is checked in this order, as one serializable step with the write: (1) its *anchors* —
    if every anchor's row was written by this commit id, it is a duplicate and the recorded seqs are
    returned with whether the fence holds now; some but not all is :class:`~nodeagent.Corrupt`; (2) the
    *fence*; (3) the *preconditions*, in write order; (4) the writes. What is only read is locked or
    conditioned until the commit, and locks are taken before any precondition is read.

    A fence holds exactly while its lease is current: not released, not revoked, not claimed again.
    Time plays no part. A fenced ``Put`` whose version does not match while its fence holds is
    ``Corrupt``, because only the holder writes.
    """

    def commit(self, commit: Commit) -> Committed:
        """Apply all writes of ``commit`` or none.

        Raises:
            Fenced: the fence does not hold; nothing was written and no number was consumed.
            Conflict: a precondition failed; ``found`` is the stored header or entry.
            TooLarge: a declared limit is exceeded; refused before any I/O.
            OutcomeUnknown: it may have been applied; send the same commit again.
            Unavailable: it was not applied; sending the same commit again may work.
            Corrupt: the store contradicts the contract.

        """
        ...

    def commit_many(self, commits: Sequence[Commit]) -> Sequence[Committed | PortError | BackendError]:
        """Apply independent commits, each an atom of its own, and answer in their order.

        A refused commit does not disturb its neighbours: its error is returned in its place.
        """
        ...
