"""Readings of one clock between two of another: how far apart they are, and how well that is known."""

from __future__ import annotations

import time
from dataclasses import dataclass

READINGS = 16


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One reading of CLOCK_REALTIME that lies between two of CLOCK_MONOTONIC, nanoseconds.

    Attributes
    ----------
    before_ns, after_ns : int
        CLOCK_MONOTONIC.
    realtime_ns : int
        Since 1970.
    """

    before_ns: int
    realtime_ns: int
    after_ns: int

    @property
    def offset_ns(self) -> int:
        """What CLOCK_REALTIME is ahead: the middle of what is possible."""
        return self.realtime_ns - (self.before_ns + self.after_ns) // 2

    @property
    def uncertainty_ns(self) -> int:
        """Half of what is possible."""
        return (self.after_ns - self.before_ns + 1) // 2


def read_clocks() -> ClockReading:
    """The tightest of several readings."""
    found = [ClockReading(time.monotonic_ns(), time.time_ns(), time.monotonic_ns()) for _ in range(READINGS)]
    return min(found, key=lambda each: each.after_ns - each.before_ns)
