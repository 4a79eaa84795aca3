"""What an error of a predicted time is: relative errors, the noise floor, regret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import kendalltau

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
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
class NoiseFloor(Shown):
    """The error that no model can go below: odd repeats against even repeats of the same configuration, as fractions.

    ``mape`` compares medians, ``pooled_cv`` is the pooled coefficient of variation of one repeat, over ``n_configurations`` with at
    least two repeats.
    """

    mape: float
    pooled_cv: float
    n_configurations: int


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
            place=f"row {row}",
            hint="A relative error needs positive measurements.",
        )
    ratio = prediction / measured
    error = np.abs(ratio - 1.0)
    log_ratio = np.abs(np.log(np.clip(ratio, 1.0 / LARGEST_RATIO, LARGEST_RATIO)))
    tau = float(kendalltau(prediction, measured).statistic) if len(measured) > 1 else float("nan")
    return ErrorSummary(
        n=len(measured),
        mape=float(error.mean()),
        median=float(np.median(error)),
        q3=float(np.quantile(error, 0.75)),
        max=float(error.max()),
        bias=float((ratio - 1.0).mean()),
        log_ratio=float(log_ratio.mean()),
        kendall_tau=tau,
        nonpositive=float((prediction <= 0).mean()),
    )


def noise_floor(frame: pd.DataFrame, keys: Sequence[str], value: str, order: str | None = None) -> NoiseFloor:
    """Compare the medians of odd and of even repeats of every configuration.

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

    Raises
    ------
    FitError
        No configuration has two repeats.
    """
    ordered = frame.sort_values(order, kind="stable") if order else frame
    groups = ordered.groupby(list(keys), sort=True, observed=True)[value]
    table = ordered.assign(is_odd=groups.cumcount() % 2 == 1, n_repeats=groups.transform("size"))
    table = table[table["n_repeats"] > 1]
    if table.empty:
        raise FitError(
            "got one repeat per configuration, expected at least 2",
            hint="Measure each configuration twice to know the noise floor.",
        )
    medians = table.groupby([*keys, "is_odd"], sort=True, observed=True)[value].median().unstack("is_odd")
    spread = table.groupby(list(keys), sort=True, observed=True)[value].agg(["mean", "var", "size"])
    squared_cv = spread["var"] / spread["mean"] ** 2
    degrees = spread["size"] - 1
    return NoiseFloor(
        mape=relative_errors(medians[True], medians[False]).mape,
        pooled_cv=float(np.sqrt((squared_cv * degrees).sum() / degrees.sum())),
        n_configurations=len(medians),
    )


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
