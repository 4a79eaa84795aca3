"""The moments at which samples are due, and how a watched command is interrupted."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any


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


NOTED = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """Within the block the first SIGINT or SIGTERM is only noted; the second one interrupts.

    Outside the main thread signals are not ours, and nothing is changed.

    Attributes
    ----------
    came : bool
        Whether one was noted.
    """

    def __init__(self) -> None:
        self.came = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in NOTED}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a handler's signature
        if self.came:
            raise KeyboardInterrupt
        self.came = True
