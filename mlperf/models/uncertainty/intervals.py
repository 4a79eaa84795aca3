"""Two intervals that are never mixed: confidence of the mean, and prediction of a run (or of the mean of r runs)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles

KINDS = ("mean", "run")
NOISES = ("absolute", "relative", "log")


@dataclass(frozen=True, slots=True, eq=False)
class Interval(Shown):
    """Lower and upper bound, in the unit of the response, arrays of one shape; ``level`` is the coverage asked for (0.95)."""

    lower: FloatArray
    upper: FloatArray
    level: float

    def to_frame(self) -> pd.DataFrame:
        """One row a prediction."""
        return pd.DataFrame({"lower": np.atleast_1d(self.lower), "upper": np.atleast_1d(self.upper)})

    def including(self, other: Interval) -> Interval:
        """The smallest interval that holds both, where a bound of ``other`` is known."""
        return Interval(np.fmin(self.lower, other.lower), np.fmax(self.upper, other.upper), self.level)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> Interval:
        """The interval that `to_dict` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            lower = fields.numbers("lower", finite=False)
            return cls(lower, fields.numbers("upper", len(lower), finite=False), fields.number("level", lower=0.0, upper=1.0))


def check_kind(kind: str, level: float, mean_of: int = 1) -> None:
    """Raise UsageError unless kind is "mean" or "run", 0 < level < 1 and mean_of >= 1."""
    if kind not in KINDS:
        raise UsageError(f"got kind={kind!r}, expected one of {', '.join(KINDS)}", place="predict_interval")
    if not 0.0 < level < 1.0:
        raise UsageError(f"got level={level}, expected a fraction between 0 and 1", place="predict_interval", hint="95 % is 0.95.")
    if mean_of < 1:
        raise UsageError(f"got mean_of={mean_of}, expected at least 1 run", place="predict_interval")


def student_interval(centre: FloatArray, std_err: FloatArray, df: float, level: float) -> Interval:
    """Centre plus and minus the Student quantile times the standard error.

    Parameters
    ----------
    centre, std_err : array, shape (n_rows,)
        Same unit.
    df : float
        Residual degrees of freedom of the sigma inside ``std_err``; inf for a known sigma.
    level : float
        Coverage, 0.95.
    """
    if not df > 0.0:
        raise FitError(
            f"got {df:g} residual degrees of freedom, expected at least 1", hint="Measure more rows than the model has terms."
        )
    half = float(stdtrit(min(df, 1e9), 0.5 + level / 2.0)) * std_err
    return Interval(centre - half, centre + half, level)


def run_std_err(std_err_mean: FloatArray, sigma: float, centre: FloatArray, noise: str, mean_of: int = 1) -> FloatArray:
    """Standard error of a run's prediction: that of the mean and the run's own noise.

    Parameters
    ----------
    std_err_mean : array, shape (n_rows,)
        Standard error of the fitted mean; of its logarithm where ``noise`` is log.
    sigma : float
        Residual standard deviation: in the unit of y (absolute), as a fraction (relative), of log y (log).
    centre : array, shape (n_rows,)
        Predictions; only their size matters, and only for relative noise.
    noise : {"absolute", "relative", "log"}
    mean_of : int
        The mean of this many runs is predicted.

    Returns
    -------
    array, shape (n_rows,)
    """
    own = sigma * np.abs(centre) if noise == "relative" else np.full_like(centre, sigma)
    return np.sqrt(np.square(std_err_mean) + np.square(own) / mean_of)


def conformal_interval(
    centre: FloatArray, residuals: ResidualQuantiles, noise: str, level: float, shrink: float | FloatArray = 1.0
) -> Interval:
    """Prediction of a run from the residuals of rows that were left out; of many without a normal assumption.

    Parameters
    ----------
    centre : array, shape (n_rows,)
        Predictions, on the scale of the residuals (log y where ``noise`` is log).
    residuals : ResidualQuantiles
        Of y - prediction (absolute), y / prediction - 1 (relative) or log y - prediction (log), rows left out by whole groups.
    noise : {"absolute", "relative", "log"}
    level : float
        Coverage.
    shrink : float or array, shape (n_rows,)
        What the residuals are multiplied by: the size expected at each row where they were divided by theirs.

    Returns
    -------
    Interval
        On the scale of ``centre``. Covers ``level`` of new rows that come in groups like those of the training rows; below
        2 / (1 - level) residuals (39 for 95 %) under a normal assumption, see `ResidualQuantiles.bounds`.

    References
    ----------
    Barber, Candes, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+; the residuals of fold models
    about the final model ("jackknife" there).
    """
    lower, upper = residuals.bounds(level, fractions=noise == "relative")
    size = shrink * (np.abs(centre) if noise == "relative" else np.ones_like(centre))
    return Interval(centre + size * lower, centre + size * upper, level)


def cv_plus_interval(
    fold_predictions: FloatArray, fold_of: IntArray, residuals: FloatArray, level: float, *, relative: bool
) -> Interval:
    """CV+ interval: quantiles of every fold model's prediction plus and minus the size of every residual that it left out.

    Parameters
    ----------
    fold_predictions : array, shape (n_folds, n_rows)
        Each fold model's prediction of the new rows.
    fold_of : array of int, shape (n_samples,)
        Fold that left out each training row.
    residuals : array, shape (n_samples,)
        y - prediction of the model that left the row out; divided by that prediction where ``relative``.
    level : float
        Coverage 1 - a aimed at; at least 1 - 2 a is guaranteed for exchangeable groups, without a normal assumption.
    relative : bool
        Whether residuals are fractions of the prediction.

    Returns
    -------
    Interval
        Shape (n_rows,); infinite where ``level`` asks for more than n_samples residuals can say.

    References
    ----------
    Barber, Candes, Ramdas and Tibshirani (2021), Predictive inference with the jackknife+, eq. 1.4 and section 3 (CV+).
    """
    shown = fold_predictions[fold_of]
    size = np.abs(residuals)[:, None] * (np.abs(shown) if relative else 1.0)
    n_samples = len(residuals)
    rank = int(np.ceil((n_samples + 1) * level))
    if rank > n_samples:
        infinite = np.full(fold_predictions.shape[1], np.inf)
        return Interval(-infinite, infinite, level)
    upper = np.partition(shown + size, rank - 1, axis=0)[rank - 1]
    lower = np.partition(shown - size, n_samples - rank, axis=0)[n_samples - rank]
    return Interval(lower, upper, level)
