"""The distribution of left-out residuals, kept as at most 129 quantiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from mlperf.core.arrays import FloatArray, rounded
from mlperf.core.errors import DataError, FitError
from mlperf.core.json_fields import Fields

MAX_VALUES = 129
DIGITS = 6
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
        probability = _probabilities(n_samples)
        value = rounded(np.interp(probability, rank, ordered), DIGITS)
        cut = np.clip(ordered, *np.interp([0.01, 0.99], rank, ordered))
        spread = float(np.sqrt(np.mean(np.square(cut - np.median(ordered)))))
        return cls(probability, value, n_samples, spread)

    def at(self, probability: FloatArray) -> FloatArray:
        """Residuals at these probabilities, interpolated; the outermost value beyond the outermost probability."""
        return np.asarray(np.interp(probability, self.probability, self.value), dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """The quantiles as JSON types; their probabilities follow from the number of residuals."""
        return {"value": self.value.tolist(), "n_samples": self.n_samples, "spread": self.spread}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> ResidualQuantiles:
        """The quantiles that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            n_samples = fields.integer("n_samples", lower=2)
            value = fields.numbers("value", min(n_samples, MAX_VALUES))
            spread = fields.number("spread", lower=0.0)
        if not (np.diff(value) >= 0.0).all():
            raise DataError("got values out of order, expected them to rise", place=f"{path}.value")
        return cls(_probabilities(n_samples), value, n_samples, spread)


def _probabilities(n_samples: int) -> FloatArray:
    """Ranks over n + 1, or of many residuals as many quantiles evenly spaced on the normal scale."""
    if n_samples <= MAX_VALUES:
        return np.arange(1, n_samples + 1) / (n_samples + 1.0)
    return np.asarray(ndtr(np.linspace(-WIDEST_NORMAL, WIDEST_NORMAL, MAX_VALUES)))
