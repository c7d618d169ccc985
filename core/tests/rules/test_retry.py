"""Back-off: grows, is capped, and never overflows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodeagent import Invalid
from nodeagent.rules.retry import MAX_DELAY_MS, RetryPolicy

policies = st.builds(
    RetryPolicy,
    initial_ms=st.integers(0, 2**53 - 1),
    factor=st.floats(1, 1000) | st.integers(1, 1000),
    max_ms=st.integers(0, 2**53 - 1),
    jitter=st.floats(0, 1),
)


@given(policies, st.integers(0, 10**9), st.floats(0, 1, exclude_max=True))
def test_a_delay_is_a_whole_number_from_zero_to_the_cap(policy: RetryPolicy, attempt: int, chance: float) -> None:
    """No attempt, however high, overflows, exceeds the cap or becomes negative."""
    delay = policy.delay(attempt, chance)

    assert type(delay) is int
    assert 0 <= delay <= min(policy.max_ms, MAX_DELAY_MS)


@given(policies, st.integers(1, 2000))
def test_a_delay_never_shrinks_from_attempt_to_attempt(policy: RetryPolicy, attempt: int) -> None:
    """Without chance, a later attempt waits at least as long as an earlier one."""
    assert policy.delay(attempt + 1, 0.0) >= policy.delay(attempt, 0.0)


def test_delays_double_until_the_cap() -> None:
    """The default policy waits 1, 2, 4, … seconds, and a minute from the seventh attempt on."""
    policy = RetryPolicy(jitter=0.0)

    assert [policy.delay(n, 0.5) for n in range(1, 9)] == [
        1000,
        2000,
        4000,
        8000,
        16000,
        32000,
        60000,
        60000,
    ]


def test_jitter_takes_away_its_share_at_most() -> None:
    """With a jitter of a half, the delay lies between half and all of the full one."""
    policy = RetryPolicy(initial_ms=1000, jitter=0.5)

    assert policy.delay(1, 0.0) == 1000
    assert policy.delay(1, 0.999999) == 500


@pytest.mark.parametrize(
    "field",
    [
        {"factor": 0.5},
        {"factor": True},
        {"factor": float("nan")},
        {"jitter": 1.5},
        {"jitter": -0.1},
        {"initial_ms": -1},
        {"initial_ms": 1.5},
        {"max_ms": 2**53},
    ],
    ids=str,
)
def test_a_policy_that_makes_no_sense_is_refused(field: dict[str, Any]) -> None:
    """Each number is checked when the policy is built."""
    with pytest.raises(Invalid):
        RetryPolicy(**field)
