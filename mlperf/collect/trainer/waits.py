"""Waits in place of work: durations drawn from measured rounds, slept at normal priority."""

from __future__ import annotations

import ctypes
import math
import statistics
import time
from collections.abc import Sequence

import numpy as np

LAST_S = 1e-3
"""A long sleep wakes later than a short one: the last millisecond of each wait is slept by itself."""

CALIBRATION_SLEEPS = 30
PR_SET_TIMERSLACK = 29
FINEST_SLACK_NS = 1


def wake_promptly() -> bool:
    """Ask the system not to gather this thread's wake-ups with others; threads started later inherit it. Priority stays normal.

    Returns
    -------
    bool
        Whether it was granted; by default Linux wakes a sleeper up to 50 us late.
    """
    return bool(ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(FINEST_SLACK_NS)) == 0)


class Sleeper:
    """Sleeps for one thread, in two parts so that the second makes up for the first; never polls.

    What the system usually oversleeps is subtracted beforehand.

    Parameters
    ----------
    correction_s : float
        Of `usual_overshoot_s`.

    Attributes
    ----------
    overshoots_s : list of float
        Time slept less time asked for, one entry a wait.
    """

    def __init__(self, correction_s: float) -> None:
        self._correction_s = correction_s
        self.overshoots_s: list[float] = []

    def __call__(self, duration_s: float, start_s: float | None = None) -> None:
        """Sleep until ``duration_s`` after ``start_s`` (a reading of the performance counter), or after now."""
        end_s = (time.perf_counter() if start_s is None else start_s) + duration_s
        if duration_s > 2.0 * LAST_S:
            time.sleep(duration_s - LAST_S)
        time.sleep(max(0.0, end_s - time.perf_counter() - self._correction_s))
        self.overshoots_s.append(time.perf_counter() - end_s)


def usual_overshoot_s() -> float:
    """Median by which a wait of some milliseconds is too long on this machine now."""
    sleeper = Sleeper(0.0)
    for _ in range(CALIBRATION_SLEEPS):
        sleeper(3.0 * LAST_S)
    return statistics.median(sleeper.overshoots_s)


class Wait:
    """One component that is waited for instead of done.

    Parameters
    ----------
    rounds_s : sequence of float
        Measured durations; each wait is one of them, all equally likely.
    rng : numpy Generator
        Draws them.
    sleeper : Sleeper
        Of the thread that waits.
    """

    def __init__(self, rounds_s: Sequence[float], rng: np.random.Generator, sleeper: Sleeper) -> None:
        self._rounds_s = tuple(rounds_s)
        self._rng = rng
        self._sleeper = sleeper

    def __call__(self, *_: object) -> float:
        """Wait; there is no loss to return. The draw is part of the wait."""
        start_s = time.perf_counter()
        self._sleeper(self._rounds_s[self._rng.integers(len(self._rounds_s))], start_s)
        return math.nan
