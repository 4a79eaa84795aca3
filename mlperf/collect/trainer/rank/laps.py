"""A stopwatch: seconds since the last reading."""

from __future__ import annotations

from time import perf_counter


class Laps:
    """Elapsed times of consecutive stretches; the wall clock, since waiting is what is measured."""

    __slots__ = ("last_s", "start_s")

    def __init__(self) -> None:
        self.start_s = self.last_s = perf_counter()

    def __call__(self) -> float:
        """Seconds since the last call, or since the start."""
        now = perf_counter()
        lap, self.last_s = now - self.last_s, now
        return lap
