"""Costs of physical terms, never negative, by relative errors; which terms and which loss is settled on left-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.models.algebra.triangle import triangle

FULL, BY_AIC, ROBUST = "all terms", "terms by AIC", "robust loss"
HUBER = 1.345
"""Standard errors from where on an error counts by its size, not its square: 95 % as exact as squares where errors are normal."""

STD_OF_MEDIAN = 1.4826
"""Standard deviation of normal errors over the median of their sizes."""

MOST_ROUNDS, SETTLED = 50, 1e-6
"""Rounds of weights at most; relative change of all costs that is none."""

MANY_ROWS = 2000
"""Rows from where on a fit is one of their triangle: the same costs to rounding, of as many rows as terms."""
Fit = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class RelativeSquares:
    """The squared relative errors of any costs, as ``|matrix costs - target|^2``: of the rows, or of the triangle of many rows.

    ``size`` of each term is the largest, ``share`` the mean of its shares of a step, a unit of it taken as a second.
    """

    matrix: FloatArray
    target: FloatArray
    size: FloatArray
    share: FloatArray
    n_rows: int

    @classmethod
    def of(cls, relative: FloatArray, weights: FloatArray | None = None) -> RelativeSquares:
        """Of terms over the time of their step, shape (n_rows, n_terms), and weights, shape (n_rows,)."""
        if not np.isfinite(relative).all():
            raise FitError(
                "some columns are too large to be added up", hint="Give them in a larger unit, or check how the file was made."
            )
        n_rows = len(relative)
        size = np.abs(relative).max(axis=0, initial=0.0)
        share = relative.mean(axis=0) if n_rows else size
        if n_rows > MANY_ROWS:
            made = triangle(relative, np.ones(n_rows), weights, intercept=False, path="qr")
            small = made.r * made.scale
            return cls(small[:, :-1], small[:, -1], size, share, n_rows)
        root = np.ones(n_rows) if weights is None else np.sqrt(weights)
        return cls(root[:, None] * relative, root, size, share, n_rows)

    def error(self, costs: FloatArray) -> float:
        """Weighted sum of the squared relative errors of costs."""
        errors = self.matrix @ costs - self.target
        return float(errors @ errors)

    def costs(self, kept: IntArray | slice = slice(None)) -> FloatArray:
        """Costs >= 0 of the kept terms with the least error, 0 of the others, shape (n_terms,)."""
        found = np.zeros(self.matrix.shape[1])
        found[kept] = _non_negative(self.matrix[:, kept], self.target, self.size[kept])
        return found

    def noise(self, costs: FloatArray | None = None) -> float:
        """Standard deviation of relative errors, by default of the costs with the least; 0 of no more rows than terms."""
        costs = self.costs() if costs is None else costs
        n_left = self.n_rows - np.count_nonzero(costs)
        return float(np.sqrt(self.error(costs) / n_left)) if n_left > 0 else 0.0

    def shared_costs(self) -> FloatArray:
        """Costs as of `shared_costs`."""
        costs = self.costs()
        if self.n_rows <= np.count_nonzero(costs):
            return costs
        size = np.where(self.share > 0.0, self.share, 1.0)
        prior = self.noise(costs) * np.diag(size)
        return _non_negative(np.vstack([self.matrix, prior]), np.concatenate([self.target, np.zeros(len(size))]), size)


def relative_squares(design: FloatArray, seconds: FloatArray) -> RelativeSquares:
    """The squared relative errors of any costs of the terms of a design, shape (n_rows, n_terms), on measured seconds."""
    return RelativeSquares.of(design / seconds[:, None])


def relative_costs(design: FloatArray, seconds: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Costs >= 0 with the least sum of squared relative errors, shape (n_terms,); ``weights`` of the squares, shape (n_rows,).

    Raises
    ------
    FitError
        Values of the design are beyond numbers, or the active set did not settle.
    """
    return RelativeSquares.of(design / seconds[:, None], weights).costs()


