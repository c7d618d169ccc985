"""When a failed attempt is tried again."""

from __future__ import annotations

import math
from typing import Any, Final

from attrs import field, frozen

from nodeagent.errors import Invalid
from nodeagent.records.ids import Ms, a_count

MAX_FACTOR: Final = 1000
MAX_DELAY_MS: Final = 366 * 24 * 3600 * 1000


def _a_factor(_: Any, __: Any, value: Any) -> None:
    if type(value) not in (int, float) or not 1 <= value <= MAX_FACTOR:
        raise Invalid("factor", f"must be a number from 1 to {MAX_FACTOR}")


def _a_share(_: Any, __: Any, value: Any) -> None:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise Invalid("jitter", "must be a number from 0 to 1")


@frozen(kw_only=True)
class RetryPolicy:
    """Exponential back-off with jitter: ``initial_ms * factor ** (attempt - 1)``, at most ``max_ms``.

    ``jitter`` is the share of the delay that chance may take away, so that jobs which failed together
    do not come back together.
    """

    initial_ms: int = field(default=1_000, validator=a_count)
    factor: float = field(default=2.0, validator=_a_factor)
    max_ms: int = field(default=60_000, validator=a_count)
    jitter: float = field(default=0.5, validator=_a_share)

    def delay(self, attempt: int, chance: float) -> Ms:
        """Return the milliseconds to wait after attempt number ``attempt`` (1, 2, …).

        ``chance`` is from 0 up to 1. The cap comes before the power, so no attempt overflows.
        """
        cap = min(self.max_ms, MAX_DELAY_MS)
        if self.initial_ms == 0 or cap == 0:
            return Ms(0)
        exponent = max(attempt - 1, 0)
        is_capped = exponent * math.log(self.factor) >= math.log(max(cap / self.initial_ms, 1))
        full = cap if is_capped else min(self.initial_ms * self.factor**exponent, cap)
        return Ms(round(full * (1 - self.jitter * chance)))
