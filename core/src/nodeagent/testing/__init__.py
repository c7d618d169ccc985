"""For tests of applications and providers: a clock to turn by hand, and crashes at a chosen call.

Nothing in here needs a test framework.
"""

from nodeagent.testing.clock import ManualClock, SkewedClock
from nodeagent.testing.crash import Crash, CrashAt

__all__ = ["Crash", "CrashAt", "ManualClock", "SkewedClock"]
