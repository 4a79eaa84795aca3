"""The distribution of left-out residuals, kept as at most 129 quantiles; of few, what Student's t makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, stdtrit

from mlperf.core.arrays import FloatArray, rounded
from mlperf.core.errors import DataError, FitError
from mlperf.core.json_fields import Fields

MAX_VALUES = 129
DIGITS = 6
WIDEST_NORMAL = 3.5
USUAL_LEVEL = 0.95
"""Of the intervals that decide which errors a fit of few rows keeps: 39 residuals have its ranks."""
LEAST_DF = 3
"""Of draws, whose mean and spread must exist."""
LOWEST_FRACTION = -0.99
"""No measured time is below a hundredth of its prediction for other reasons than a wrong prediction."""


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
    n_parameters : int
        Fitted to the rows that the residuals are of; as many degrees of freedom fewer do their squares have.
    """

    probability: FloatArray
    value: FloatArray
    n_samples: int
    spread: float
    n_parameters: int = 1

    @classmethod
    def of(cls, residuals: FloatArray, n_parameters: int = 1) -> ResidualQuantiles:
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
        return cls(probability, value, n_samples, spread, n_parameters)

    def at(self, probability: FloatArray) -> FloatArray:
        """Residuals at these probabilities, interpolated; the outermost value beyond the outermost probability."""
        return np.asarray(np.interp(probability, self.probability, self.value), dtype=np.float64)

    def bounds(self, level: float, *, fractions: bool = False) -> tuple[float, float]:
        """Bounds between which a share ``level`` of new rows' residuals falls, as many below as above.

        Ranks of the residuals need no distribution, but those of n residuals leave at least 1 / (n + 1) on each side. Where that is
        too much Student's t is taken with the root mean square of the residuals; never less than the outermost.

        Parameters
        ----------
        level : float
        fractions : bool
            Whether residuals are y / prediction - 1: Student's t is then taken of their log(1 + residual), which is symmetric and
            leaves times positive.
        """
        lower, upper = (float(bound) for bound in self.at(np.array([0.5 - level / 2.0, 0.5 + level / 2.0])))
        if has_ranks(self.n_samples, level):
            return lower, upper
        df = max(self.n_samples - self.n_parameters, 1)
        half = float(stdtrit(df, 0.5 + level / 2.0)) * self._root_mean_square(fractions)
        below, above = (np.expm1(-half), np.expm1(half)) if fractions else (-half, half)
        return min(lower, float(below)), max(upper, float(above))

    def _root_mean_square(self, fractions: bool) -> float:
        """About zero: a prediction that is always too low is part of the error."""
        if self.n_samples > MAX_VALUES:
            return float(np.hypot(self.spread, self.at(np.array(0.5))))
        values = np.log1p(np.maximum(self.value, LOWEST_FRACTION)) if fractions else self.value
        return float(np.sqrt(np.mean(np.square(values))))

    def to_dict(self) -> dict[str, Any]:
        """The quantiles as JSON types; their probabilities follow from the number of residuals."""
        kept = {"value": self.value.tolist(), "n_samples": self.n_samples, "spread": self.spread}
        # Files of earlier releases say nothing of it, and are written again as they were.
        return kept if self.n_parameters == 1 else kept | {"n_parameters": self.n_parameters}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> ResidualQuantiles:
        """The quantiles that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            n_samples = fields.integer("n_samples", lower=2)
            value = fields.numbers("value", min(n_samples, MAX_VALUES))
            spread = fields.number("spread", lower=0.0)
            n_parameters = 1 if fields.missing("n_parameters") else fields.integer("n_parameters")
        if not (np.diff(value) >= 0.0).all():
            raise DataError("got values out of order, expected them to rise", place=f"{path}.value")
        return cls(_probabilities(n_samples), value, n_samples, spread, n_parameters)


def has_ranks(n_samples: int, level: float) -> bool:
    """Whether ranks of so many residuals can leave as little as (1 - level) / 2 on each side; 39 can for 95 %."""
    # Rounding of 1 - level must not ask for one more.
    return (n_samples + 1) * (1.0 - level) >= 2.0 - 1e-9


def log_ratio_bound(log_ratios: FloatArray, level: float, n_parameters: int = 1) -> float:
    """Bound that |log(measured / predicted)| of a new row stays within with probability ``level``; NaN without any row.

    The rank of the absolute values that needs no distribution, from level / (1 - level) rows on: 19 for 95 %. Fewer have no such
    rank: Student's t with their root mean square, never less than the largest.

    Parameters
    ----------
    log_ratios : array, shape (n_rows,)
        Of rows left out; those that are not finite said nothing and are passed over.
    level : float
        In (0, 1).
    n_parameters : int
        Fitted to the rows that the ratios are of.

    References
    ----------
    Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-free predictive inference for regression.
    """
    sizes = np.sort(np.abs(log_ratios[np.isfinite(log_ratios)]))
    n_rows = len(sizes)
    if not n_rows:
        return float("nan")
    # Rounding of the product must not ask for one more.
    place = int(np.ceil((n_rows + 1) * level - 1e-9)) - 1
    if place < n_rows:
        return float(sizes[place])
    return max(float(sizes[-1]), student_bound(sizes, level, n_parameters))


def student_bound(residuals: FloatArray, level: float, n_parameters: int = 1) -> float:
    """Student's t times the root mean square of residuals about zero, with one degree of freedom fewer for each parameter.

    Parameters
    ----------
    residuals : array, shape (n_rows,)
        At least one, finite; the bound is in their unit.
    level : float
        In (0, 1).
    n_parameters : int
        Fitted to the rows that the residuals are of.
    """
    df = max(len(residuals) - n_parameters, 1)
    return float(stdtrit(df, 0.5 + level / 2.0) * np.sqrt(np.mean(np.square(residuals))))


def draw_residuals(residuals: FloatArray, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Errors of new rows: left-out ones drawn again; of too few for ranks, Student's t with their root mean square.

    Parameters
    ----------
    residuals : array, shape (n_rows,)
        Of rows left out, at least one; the draws are in their unit.
    shape : tuple of int
        Of the draws.
    rng : Generator
    """
    if has_ranks(len(residuals), USUAL_LEVEL):
        return np.asarray(rng.choice(residuals, size=shape))
    df = max(len(residuals) - 1, LEAST_DF)
    return np.asarray(np.sqrt(np.mean(np.square(residuals))) * rng.standard_t(df, size=shape))


def _probabilities(n_samples: int) -> FloatArray:
    """Ranks over n + 1, or of many residuals as many quantiles evenly spaced on the normal scale."""
    if n_samples <= MAX_VALUES:
        return np.arange(1, n_samples + 1) / (n_samples + 1.0)
    return np.asarray(ndtr(np.linspace(-WIDEST_NORMAL, WIDEST_NORMAL, MAX_VALUES)))
