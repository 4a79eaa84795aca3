"""Discrete distributions of counts: mini-batch sizes, staleness, buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.shown import Shown

SUM_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Distribution(Shown):
    """Probabilities of increasing values.

    Parameters
    ----------
    values : array, shape (n_values,)
        Strictly increasing; the unit is that of the quantity (samples, updates, buffers).
    probabilities : array, shape (n_values,)
        >= 0; they sum to 1 within 1e-6 and are normalised.

    Raises
    ------
    DataError
        Values do not increase, a probability is negative, or the sum is off.
    """

    values: FloatArray
    probabilities: FloatArray

    def __post_init__(self) -> None:
        values, probabilities = (np.asarray(given, dtype=np.float64) for given in (self.values, self.probabilities))
        matching = values.ndim == 1 and values.shape == probabilities.shape and values.size > 0
        if not matching or (np.diff(values) <= 0.0).any():
            sizes = f"values {values.shape} and probabilities {probabilities.shape}"
            raise DataError(f"got {sizes}, expected increasing values, one probability each")
        total = probabilities.sum()
        if not abs(total - 1.0) <= SUM_TOLERANCE or (probabilities < 0.0).any():
            raise DataError(f"got probabilities with sum {total!r} and minimum {probabilities.min()!r}, expected a distribution")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "probabilities", probabilities / total)

    @classmethod
    def from_counts(cls, counts: IntArray | FloatArray, scale: float = 1.0) -> Distribution:
        """Relative frequencies of 0, 1, 2, ... times ``scale``; trailing zeros are dropped."""
        last = int(np.flatnonzero(counts)[-1])
        weights = np.asarray(counts[: last + 1], dtype=np.float64)
        return cls(scale * np.arange(last + 1, dtype=np.float64), weights / weights.sum())

    @classmethod
    def from_sample(cls, sample: FloatArray | IntArray) -> Distribution:
        """Relative frequencies of the values seen."""
        values, counts = np.unique(np.asarray(sample, dtype=np.float64), return_counts=True)
        return cls(values, counts / counts.sum())

    @property
    def mean(self) -> float:
        """Expected value of the distribution."""
        return float(self.values @ self.probabilities)

    @property
    def std(self) -> float:
        """Standard deviation of the distribution."""
        return float(np.sqrt(np.maximum((self.values - self.mean) ** 2 @ self.probabilities, 0.0)))

    def cdf(self, value: float) -> float:
        """Probability P(X <= value)."""
        return float(self.probabilities[: np.searchsorted(self.values, value, side="right")].sum())

    def quantile(self, level: float | Sequence[float]) -> float | FloatArray:
        """The smallest value with P(X <= value) >= level.

        Raises
        ------
        UsageError
            A level outside [0, 1].
        """
        levels = np.asarray(level, dtype=np.float64)
        if ((levels < 0.0) | (levels > 1.0)).any():
            raise UsageError(f"got quantile level {level!r}, expected 0 to 1")
        place = np.searchsorted(np.cumsum(self.probabilities), levels - 1e-12)
        found = self.values[np.minimum(place, self.values.size - 1)]
        return float(found) if np.ndim(level) == 0 else np.asarray(found)

    def total_variation(self, other: Distribution) -> float:
        """Half the sum of absolute differences of the probabilities: 0 equal, 1 disjoint."""
        values = np.union1d(self.values, other.values)
        return 0.5 * float(np.abs(self._on(values) - other._on(values)).sum())

    def _on(self, values: FloatArray) -> FloatArray:
        spread = np.zeros(values.size)
        spread[np.searchsorted(values, self.values)] = self.probabilities
        return spread


def power_of_pmf(pmf: FloatArray, n_copies: int) -> FloatArray:
    """Probabilities of the sum of ``n_copies`` independent counts with probabilities ``pmf`` of 0, 1, 2, ..."""
    size = (pmf.size - 1) * n_copies + 1
    spectrum = np.fft.rfft(pmf, size) ** n_copies
    summed = np.maximum(np.fft.irfft(spectrum, size), 0.0)
    return np.asarray(summed / summed.sum())
