"""The moments at which samples are due."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator


def ticks(
    interval_s: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], bool] | None = None,
) -> Iterator[float]:
    """Seconds since the start at which a sample is due, each given when it has come.

    A moment that was missed is passed over, so that late samples do not come in bursts.

    Parameters
    ----------
    interval_s : float
        Time between two samples.
    clock : callable
        Seconds that only go forwards.
    sleep : callable
        Waits so many seconds, or less; true where waiting is over for good. Default plain sleep.

    Yields
    ------
    float
        Time of the sample by the clock, seconds since the start.
    """
    sleep = sleep or plain_sleep
    start = clock()
    number = 0
    while True:
        left = start + number * interval_s - clock()
        while left > 0.0:
            if sleep(left):
                return
            left = start + number * interval_s - clock()
        now = clock() - start
        yield now
        number = max(number + 1, math.ceil((clock() - start) / interval_s))


def plain_sleep(seconds: float) -> bool:
    """Sleep; it is never over for good."""
    time.sleep(seconds)
    return False
