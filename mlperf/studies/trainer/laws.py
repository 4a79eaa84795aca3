"""What a component's time does with its size where few sizes were measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray

APART = 1.5
"""Sizes closer than this factor do not tell a slope beyond the measured ones."""


@dataclass(frozen=True, slots=True)
class Law:
    """time = ``intercept_s`` + ``coefficient`` * size, seconds."""

    coefficient: float
    intercept_s: float = 0.0

    def __call__(self, size: FloatArray) -> FloatArray:
        """Seconds at each size, shape of ``size``."""
        return np.asarray(self.intercept_s + self.coefficient * np.asarray(size, float))


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Times of a vector operation over its length, for machines with caches.

    Straight lines between measured lengths. Above the largest the marginal cost stays: out of the caches a further byte costs the
    same. Below the smallest the time is a power of the length: a line through two lengths on either side of a cache's end has a
    negative constant, and so negative times. With one length it is a proportion.

    Parameters
    ----------
    sizes : array, shape (n_sizes,)
        Increasing, > 0.
    times_s : array, shape (n_sizes,)
        Mean seconds at each.
    """

    sizes: FloatArray
    times_s: FloatArray

    def __call__(self, size: FloatArray) -> FloatArray:
        """Seconds at each size, shape of ``size``."""
        size = np.asarray(size, float)
        first, last = self.sizes[0], self.sizes[-1]
        inside = np.interp(size, self.sizes, self.times_s)
        above = self.times_s[-1] + self._marginal_s() * (size - last)
        below = self.times_s[0] * (size / first) ** self._exponent()
        return np.asarray(np.where(size > last, above, np.where(size < first, below, inside)))

    def scaled(self, factor: float) -> Curve:
        """The same shape ``factor`` times as high: another operation on vectors, which leave the caches at the same lengths."""
        return Curve(self.sizes, factor * self.times_s)

    def _marginal_s(self) -> float:
        far = self.sizes <= self.sizes[-1] / APART
        if not far.any():
            return float(self.times_s[-1] / self.sizes[-1])
        other = int(np.flatnonzero(far)[-1])
        return float((self.times_s[-1] - self.times_s[other]) / (self.sizes[-1] - self.sizes[other]))

    def _exponent(self) -> float:
        far = self.sizes >= APART * self.sizes[0]
        if not far.any():
            return 1.0
        other = int(np.flatnonzero(far)[0])
        return float(np.log(self.times_s[other] / self.times_s[0]) / np.log(self.sizes[other] / self.sizes[0]))


def curve(size: FloatArray, time_s: FloatArray) -> Curve:
    """Mean time at each size that was measured."""
    sizes, place = np.unique(size, return_inverse=True)
    return Curve(sizes, np.bincount(place, weights=time_s) / np.bincount(place))


def proportional(size: FloatArray, time_s: FloatArray) -> Law:
    """Time proportional to size: the mean of time over size."""
    return Law(float(np.mean(time_s / size)))


def straight_line(size: FloatArray, time_s: FloatArray) -> Law:
    """Time as a constant and a part proportional to size; proportional where one size was measured or a part were negative."""
    if len(np.unique(size)) < 2:
        return proportional(size, time_s)
    slope, intercept_s = np.polyfit(size, time_s, 1)
    if slope < 0.0 or intercept_s < 0.0:
        return proportional(size, time_s)
    return Law(float(slope), float(intercept_s))
