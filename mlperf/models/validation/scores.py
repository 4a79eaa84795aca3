"""What an error of a predicted time is: relative errors, R², ranks, intervals, how far halves of the repeats differ, regret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.json_fields import Fields
from mlperf.core.shown import Shown

LARGEST_RATIO = 1000.0
"""A prediction this many times off (or not positive at all) counts as this many times off in the mean log ratio."""


@dataclass(frozen=True, slots=True, eq=False)
class ErrorSummary(Shown):
    """How far predictions are from measurements, as fractions (0.05 is 5 %).

    ``mape``, ``median``, ``q3`` and ``max`` are of |predicted - measured| / measured, ``bias`` its signed mean, ``log_ratio`` the
    mean of |log(predicted / measured)|, ``kendall_tau`` the rank correlation, ``nonpositive`` the share of predictions <= 0.
    """

    n: int
    mape: float
    median: float
    q3: float
    max: float
    bias: float
    log_ratio: float
    kendall_tau: float
    nonpositive: float

    @classmethod
    def from_fields(cls, fields: Fields) -> ErrorSummary:
        """Read back `to_dict`; DataError with the JSON path of what is wrong."""
        with fields:
            rest = {name: fields.number(name, finite=False) for name in cls.__slots__ if name != "n"}
            return cls(n=fields.integer("n"), **rest)


@dataclass(frozen=True, slots=True, eq=False)
class HalvesDifference(Shown):
    """How far the medians over odd and over even rounds are from each other.

    It is no floor of errors: a model that knows the truth misses the median over all rounds by half of it where rounds are
    independent, since a half has twice the variance of the whole and a difference has that of both halves.

    Attributes
    ----------
    mape : float
        Mean relative error, a fraction; NaN below two rounds.
    median, p90 : float
        Of the relative errors.
    n_configurations, n_rounds : int
        What it rests on.
    """

    mape: float
    median: float
    p90: float
    n_configurations: int
    n_rounds: int


def relative_errors(predicted: ArrayLike, actual: ArrayLike) -> ErrorSummary:
    """Summarise |predicted - measured| / measured.

    Parameters
    ----------
    predicted, actual : array-like, shape (n_rows,)
        Same unit; ``actual`` > 0.

    Raises
    ------
    DataError
        Different lengths, no rows, or a measured value that is not positive and finite.
    """
    prediction, measured = np.asarray(predicted, dtype=float).ravel(), np.asarray(actual, dtype=float).ravel()
    if len(prediction) != len(measured) or len(measured) == 0:
        raise DataError(
            f"got {len(prediction)} predictions for {len(measured)} measurements, expected as many of both and at least one"
        )
    wrong = ~(np.isfinite(measured) & (measured > 0))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"got {float(measured[row])!r}, expected a measured value > 0",
            place=f"row {row + 1}",
            hint="A relative error needs positive measurements.",
        )
    ratio = prediction / measured
    error = np.abs(ratio - 1.0)
    return ErrorSummary(
        n=len(measured),
        mape=float(error.mean()),
        median=float(np.median(error)),
        q3=float(np.quantile(error, 0.75)),
        max=float(error.max()),
        bias=float((ratio - 1.0).mean()),
        log_ratio=mean_log_ratio(prediction, measured),
        kendall_tau=_kendall_tau(prediction, measured),
        nonpositive=float((prediction <= 0).mean()),
    )


def mean_log_ratio(predicted: FloatArray, measured: FloatArray) -> float:
    """Mean of |log(predicted / measured)|, measured values > 0; no row counts as more than `LARGEST_RATIO` times off."""
    ratio = np.clip(predicted / measured, 1.0 / LARGEST_RATIO, LARGEST_RATIO)
    return float(np.abs(np.log(ratio)).mean())


def _kendall_tau(predicted: FloatArray, measured: FloatArray) -> float:
    if len(measured) < 2:
        return float("nan")
    # Half a second of imports that many commands never need.
    from scipy.stats import kendalltau

    # Nobody reads its p-value, which takes longest where it is exact, and of two rows has no other form.
    method = "asymptotic" if len(measured) > 2 else "exact"
    return float(kendalltau(predicted, measured, method=method).statistic)


def r2(predicted: FloatArray, measured: FloatArray) -> float:
    """1 - (squared errors) / (squares about the mean of what was measured); NaN where nothing differs."""
    total = float(np.sum((measured - measured.mean()) ** 2))
    return 1.0 - float(np.sum((measured - predicted) ** 2)) / total if total > 0 else float("nan")


def adjusted_r2(predicted: FloatArray, measured: FloatArray, n_terms: int) -> float:
    """R² about the mean of the rows, adjusted for ``n_terms`` columns and a constant; NaN where too few rows are left."""
    total = float(((measured - measured.mean()) ** 2).sum())
    free = len(measured) - n_terms - 1
    if total == 0.0 or free <= 0:
        return float("nan")
    rest = float(((measured - predicted) ** 2).sum())
    return 1.0 - (rest / free) / (total / (len(measured) - 1))


def rank_correlation(predicted: FloatArray, measured: FloatArray) -> float:
    """Spearman's rank correlation; NaN where either is constant."""
    if len(measured) < 2 or np.ptp(predicted) == 0 or np.ptp(measured) == 0:
        return float("nan")
    return float(np.corrcoef(ranks(predicted), ranks(measured))[1, 0])


