"""Costs cannot be negative: least squares of relative errors with every coefficient and the constant at least zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.models.algebra.scaling import powers_of_two
from mlperf.models.algebra.small_system import SmallSystem, reduce_rows
from mlperf.models.estimators.members.member import LinearMember, Solution
from mlperf.models.formula.inputs import Rows
from mlperf.models.formula.terms import Terms
from mlperf.models.uncertainty.draws import row_bootstrap
from mlperf.models.uncertainty.spread import Spread

BOUNDARY_NOTE = "no t tests: they do not hold where a coefficient is held at zero; errors come from the bootstrap"


@dataclass(eq=False, repr=False)
class NonNegativeOLS(LinearMember):
    """Non-negative least squares for times; every level of a factor has a coefficient of its own, wherever the factor enters.

    Parameters
    ----------
    terms : sequence of str, optional
        Arithmetic expressions over columns (``"m * n * k"``); default every column.
    fit_intercept : bool
        Whether there is a constant, which is not negative either.
    noise : {"relative", "absolute"}
        Whether residuals are divided by the measured time.
    smearing : bool
        Whether predictions are rescaled so that their sum is that of the training times: without it relative fits run low.
    n_draws : int
        Bootstrap resamples behind intervals of the mean; 0 for none.
    n_folds : int
        Grouped folds whose left-out residuals make the intervals of a run; below 2 those are Student's.
    seed : int
        Of folds and resamples; components fitted on the same rows with the same seed share them.

    References
    ----------
    Lawson and Hanson (1974), Solving Least Squares Problems, chapter 23.
    """

    member = "nonnegative"

    terms: Sequence[str] | None = None
    fit_intercept: bool = True
    noise: str = "relative"
    smearing: bool = True
    n_draws: int = 100
    n_folds: int = 5
    seed: int = 0

    def _weight(self, y: FloatArray, weight: FloatArray) -> FloatArray:
        return np.asarray(weight / y**2 if self.noise == "relative" else weight)

    def _learnt_terms(self, frame: pd.DataFrame) -> Terms:
        # Differences from a base level may well be negative; what each level costs may not.
        return super()._learnt_terms(frame).with_every_level()

    def _coefficients(self, design: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        return nonnegative_coefficients(reduce_rows(design, y, self._weight(y, weight)))

    def _solve(self, design: FloatArray, rows: Rows, groups: IntArray | None) -> Solution:
        weight = self._weight(rows.y, rows.weight)
        system = reduce_rows(design, rows.y, weight)
        coef = nonnegative_coefficients(system)
        fitted = design @ coef
        residual = np.sqrt(weight) * (rows.y - fitted)
        df = float(max(len(rows.y) - int((coef > 0).sum()), 1))
        draws = _bootstrap(design, rows.y, weight, groups, self.n_draws, self.seed) if self.n_draws > 0 else None
        spread = Spread(
            coef=coef,
            factor=None,
            sigma=float(np.sqrt(residual @ residual / df)),
            df=df,
            noise=self.noise,
            draws=draws,
            smearing=total_preserving(fitted, rows) if self.smearing else 1.0,
        )
        free_rss = float(np.sum(weight * (rows.y - design @ system.solve()) ** 2))
        centred = float(weight @ (rows.y - np.average(rows.y, weights=weight)) ** 2)
        rss = float(residual @ residual)
        loss = (rss - free_rss) / centred if centred > 0 else 0.0
        return Solution(spread, {"rss": rss, "r2_loss": loss, "n_at_zero": float((coef == 0).sum())}, (BOUNDARY_NOTE,))


def nonnegative_coefficients(system: SmallSystem) -> FloatArray:
    """Coefficients >= 0 of the data that minimise the residual of a reduced system, shape (n_columns,).

    Raises
    ------
    FitError
        The active set did not settle.
    """
    # The solver's tolerance is absolute: give it a right side of about 1, whatever the unit of the times.
    unit = float(powers_of_two(np.array([np.abs(system.z).max(initial=0.0)]))[0])
    try:
        solution = nnls(system.r, system.z / unit)[0]
    except RuntimeError as error:
        raise FitError(f"non-negative least squares: {error}", hint="Drop terms that are nearly equal to others.") from error
    return np.asarray(solution * unit / system.scale)


def total_preserving(fitted: FloatArray, rows: Rows) -> float:
    """Factor that makes the weighted sum of predictions that of the measured times; 1 where nothing is predicted."""
    predicted = float(rows.weight @ fitted)
    return float(rows.weight @ rows.y) / predicted if predicted > 0 else 1.0


def _bootstrap(
    design: FloatArray, y: FloatArray, weight: FloatArray, groups: IntArray | None, n_draws: int, seed: int
) -> FloatArray:
    codes = np.arange(len(y)) if groups is None else groups
    counts = row_bootstrap(int(codes.max()) + 1, n_draws, seed)[:, codes]
    return np.array([nonnegative_coefficients(reduce_rows(design, y, weight * count)) for count in counts])
