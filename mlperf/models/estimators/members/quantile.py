"""Tail latency: linear quantiles of times as linear programmes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog
from scipy.special import ndtri

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.models.algebra.scaling import column_norms, powers_of_two
from mlperf.models.algebra.small_system import RANK_TOLERANCE, relative_system
from mlperf.models.estimators.members.member import LinearMember, Solution
from mlperf.models.formula.inputs import Rows
from mlperf.models.inference.clustered import sandwich_factor
from mlperf.models.uncertainty.spread import Spread

INTERPOLATED = 1e-9
"""Residuals below this share of the largest value are zero: the solution passes through the row."""


@dataclass(eq=False, repr=False)
class QuantileOLS(LinearMember):
    """Quantile regression on relative (or plain) residuals.

    Parameters
    ----------
    terms : sequence of str, optional
        Arithmetic expressions over columns; default every column.
    fit_intercept : bool
        Whether there is a constant.
    quantile : float
        0.5 is the median, 0.9 the time that nine of ten runs stay below.
    noise : {"relative", "absolute"}
        Whether residuals are divided by the measured time.
    n_folds : int
        Grouped folds whose left-out residuals make the intervals of a run; below 2 those are Student's. Each is one more programme.
        Below 39 rows there are at least five: such a fit passes through most rows, and its residuals are too small.
    seed : int
        Of the folds.

    References
    ----------
    Koenker and Bassett (1978); Koenker (2005), Quantile Regression, sections 1.3 (the programme) and 3.4.2 (sandwich errors).
    """

    member = "quantile"
    folds_of_few = 5

    terms: Sequence[str] | None = None
    fit_intercept: bool = True
    quantile: float = 0.5
    noise: str = "relative"
    n_folds: int = 0
    seed: int = 0

    def _coefficients(self, design: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        return quantile_coefficients(*relative_system(design, y, self.noise), self.quantile, weight)

    def _solve(self, design: FloatArray, rows: Rows, groups: IntArray | None) -> Solution:
        matrix, target = relative_system(design, rows.y, self.noise)
        coef = quantile_coefficients(matrix, target, self.quantile, rows.weight)
        residual = target - matrix @ coef
        objective = float(rows.weight @ check_loss(residual, self.quantile))
        df = float(max(len(target) - np.linalg.matrix_rank(matrix), 1))
        spread = Spread(coef, _sandwich(matrix, residual, self.quantile, rows.weight, groups), _sigma(residual), df, self.noise)
        return Solution(spread, {"quantile": self.quantile, "objective": objective})


def check_loss(residual: FloatArray, quantile: float) -> FloatArray:
    """Residual * (quantile - [residual < 0]), shape of residual: what the quantile minimises the sum of."""
    return np.asarray(residual * (quantile - (residual < 0)))


def quantile_coefficients(matrix: FloatArray, target: FloatArray, quantile: float, weight: FloatArray) -> FloatArray:
    """Coefficients that minimise the weighted check loss, shape (n_columns,); exact up to rounding.

    Parameters
    ----------
    matrix, target, weight : arrays, shapes (n_rows, n_columns), (n_rows,), (n_rows,)
    quantile : float
        Strictly between 0 and 1.

    Raises
    ------
    UsageError
        A quantile outside (0, 1).
    FitError
        The linear programme could not be solved.

    Notes
    -----
    The dual programme has one bounded variable per row and one equation per column; the multipliers of its equations are the
    coefficients. They are polished on the rows through which the solution passes.
    """
    if not 0.0 < quantile < 1.0:
        raise UsageError(f"got quantile = {quantile}, expected a number between 0 and 1")
    scale = powers_of_two(column_norms(matrix * np.sqrt(weight)[:, None]))
    unit = float(powers_of_two(np.array([np.abs(target).max(initial=0.0)]))[0])
    scaled, response = matrix / scale, target / unit
    answer = linprog(
        -response,
        A_eq=scaled.T,
        b_eq=np.zeros(matrix.shape[1]),
        bounds=list(zip(((quantile - 1.0) * weight).tolist(), (quantile * weight).tolist(), strict=True)),
        method="highs",
    )
    if answer.status != 0:
        raise FitError(
            f"the linear programme ended with {answer.message!r}", hint="Check the columns for values that differ by many decades."
        )
    coef = _polished(scaled, response, quantile, weight, -np.asarray(answer.eqlin.marginals))
    return coef * unit / scale


def _polished(matrix: FloatArray, target: FloatArray, quantile: float, weight: FloatArray, coef: FloatArray) -> FloatArray:
    """Solve for the rows that the solution interpolates, and keep the better of both."""
    distance = np.abs(target - matrix @ coef)
    touched = distance <= max(np.sort(distance)[: matrix.shape[1]][-1], INTERPOLATED * np.abs(target).max())
    exact = np.linalg.lstsq(matrix[touched], target[touched], rcond=RANK_TOLERANCE)[0]
    losses = [float(weight @ check_loss(target - matrix @ candidate, quantile)) for candidate in (exact, coef)]
    return np.asarray(exact if losses[0] <= losses[1] * (1.0 + 1e-12) else coef)


def _sandwich(matrix: FloatArray, residual: FloatArray, quantile: float, weight: FloatArray, groups: IntArray | None) -> FloatArray:
    """Powell's kernel sandwich with the bandwidth of Hall and Sheather, divided by the sigma that `Spread` multiplies it with."""
    n_rows, sigma = len(residual), _sigma(residual)
    if sigma == 0.0:
        return np.zeros((matrix.shape[1], matrix.shape[1]))
    normal = float(ndtri(quantile))
    density = np.exp(-0.5 * normal**2) / np.sqrt(2.0 * np.pi)
    bandwidth = n_rows ** (-1.0 / 3.0) * 1.959964 ** (2.0 / 3.0) * (1.5 * density**2 / (2.0 * normal**2 + 1.0)) ** (1.0 / 3.0)
    low, high = np.clip([quantile - bandwidth, quantile + bandwidth], 1e-3, 1.0 - 1e-3)
    width = (float(ndtri(high)) - float(ndtri(low))) * sigma
    kernel = np.exp(-0.5 * (residual / width) ** 2) / (np.sqrt(2.0 * np.pi) * width)
    score = weight * (quantile - (residual < 0))
    return sandwich_factor(matrix, bread=weight * np.maximum(kernel, 1e-300), score=score, groups=groups) / sigma


def _sigma(residual: FloatArray) -> float:
    """Robust standard deviation of the residuals: their middle half over that of a normal distribution."""
    return float(np.subtract(*np.quantile(residual, [0.75, 0.25])) / 1.3489795003921634)