def ranks(values: ArrayLike) -> FloatArray:
    """Ranks from 1, equal values their mean rank; NaN where a value is NaN."""
    return np.asarray(pd.Series(np.asarray(values)).rank(), dtype=float)


def coverage(lower: FloatArray, upper: FloatArray, measured: FloatArray) -> float:
    """Share of the rows inside their interval, of those that have one; NaN where none has."""
    known = ~np.isnan(lower)
    return float(((lower <= measured) & (measured <= upper))[known].mean()) if known.any() else float("nan")


def half_width(lower: FloatArray, upper: FloatArray, size: FloatArray) -> float:
    """Median of half the interval over ``size`` (the predictions, > 0), of rows that have an interval; NaN where none has."""
    known = ~np.isnan(lower)
    return float(np.median(((upper - lower) / (2.0 * size))[known])) if known.any() else float("nan")


def halves_difference(
    frame: pd.DataFrame, keys: Sequence[str], value: str, *, order: str | None = None, by_number: bool = False
) -> HalvesDifference:
    """Compare the medians of odd and of even repeats of every configuration (see `HalvesDifference`).

    Parameters
    ----------
    frame : DataFrame
        One row per repeat.
    keys : sequence of str
        Columns that make a configuration.
    value : str
        Column of positive measurements.
    order : str, optional
        Column that numbers the repeats (a round); default is the order of the rows.
    by_number : bool
        Whether a row is odd where its number in ``order`` is; otherwise every second repeat of a configuration is, whatever its
        number.
    """
    ordered = frame.sort_values(order, kind="stable") if order else frame
    repeats = ordered.groupby(list(keys), observed=True).cumcount()
    is_odd = (ordered[order] if by_number else repeats) % 2 == 1
    halves = [part.groupby(list(keys), observed=True)[value].median() for part in (ordered[is_odd], ordered[~is_odd])]
    both = pd.concat(halves, axis=1, keys=["odd", "even"], join="inner")
    n_rounds = int(ordered[order].nunique() if order else repeats.max() + 1)
    if both.empty:
        return HalvesDifference(float("nan"), float("nan"), float("nan"), 0, n_rounds)
    errors = (both["odd"] / both["even"] - 1).abs().to_numpy(float)
    return HalvesDifference(float(errors.mean()), float(np.median(errors)), float(np.quantile(errors, 0.9)), len(errors), n_rounds)


def regret(predicted: ArrayLike, actual: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
    """Measured time of the configuration we would choose over the best measured one, minus 1.

    Parameters
    ----------
    predicted, actual : array-like, shape (n_rows,)
        Times of the candidates.
    groups : array-like, optional
        One choice per group, in sorted order; default one choice among all rows.

    Returns
    -------
    array, shape (n_groups,)
        0 where the choice was the best.
    """
    prediction, measured = np.asarray(predicted, dtype=float), np.asarray(actual, dtype=float)
    codes, names = pd.factorize(np.zeros(len(measured)) if groups is None else np.asarray(groups), sort=True)
    rows = [np.flatnonzero(codes == number) for number in range(len(names))]
    return np.array([measured[row[np.argmin(prediction[row])]] / measured[row].min() - 1.0 for row in rows])
