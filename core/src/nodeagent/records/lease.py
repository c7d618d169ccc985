"""Leases and the fences made of them."""

from __future__ import annotations

from typing import Any, Final, Literal

from attrs import field, frozen

from nodeagent.errors import Invalid
from nodeagent.records.ids import Ms, Resource, Token, a_count, an_id, check_int, parts
from nodeagent.records.job import FrameRecord, JobHeader, JobRecord

MAX_LANES: Final = 16
"""How many lanes one claim may name."""


def _a_token(_: Any, __: Any, value: Any) -> None:
    check_int("token", value, 1)


@frozen(kw_only=True)
class Lease:
    """The right to write as ``resource``'s holder, made by one claim.

    It is lost by a later claim, a release or a revoke, never by expiry alone. ``holder`` is a label
    for people; no rule compares it. ``claim_id`` names the claim and is random.
    """

    resource: Resource = field(validator=parts)
    holder: str = field(validator=an_id)
    token: Token = field(validator=_a_token)
    claim_id: str = field(validator=an_id)
    acquired_at: Ms = field(validator=a_count)
    expires_at: Ms = field(validator=a_count)

    @property
    def fence(self) -> Fence:
        """What a commit carries to prove this lease."""
        return Fence(self.resource, self.token, self.claim_id)


@frozen
class Fence:
    """Holds exactly while the lease made by ``claim_id`` with ``token`` is current."""

    resource: Resource = field(validator=parts)
    token: Token = field(validator=_a_token)
    claim_id: str = field(validator=an_id)


@frozen(kw_only=True)
class Lanes:
    """Claim from these lanes, in order of preference."""

    names: tuple[str, ...] = field()

    @names.validator
    def _check(self, _: object, value: tuple[str, ...]) -> None:
        if not 1 <= len(value) <= MAX_LANES or len(set(value)) != len(value):
            raise Invalid("lanes", f"must be 1 to {MAX_LANES} distinct names, but there are {len(value)}")


@frozen
class OneJob:
    """Claim this job and no other."""

    job_id: str = field(validator=an_id)


Want = Lanes | OneJob


@frozen(kw_only=True)
class Claim:
    """A claimed job with its frame: right until the holder leaves, because only the holder writes it."""

    lease: Lease
    job: JobRecord
    frame: FrameRecord


@frozen(kw_only=True)
class Claims:
    """The answer to a claim.

    ``next_due`` is when the next job of the wanted lanes becomes claimable (None: not before somebody
    writes): later than ``now`` unless the claim hit its limit or lost a race. Both by the store's clock.
    """

    claims: tuple[Claim, ...]
    next_due: Ms | None
    now: Ms


@frozen(kw_only=True)
class Peek:
    """What a claim would return, without claiming: headers in claim order."""

    jobs: tuple[JobHeader, ...]
    next_due: Ms | None
    now: Ms


LeaseState = Literal["held", "released", "revoked"]
