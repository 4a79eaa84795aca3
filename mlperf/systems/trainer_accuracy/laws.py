"""One-size laws: what a component's time does with its size where one or two sizes were measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Law:
    """time = ``intercept_s`` + ``coefficient`` * size ** ``exponent``, seconds."""

    coefficient: float
    exponent: float = 1.0
    intercept_s: float = 0.0

    def __call__(self, size: FloatArray) -> FloatArray:
        """Seconds at each size, shape of ``size``."""
        return np.asarray(self.intercept_s + self.coefficient * np.asarray(size, float) ** self.exponent)


def proportional(size: FloatArray, time_s: FloatArray) -> Law:
    """Time proportional to size: the mean of time over size."""
    return Law(float(np.mean(time_s / size)))


def power_law(size: FloatArray, time_s: FloatArray) -> Law:
    """Time as a power of size, least squares of the logarithms; proportional where one size was measured.

    A vector that leaves a cache costs more a byte: between two sizes the exponent is above 1. A straight line through them has a
    negative intercept, and so negative times at the next smaller share.
    """
    if len(np.unique(size)) < 2:
        return proportional(size, time_s)
    exponent, log_coefficient = np.polyfit(np.log(size), np.log(time_s), 1)
    return Law(float(np.exp(log_coefficient)), float(exponent))


def straight_line(size: FloatArray, time_s: FloatArray) -> Law:
    """Time as a constant and a part proportional to size; proportional where one size was measured or a part were negative."""
    if len(np.unique(size)) < 2:
        return proportional(size, time_s)
    slope, intercept_s = np.polyfit(size, time_s, 1)
    if slope < 0.0 or intercept_s < 0.0:
        return power_law(size, time_s)
    return Law(float(slope), 1.0, float(intercept_s))
