"""Sums of predicted rows, such as the layers of a network, with intervals that know which errors the rows share."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtri

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.models.uncertainty.intervals import Interval
from mlperf.models.uncertainty.residual_quantiles import USUAL_LEVEL, ResidualQuantiles, has_ranks
from mlperf.training.table.table_fit import RowAnswers, TableFit
from mlperf.training.table.table_model import TableModel

N_DRAWN = 512
"""Quantiles of the errors that make up a row's mean and variance, and rows above which a curve tells them."""


def group_sums(model: TableModel, rows: pd.DataFrame, by: str, answers: RowAnswers, inside: BoolArray) -> pd.DataFrame:
    """Sum the predictions of rows with an equal value of a column.

    The error of a row has three parts: what every row of the group shares (errors of the coefficients, and of a new group as the
    left-out ones had), what equal rows share (the form of the model), and the run's own noise. Variances of the last are added, in
    each of the others standard deviations are. Mean and variance of a row are those of the left-out errors, however skewed: a few
    runs that take twice as long make every sum longer, but the middle of no row's interval. A sum is taken for log-normal, or
    normal where errors are absolute, and its interval holds the prediction.

    Parameters
    ----------
    model : TableModel
    rows : DataFrame, shape (n_rows, ...)
    by : str
    answers : RowAnswers
        Of every row, NaN where one is not predicted.
    inside : array of bool, shape (n_rows,)
        Rows that count as measured in the shares; the intervals are those of ``answers``.

    Returns
    -------
    DataFrame
        One row a group, in order of appearance: its value, ``n_rows``, ``n_predicted``, ``predicted_T``, ``lower_T``, ``upper_T``
        (an interval of the sum of one run of each row), where the target T is known of every row ``measured_T`` and
        ``relative_error``, then ``rows_in_domain_share`` and ``total_in_domain_share``: what share of the rows, and of the
        predicted total, was measured.

    References
    ----------
    Fenton (1960), The sum of log-normal probability distributions in scatter transmission systems.
    """
    codes, names = pd.factorize(rows[by], use_na_sentinel=False)
    predicted = answers.predicted
    target, known = model.target, np.isfinite(predicted)
    found = pd.DataFrame({by: names, "n_rows": np.bincount(codes, minlength=len(names))})
    total = _added(codes, np.where(known, predicted, 0.0), len(names))
    covered = _added(codes, np.where(inside, predicted, 0.0), len(names))
    found["n_predicted"] = _added(codes, known.astype(float), len(names)).astype(int)
    told = np.where(found["n_predicted"].to_numpy() > 0, total, np.nan)
    found[f"predicted_{target}"] = told
    bounds = _bounds(model, rows, codes, answers, known, len(names))
    bounds = bounds.including(Interval(told, told, answers.run.level))
    found[f"lower_{target}"], found[f"upper_{target}"] = bounds.lower, bounds.upper
    if target in rows:
        values = pd.to_numeric(rows[target], errors="coerce").to_numpy(float)
        if model.fitted.estimator.noise == "relative":
            # A time of zero was not measured: its row would be missing from this sum alone.
            values = np.where(values > 0.0, values, np.nan)
        measured = _added(codes, np.where(known, values, 0.0), len(names))
        found[f"measured_{target}"] = measured
        found["relative_error"] = np.where(measured > 0.0, total / np.where(measured > 0.0, measured, 1.0) - 1.0, np.nan)
    found["rows_in_domain_share"] = _added(codes, inside.astype(float), len(names)) / found["n_rows"]
    found["total_in_domain_share"] = np.where(total > 0.0, covered / np.where(total > 0.0, total, 1.0), np.nan)
    return found


