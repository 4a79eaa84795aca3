"""Power laws: least squares of log time on logged terms, the mean by smearing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.algebra.small_system import reduce_rows
from mlperf.models.estimators.members.member import LinearMember, Solution
from mlperf.models.formula.inputs import Rows
from mlperf.models.uncertainty.spread import Spread

COMPOSITION_NOTE = "a power law cannot express a sum of costs: compare with the relative fit for composed components"


@dataclass(eq=False, repr=False)
class LogOLS(LinearMember):
    """Least squares of log time.

    Parameters
    ----------
    terms : sequence of str, optional
        Usually logarithms (``"log(flops)"``); default every column as it is.
    fit_intercept : bool
        Whether there is a constant.
    smearing : bool
        Whether predictions are means, exp(fit) times the mean of exp(residual); without it they are medians.
    n_folds : int
        Grouped folds whose left-out residuals make the intervals of a run; below 2, and below 39 rows without groups, those are
        Student's.
    seed : int
        Of the folds.

    References
    ----------
    Duan (1983), Smearing estimate: a nonparametric retransformation method.
    """

    member = "log"
    least_squares = True

    terms: Sequence[str] | None = None
    fit_intercept: bool = True
    smearing: bool = True
    n_folds: int = 5
    seed: int = 0

    def _coefficients(self, design: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
        return reduce_rows(design, np.log(y), weight).solve()

    def _solve(self, design: FloatArray, rows: Rows, groups: IntArray | None) -> Solution:
        del groups
        target = np.log(rows.y)
        system = reduce_rows(design, target, rows.weight)
        coef = system.solve()
        residual = target - design @ coef
        rss = float(rows.weight @ residual**2)
        df = float(max(len(target) - np.linalg.matrix_rank(system.r), 1))
        spread = Spread(
            coef=coef,
            factor=system.inverse_factor(),
            sigma=float(np.sqrt(rss / df)),
            df=df,
            noise="log",
            smearing=float(np.average(np.exp(residual), weights=rows.weight)) if self.smearing else 1.0,
        )
        return Solution(spread, {"rss": rss, "log_jacobian": float(2.0 * target.sum())}, (COMPOSITION_NOTE,))