def shared_costs(design: FloatArray, seconds: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Costs >= 0 of all terms, where terms that the rows hardly tell apart share what they cost, shape (n_terms,).

    The least sum of squared relative errors, each in standard deviations, and of squared mean shares of the step: the prior of a
    share is as wide as the whole step. One of two alike that takes everything, as least squares have it, is wrong where they part:
    on more devices. Rows without errors, or no more of them than terms, have the costs of `relative_costs`.

    Parameters
    ----------
    design : array, shape (n_rows, n_terms)
        Not negative; in the units of the terms.
    seconds : array, shape (n_rows,)
        Positive.
    weights : array, shape (n_rows,), optional
        Of the squared errors, from 0 to 1.

    Raises
    ------
    FitError
        As `relative_costs`.

    References
    ----------
    Hoerl and Kennard (1970), Ridge Regression.
    """
    return RelativeSquares.of(design / seconds[:, None], weights).shared_costs()


def robust_costs(design: FloatArray, seconds: FloatArray) -> FloatArray:
    """Costs >= 0 as `shared_costs`, by Huber's loss of relative errors, shape (n_terms,): seconds a unit of each term.

    A few steps that took twice as long (memory that was nearly full, another job) then pull no cost towards them. Where most
    rows are met exactly, errors have no scale, and the costs are those of `shared_costs`.

    Parameters
    ----------
    design, seconds : array
        As of `shared_costs`.

    Raises
    ------
    FitError
        As `relative_costs`.

    References
    ----------
    Huber (1981), Robust Statistics, chapter 7: iteratively reweighted least squares.
    """
    relative = design / seconds[:, None]
    costs = RelativeSquares.of(relative).shared_costs()
    for _ in range(MOST_ROUNDS):
        errors = np.abs(design @ costs / seconds - 1.0)
        most = HUBER * STD_OF_MEDIAN * float(np.median(errors))
        if most < SETTLED:
            return costs
        found = RelativeSquares.of(relative, most / np.maximum(errors, most)).shared_costs()
        if np.allclose(found, costs, rtol=SETTLED, atol=0.0):
            return found
        costs = found
    return costs


def _non_negative(design: FloatArray, target: FloatArray, size: FloatArray) -> FloatArray:
    size = np.where(size > 0.0, size, 1.0)
    try:
        found, _ = nnls(design / size, target, maxiter=100 * design.shape[1] + 1000)
    except RuntimeError as error:
        raise FitError(f"non-negative least squares: {error}", hint="Leave out columns that say nearly the same.") from error
    return np.asarray(found / size)


def costs_by_aic(design: FloatArray, seconds: FloatArray) -> FloatArray:
    """Costs >= 0 of the terms that AIC keeps; the others are 0.

    From all terms with a cost, one after the other goes as long as n log(RSS / n) + 2 k falls; with so few rows that nothing is
    left to judge by, all stay.
    """
    squares = RelativeSquares.of(design / seconds[:, None])
    costs = squares.costs()
    kept = np.flatnonzero(costs > 0.0)
    if squares.n_rows <= len(kept) + 1:
        return costs
    best = _aic(squares, costs)
    while len(kept) > 1:
        without = [squares.costs(np.delete(kept, place)) for place in range(len(kept))]
        values = [_aic(squares, each) for each in without]
        place = int(np.argmin(values))
        if values[place] >= best:
            break
        best, costs = values[place], without[place]
        kept = np.flatnonzero(costs > 0.0)
    return costs


def _aic(squares: RelativeSquares, costs: FloatArray) -> float:
    mean = max(squares.error(costs) / squares.n_rows, float(np.finfo(float).tiny))
    return float(squares.n_rows * np.log(mean) + 2.0 * np.count_nonzero(costs))


METHODS: dict[str, Fit] = {FULL: shared_costs, BY_AIC: costs_by_aic, ROBUST: robust_costs}


def chosen_method(log_ratios: Mapping[str, FloatArray], groups: IntArray | None = None) -> str:
    """The method whose left-out rows err least; all terms by least squares unless another's gain exceeds its standard error.

    Parameters
    ----------
    log_ratios : mapping of str to array, shape (n_rows,)
        log(measured / predicted) of left-out rows by method of `METHODS`; NaN where nothing was predicted.
    groups : array of int, shape (n_rows,), optional
        Number of each row's group, whose rows err alike: the standard error is that of as many groups. By default each row is one.

    Returns
    -------
    str
        A name of `METHODS`.
    """
    errors = {name: ratio_error(each) for name, each in log_ratios.items()}
    known = {name: error for name, error in errors.items() if np.isfinite(error)}
    if not known:
        return FULL
    best = min(known, key=lambda name: (known[name], name != FULL))
    if best == FULL or FULL not in known:
        return best
    gains = ratio_errors(log_ratios[FULL]) - ratio_errors(log_ratios[best])
    known_rows = np.isfinite(gains)
    own = np.arange(len(gains)) if groups is None else groups
    gain, error = _mean_of_groups(gains[known_rows], own[known_rows])
    return best if gain > error else FULL


def _mean_of_groups(values: FloatArray, groups: IntArray) -> tuple[float, float]:
    """Mean of values and its standard error, those of a group taken for one draw; the error of one group is infinite."""
    if not len(values):
        return float("nan"), float("inf")
    mean = float(values.mean())
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], values - mean)
    n_groups = len(sums)
    if n_groups < 2:
        return mean, float("inf")
    return mean, float(np.sqrt(n_groups / (n_groups - 1.0) * float(sums @ sums)) / len(values))


def fit_apart(fit: Fit, design: FloatArray, seconds: FloatArray, part: IntArray, n_parts: int) -> FloatArray:
    """Costs of every part by itself, shape (n_parts, n_terms); NaN of a part without rows."""
    found = np.full((n_parts, design.shape[1]), np.nan)
    for number in range(n_parts):
        rows = part == number
        if rows.any():
            found[number] = fit(design[rows], seconds[rows])
    return found


def left_out_ratios(fit: Fit, design: FloatArray, seconds: FloatArray, part: IntArray, folds: Sequence[BoolArray]) -> FloatArray:
    """log(measured / predicted) of each row, fitted without its fold; NaN where nothing is left or nothing is predicted."""
    n_parts = int(part.max()) + 1
    ratios = np.full(len(seconds), np.nan)
    for out in folds:
        if out.all() or not out.any():
            continue
        costs = fit_apart(fit, design[~out], seconds[~out], part[~out], n_parts)
        predicted = np.sum(design[out] * costs[part[out]], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios[out] = np.where(predicted > 0.0, np.log(seconds[out] / predicted), np.nan)
    return ratios


def ratio_errors(log_ratios: FloatArray) -> FloatArray:
    """|predicted / measured - 1| of left-out rows, shape (n_rows,); NaN where nothing was predicted."""
    return np.abs(np.expm1(-log_ratios))


def ratio_error(log_ratios: FloatArray) -> float:
    """Mean |predicted / measured - 1| of left-out rows that were predicted; NaN without any."""
    known = log_ratios[np.isfinite(log_ratios)]
    return float(np.mean(ratio_errors(known))) if known.size else float("nan")
