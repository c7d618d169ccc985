"""What the opaque bytes of jobs and frames hold: the core writes and reads them, no store does."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast

from attrs import asdict, field, frozen

from nodeagent.errors import Corrupt, Invalid
from nodeagent.keys import encode_key
from nodeagent.lossless import Json, decode, encode
from nodeagent.records.answer import CONFIDENCE_ORDER, Confidence, Evidence
from nodeagent.records.ids import an_id, check_id, check_int, check_parts
from nodeagent.records.job import RunAfter
from nodeagent.records.policy import PolicyContext
from nodeagent.rules.retry import RetryPolicy

MAX_GOAL_BYTES: Final = 64 * 1024
T = TypeVar("T")


def _a_goal(_: Any, __: Any, value: Any) -> None:
    if type(value) is not str or not value.strip():
        raise Invalid("goal", "must be a non-empty text that says what the frame is to answer")
    if len(value.encode("utf-8", "replace")) > MAX_GOAL_BYTES:
        raise Invalid("goal", f"must have at most {MAX_GOAL_BYTES} bytes; put long material into the input")


def _a_confidence(_: Any, __: Any, value: Any) -> None:
    if value not in CONFIDENCE_ORDER:
        raise Invalid("minimum_confidence", f"must be one of {', '.join(CONFIDENCE_ORDER)}")


def _attempts(_: Any, __: Any, value: Any) -> None:
    check_int("max_attempts", value, 1, 1_000_000)


def _ids(_: Any, attribute: Any, value: Any) -> None:
    for item in value:
        check_id(attribute.name, item)


def _texts(value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise Invalid("deliverables", 'must be several names, such as ("memo",), but is one text')
    return tuple(value)


def _a_timeout(_: Any, __: Any, value: Any) -> None:
    if value is not None:
        check_int("timeout_ms", value, 1)


def _a_priority(_: Any, __: Any, value: Any) -> None:
    check_int("priority", value, 0, 9)


@frozen(kw_only=True)
class FrameRequest:
    """A reasoning frame to be enqueued as a job: everything that is asked for, and nothing else.

    ``goal`` and ``phase`` say what to do; ``runner`` is who does it, on ``input`` (lossless JSON).
    The verifier blocks an answer whose confidence is below ``minimum_confidence`` or that lacks one of
    ``deliverables``. ``timeout_ms`` bounds one attempt. ``run_after`` is not part of the identity of a request.
    """

    goal: str = field(validator=_a_goal, repr=False)
    runner: str = field(validator=an_id)
    input: Json = field(factory=dict, repr=False)
    phase: str = field(default="answer", validator=an_id)
    minimum_confidence: Confidence = field(default="medium", validator=_a_confidence)
    deliverables: tuple[str, ...] = field(default=(), validator=_ids, converter=_texts)
    queue: str = field(default="default", validator=an_id)
    tenant: str = field(default="default", validator=an_id)
    priority: int = field(default=5, validator=_a_priority)
    max_attempts: int = field(default=3, validator=_attempts)
    retry: RetryPolicy = RetryPolicy()
    timeout_ms: int | None = field(default=None, validator=_a_timeout)
    policy: PolicyContext = PolicyContext()
    run_after: RunAfter = None


@frozen(kw_only=True)
class JobSpec:
    """The part of a request that the runtime reads again when it works on the job."""

    input: Json = field(repr=False)
    max_attempts: int
    retry: RetryPolicy
    timeout_ms: int | None
    policy: PolicyContext


@frozen(kw_only=True)
class FrameSpec:
    """The part of a request that the runner and the verifier read."""

    goal: str = field(repr=False)
    phase: str
    minimum_confidence: Confidence
    deliverables: tuple[str, ...]


@frozen(kw_only=True)
class Failure:
    """Why an attempt failed, in bounded, printable words. ``kind`` says whether another one may help."""

    kind: str
    type: str
    message: str


@frozen(kw_only=True)
class JobState:
    """What the rules remember of a job between its attempts.

    ``round_token`` is the token that the job had when its round began: entries with a higher one are this
    round's. ``parked_on`` names the addresses that the job waits for.
    """

    reason: str | None = None
    failure: Failure | None = None
    parked_on: tuple[str, ...] = ()
    round_token: int = 0


@frozen(kw_only=True)
class FrameState:
    """Evidence of the latest round, and the artifact id of each round's receipt."""

    evidence: tuple[Evidence, ...] = ()
    receipts: Mapping[str, str] = field(factory=dict)


