"""Stray runs bent no line: Huber's M-estimate by iterated weights, scale from the median absolute residual."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.models.algebra.small_system import reduce_rows, relative_system
from mlperf.models.estimators.members.member import LinearMember, Solution
from mlperf.models.formula.inputs import Rows
from mlperf.models.inference.clustered import sandwich_factor
from mlperf.models.uncertainty.spread import Spread

NORMAL_MAD = 0.6745
"""Median of |z| for a standard normal z, to the four digits that R's ``MASS::rlm`` uses."""
LOW_WEIGHT = 0.5
PERFECT = 1e-10
"""Below this share of the largest value residuals are rounding noise: the fit is perfect and nothing is a stray."""


@dataclass(frozen=True, slots=True, eq=False)
class RobustFit:
    """Where the iteration ended: ``coef`` (n_columns,), robust ``scale``, ``weights`` (n_rows,), iterations made."""

    coef: FloatArray
    scale: float
    weights: FloatArray
    n_iter: int


@dataclass(eq=False, repr=False)
class HuberOLS(LinearMember):
    """Huber regression on relative (or plain) residuals.

    Parameters
    ----------
    terms : sequence of str, optional
        Arithmetic expressions over columns; default every column.
    fit_intercept : bool
        Whether there is a constant.
    noise : {"relative", "absolute"}
        Whether residuals are divided by the measured time.
    k : float
        Residuals beyond k robust standard deviations get weight k / |residual|; 1.345 costs 5 % of efficiency on normal errors.
    max_iter, tol : int, float
        Of the iteration: relative change of the residuals.
    n_folds : int
        Grouped folds whose left-out residuals make the intervals of a run; below 2 those are Student's.
    seed : int
        Of the folds.

    Attributes
    ----------
    weights_ : array, shape (n_samples,)
        Weight of each training row in the last iteration; rows below 0.5 are strays and listed in the report.
    n_iter_ : int
        Iterations made.

    References
    ----------
    Huber (1981), Robust Statistics, section 7.8; weights of whole cases where ``sample_weight`` is given.
    """

    member = "huber"

    terms: Sequence[str] | None = None
    fit_intercept: bool = True
    noise: str = "relative"
    k: float = 1.345
    max_iter: int = 1000
    tol: float = 1e-12
    n_folds: int = 5
    seed: int = 0

    def _coefficients(self, design: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        return self._iterate(*relative_system(design, y, self.noise), weight).coef

    def _solve(self, design: FloatArray, rows: Rows, groups: IntArray | None) -> Solution:
        matrix, target = relative_system(design, rows.y, self.noise)
        found = self._iterate(matrix, target, rows.weight)
        coef, scale, self.weights_, self.n_iter_ = found.coef, found.scale, found.weights, found.n_iter
        residual = target - matrix @ coef
        system = reduce_rows(matrix, target, rows.weight * self.weights_)
        df = float(max(len(target) - np.linalg.matrix_rank(system.r), 1))
        spread = Spread(coef, self._factor(matrix, residual, scale, rows.weight, groups), scale, df, self.noise)
        stray = rows.kept[self.weights_ < LOW_WEIGHT]
        shown = ", ".join(map(str, stray[:20].tolist()))
        notes = (f"{len(stray)} rows with weight below {LOW_WEIGHT}: {shown}",) if len(stray) else ()
        return Solution(spread, {"scale": scale, "n_iter": float(self.n_iter_), "n_low_weight": float(len(stray))}, notes)

    def _iterate(self, matrix: FloatArray, target: FloatArray, case: FloatArray) -> RobustFit:
        coef = reduce_rows(matrix, target, case).solve()
        residual = target - matrix @ coef
        for iteration in range(1, self.max_iter + 1):
            scale = weighted_median(np.abs(residual), case) / NORMAL_MAD
            if scale <= PERFECT * float(np.abs(target).max()):
                return RobustFit(coef, scale, np.ones_like(residual), iteration)
            weights = huber_weights(residual / scale, self.k)
            coef = reduce_rows(matrix, target, case * weights).solve()
            previous, residual = residual, target - matrix @ coef
            change = float(np.sqrt(case @ (residual - previous) ** 2 / max(float(case @ previous**2), 1e-300)))
            if change <= self.tol:
                return RobustFit(coef, scale, weights, iteration)
        raise FitError(f"no convergence in {self.max_iter} iterations (last change {change:.1e})", hint="Raise max_iter or tol.")

    def _factor(
        self, matrix: FloatArray, residual: FloatArray, scale: float, case: FloatArray, groups: IntArray | None
    ) -> FloatArray:
        """Sandwich: slopes of the influence function as bread, squared influences as meat (Huber 1981, section 7.6)."""
        if scale == 0.0:
            return reduce_rows(matrix, residual, case).inverse_factor() * 0.0
        inside = (np.abs(residual) <= self.k * scale).astype(float)
        score = self.weights_ * residual / scale
        return sandwich_factor(matrix, bread=case * np.maximum(inside, 1e-6), score=case * score, groups=groups)


def huber_weights(standardised: FloatArray, k: float) -> FloatArray:
    """min(1, k / |u|), shape of u."""
    return np.asarray(np.minimum(1.0, k / np.maximum(np.abs(standardised), np.finfo(float).tiny)))


def weighted_median(values: FloatArray, weight: FloatArray) -> float:
    """Median of values of which each counts ``weight`` times; the middle of two where the halves are equal."""
    order = np.argsort(values, kind="stable")
    ordered, mass = values[order], np.cumsum(weight[order])
    half = 0.5 * mass[-1]
    slack = 1e-12 * mass[-1]
    low = int(np.searchsorted(mass, half - slack))
    high = int(np.searchsorted(mass, half + slack, side="right"))
    return float(0.5 * (ordered[low] + ordered[min(high, len(ordered) - 1)]))
