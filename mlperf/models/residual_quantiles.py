"""The distribution of left-out residuals, kept as at most 257 quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.models.fields import Fields

MAX_VALUES = 257
WIDEST_NORMAL = 3.5


@dataclass(frozen=True, slots=True, eq=False)
class ResidualQuantiles:
    """Quantiles of residuals of rows that the model had not seen.

    Attributes
    ----------
    probability : array, shape (n_values,)
        Increasing, inside (0, 1).
    value : array, shape (n_values,)
        Residual that a share ``probability`` of new rows stays below; not decreasing.
    n_samples : int
        Residuals behind them.
    spread : float
        Their standard deviation about the median, tails beyond the outer 1 % cut.
    """

    probability: FloatArray
    value: FloatArray
    n_samples: int
    spread: float

    @classmethod
    def of(cls, residuals: FloatArray) -> ResidualQuantiles:
        """Quantiles of residuals, shape (n_samples,); NaN are refused, infinities count as the largest finite one.

        Raises
        ------
        FitError
            Fewer than two residuals, or NaN among them.
        """
        residuals = np.asarray(residuals, dtype=np.float64).ravel()
        if len(residuals) < 2 or np.isnan(residuals).any() or not np.isfinite(residuals).any():
            raise FitError(f"got {len(residuals)} residuals, expected at least 2 and no NaN", place="left-out residuals")
        finite = residuals[np.isfinite(residuals)]
        ordered = np.sort(np.clip(residuals, finite.min(), finite.max()))
        n_samples = len(ordered)
        rank = np.arange(1, n_samples + 1) / (n_samples + 1.0)
        if n_samples <= MAX_VALUES:
            probability, value = rank, ordered
        else:
            probability = ndtr(np.linspace(-WIDEST_NORMAL, WIDEST_NORMAL, MAX_VALUES))
            value = np.interp(probability, rank, ordered)
        cut = np.clip(ordered, *np.interp([0.01, 0.99], rank, ordered))
        spread = float(np.sqrt(np.mean(np.square(cut - np.median(ordered)))))
        return cls(probability, value, n_samples, spread)

    def at(self, probability: FloatArray) -> FloatArray:
        """Residuals at these probabilities, interpolated; the outermost value beyond the outermost probability."""
        return np.asarray(np.interp(probability, self.probability, self.value), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """The quantiles as JSON types."""
        return {
            "probability": self.probability.tolist(),
            "value": self.value.tolist(),
            "n_samples": self.n_samples,
            "spread": self.spread,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> ResidualQuantiles:
        """The quantiles that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            probability = fields.numbers("probability", lower=0.0)
            value = fields.numbers("value", len(probability))
            result = cls(probability, value, fields.integer("n_samples", lower=2), fields.number("spread", lower=0.0))
        if not (np.diff(probability) > 0.0).all() or not (np.diff(value) >= 0.0).all() or not 2 <= len(value) <= MAX_VALUES:
            raise DataError("got values out of order, expected increasing probabilities and values", place=path)
        return result