def _bounds(
    model: TableModel, rows: pd.DataFrame, codes: IntArray, answers: RowAnswers, known: BoolArray, n_groups: int
) -> Interval:
    """Interval of each group's sum, of the rows that are predicted."""
    part = np.flatnonzero(known)
    read = list(model.columns)
    equal = rows[read].iloc[part].groupby(read, sort=False, dropna=False).ngroup().to_numpy()
    own_mean, own_run = (Interval(each.lower[part], each.upper[part], each.level) for each in (answers.mean, answers.run))
    residuals = model.fitted.residuals if isinstance(model.fitted, TableFit) else None
    if isinstance(model.fitted, TableFit) and residuals is None:
        # The floor under predictions is one under the lower bounds, too: those of normal errors are told by the upper ones.
        centre = answers.predicted[part]
        own_mean, own_run = (Interval(2.0 * centre - each.upper, each.upper, each.level) for each in (own_mean, own_run))
    enough = residuals is not None and has_ranks(residuals.n_samples, USUAL_LEVEL)
    share = 0.0 if model.groups is None else shared_by_groups(model.left_out)
    # The noise floor is the mean of |error|; a normal one's standard deviation is sqrt(pi / 2) times that.
    noise = float(np.sqrt(np.pi / 2.0)) * model.noise_floor
    return sum_interval(
        codes[part],
        np.asarray(equal, np.int64),
        own_mean,
        own_run,
        share,
        noise,
        n_groups,
        shape=residuals if enough else None,
        inside=answers.in_domain[part],
    )


def sum_interval(
    groups: IntArray,
    equal: IntArray,
    mean: Interval,
    run: Interval,
    group_share: float,
    noise: float,
    n_groups: int,
    *,
    shape: ResidualQuantiles | None = None,
    inside: BoolArray | None = None,
) -> Interval:
    """Interval of the sum of one run of every row of each group.

    Parameters
    ----------
    groups : array of int, shape (n_rows,)
        From 0 to ``n_groups`` - 1.
    equal : array of int, shape (n_rows,)
        Equal for rows that the model cannot tell apart.
    mean, run : Interval
        Of each row; what they leave open of the mean is shared by all rows of a group.
    group_share : float
        Share of a row's squared error that its group has in common.
    noise : float
        Standard deviation of the logarithm of repeats; NaN where it is not known (equal rows then share all of their error).
    n_groups : int
    shape : ResidualQuantiles, optional
        How log errors are distributed between the bounds of ``run``, up to place and width; None: normally.
    inside : array of bool, shape (n_rows,), optional
        Rows whose errors have that shape; by default all. Those beyond the measured domain are of another kind.

    Returns
    -------
    Interval
        Shape (n_groups,); the row's own where a group has one row.
    """
    wide = float(ndtri(0.5 + run.level / 2.0)) * 2.0
    is_log = bool((run.lower > 0.0).all())
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        (low, high), of_mean = (
            (np.log(each.lower), np.log(each.upper)) if is_log else (each.lower, each.upper) for each in (run, mean)
        )
        spread = (high - low) / wide
        centre = np.exp((low + high) / 2.0 + np.square(spread) / 2.0) if is_log else (low + high) / 2.0
        deviation = centre * np.sqrt(np.expm1(np.square(spread))) if is_log else spread
        if is_log and shape is not None:
            shaped = np.ones(len(groups), bool) if inside is None else inside
            centre[shaped], deviation[shaped], spread[shaped] = _moments(low[shaped], high[shaped], shape, run.level)
        common = np.nan_to_num(np.square((of_mean[1] - of_mean[0]) / wide / spread), nan=0.0)
        rho = np.clip(np.maximum(common, group_share), 0.0, 1.0)
        repeated = 1.0 - np.square(noise / spread) if is_log and np.isfinite(noise) else np.ones(len(groups))
        alike = np.maximum(np.clip(repeated, 0.0, 1.0), rho)
        total = _added(groups, centre, n_groups)
        variance = _variance(groups, equal, deviation, rho, alike, n_groups)
        lower, upper = _two_moments(total, variance, wide / 2.0, is_log=is_log)
    plain = [_added(groups, ends, n_groups) for ends in (run.lower, run.upper)]
    told = np.isfinite(lower) & np.isfinite(upper) & (np.bincount(groups, minlength=n_groups) > 1)
    return Interval(np.where(told, lower, plain[0]), np.where(told, upper, plain[1]), run.level)