def lane_of(queue: str, runner: str, tenant: str | None = None) -> str:
    """Return the routing key of a queue and runner, and of one tenant if lanes are told apart by tenant."""
    parts = (queue, runner) if tenant is None else (queue, runner, tenant)
    return encode_key(check_parts("lane", parts))


def digest_of(spec: bytes) -> str:
    """Return the ``spec_digest`` of a spec."""
    return hashlib.sha256(spec).hexdigest()


def encode_frame_spec(request: FrameRequest) -> bytes:
    """Encode what the frame asks for."""
    return encode(
        {
            "goal": request.goal,
            "phase": request.phase,
            "minimum_confidence": request.minimum_confidence,
            "deliverables": list(request.deliverables),
        }
    )


def encode_job_spec(request: FrameRequest, lane: str, frame_digest: str) -> bytes:
    """Encode the whole request, so that the digest of a job's spec is the identity of what was asked."""
    return encode(
        {
            "frame": frame_digest,
            "input": request.input,
            "lane": lane,
            "max_attempts": request.max_attempts,
            "policy": _plain(request.policy),
            "priority": request.priority,
            "queue": request.queue,
            "retry": _plain(request.retry),
            "runner": request.runner,
            "tenant": request.tenant,
            "timeout_ms": request.timeout_ms,
        }
    )


def decode_job_spec(data: bytes) -> JobSpec:
    """Read a job's spec. Raises :class:`~nodeagent.Corrupt`."""
    return _decoded(data, "a job's spec", _job_spec)


def decode_frame_spec(data: bytes) -> FrameSpec:
    """Read a frame's spec. Raises :class:`~nodeagent.Corrupt`."""
    return _decoded(data, "a frame's spec", _frame_spec)


def encode_job_state(state: JobState) -> bytes:
    """Encode a job's state."""
    return encode(_plain(state))


def decode_job_state(data: bytes) -> JobState:
    """Read a job's state. Raises :class:`~nodeagent.Corrupt`."""
    return _decoded(data, "a job's state", _job_state)


def encode_frame_state(state: FrameState) -> bytes:
    """Encode a frame's state."""
    return encode({"evidence": [_plain(item) for item in state.evidence], "receipts": dict(state.receipts)})


def decode_frame_state(data: bytes) -> FrameState:
    """Read a frame's state. Raises :class:`~nodeagent.Corrupt`."""
    return _decoded(data, "a frame's state", _frame_state)


def _plain(value: Any) -> dict[str, Json]:
    return cast(
        "dict[str, Json]", asdict(value, value_serializer=lambda _, __, v: list(v) if isinstance(v, tuple) else v)
    )


def _decoded(data: bytes, what: str, build: Callable[[dict[str, Any]], T]) -> T:
    value = decode(data)
    try:
        return build(cast("dict[str, Any]", value))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Corrupt(f"{what} is readable JSON but not of the expected shape; restore it from a back-up") from error


def _job_spec(value: dict[str, Any]) -> JobSpec:
    policy = value["policy"]
    return JobSpec(
        input=value["input"],
        max_attempts=value["max_attempts"],
        retry=RetryPolicy(**value["retry"]),
        timeout_ms=value["timeout_ms"],
        policy=PolicyContext(**{**policy, "scopes": tuple(policy["scopes"]), "egress": tuple(policy["egress"])}),
    )


def _frame_spec(value: dict[str, Any]) -> FrameSpec:
    return FrameSpec(**{**value, "deliverables": tuple(value["deliverables"])})


def _job_state(value: dict[str, Any]) -> JobState:
    failure = value["failure"]
    return JobState(
        **{
            **value,
            "failure": None if failure is None else Failure(**failure),
            "parked_on": tuple(value["parked_on"]),
        }
    )


def _frame_state(value: dict[str, Any]) -> FrameState:
    return FrameState(evidence=tuple(Evidence(**item) for item in value["evidence"]), receipts=dict(value["receipts"]))