def _moments(
    low: FloatArray, high: FloatArray, shape: ResidualQuantiles, level: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean and standard deviation of each row's value, and that of its log, shape (n_rows,): ``shape`` laid between its bounds."""
    first, last = shape.bounds(level)
    if not last > first:
        return np.exp((low + high) / 2.0), np.zeros_like(low), np.zeros_like(low)
    drawn = shape.at((np.arange(N_DRAWN) + 0.5) / N_DRAWN)
    size = (high - low) / (last - first)
    middle = low - size * first
    # Mean and variance are smooth in the width: of many rows they are read off a curve.
    asked = size if len(size) <= N_DRAWN else np.linspace(size.min(), size.max(), N_DRAWN)
    values = np.exp(np.multiply.outer(asked, drawn))
    mean, deviation = values.mean(axis=1), values.std(axis=1)
    if len(size) > N_DRAWN:
        mean, deviation = np.interp(size, asked, mean), np.interp(size, asked, deviation)
    scale = np.exp(middle)
    return scale * mean, scale * deviation, size * float(drawn.std())


def _variance(
    groups: IntArray, equal: IntArray, deviation: FloatArray, rho: FloatArray, alike: FloatArray, n_groups: int
) -> FloatArray:
    """Variance of each sum: own noise in squares; what equal rows share, and what all share, in standard deviations."""
    own = _added(groups, (1.0 - alike) * np.square(deviation), n_groups)
    pairs, first, place = np.unique(groups * (equal.max(initial=0) + 1) + equal, return_index=True, return_inverse=True)
    of_pair = _added(place, np.sqrt(alike - rho) * deviation, len(pairs))
    of_group = _added(groups, np.sqrt(rho) * deviation, n_groups)
    return own + _added(groups[first], np.square(of_pair), n_groups) + np.square(of_group)


def _two_moments(total: FloatArray, variance: FloatArray, z: float, *, is_log: bool) -> tuple[FloatArray, FloatArray]:
    """Bounds of a log-normal, or normal, value with a mean and a variance."""
    if not is_log:
        return total - z * np.sqrt(variance), total + z * np.sqrt(variance)
    square = np.log1p(variance / np.square(total))
    middle = np.log(total) - square / 2.0
    return np.exp(middle - z * np.sqrt(square)), np.exp(middle + z * np.sqrt(square))


def _added(groups: IntArray, values: FloatArray, n_groups: int) -> FloatArray:
    return np.asarray(np.bincount(groups, weights=values, minlength=n_groups), float)


def shared_by_groups(left_out: pd.DataFrame) -> float:
    """Intraclass correlation of the errors of left-out rows with ``group, measured, predicted``, between 0 and 1."""
    if left_out.empty:
        return 0.0
    rows = left_out[(left_out["predicted"] > 0.0) & (left_out["measured"] > 0.0)]
    errors = pd.Series(np.log(rows["measured"] / rows["predicted"]), index=rows.index)
    groups = errors.groupby(rows["group"])
    counts, means = groups.size().to_numpy(float), groups.mean().to_numpy()
    n, n_groups = counts.sum(), len(counts)
    if n_groups < 2 or n <= n_groups:
        return 0.0
    between = float((counts * np.square(means - (counts * means).sum() / n)).sum()) / (n_groups - 1)
    within = float((groups.var(ddof=0).to_numpy() * counts).sum()) / (n - n_groups)
    typical = (n - float(np.square(counts).sum()) / n) / (n_groups - 1)
    size = between + (typical - 1.0) * within
    return float(np.clip((between - within) / size, 0.0, 1.0)) if size > 0.0 else 0.0
