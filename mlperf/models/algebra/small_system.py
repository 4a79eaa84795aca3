"""Least squares of any number of rows, reduced to the triangle that every solver starts from, and the weighted fit of times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.models.algebra.fixed_order import evaluate_fixed_order
from mlperf.models.algebra.triangle import triangle

RANK_TOLERANCE = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class SmallSystem:
    """A least-squares problem reduced to as many rows as columns: minimise |r b - z|, columns divided by ``scale``.

    ``b / scale`` are the coefficients of the data; ``rest`` is the residual norm that no b can reach below.
    """

    r: FloatArray
    z: FloatArray
    scale: FloatArray
    rest: float

    def solve(self) -> FloatArray:
        """Coefficients of the data, shape (n_columns,); the shortest scaled ones where columns are sums of others."""
        return np.asarray(np.linalg.lstsq(self.r, self.z, rcond=RANK_TOLERANCE)[0] / self.scale)

    def inverse_factor(self) -> FloatArray:
        """Inverse of the triangle for coefficients of the data, shape (n_columns, n_columns): covariance is factor factor'."""
        values = np.abs(np.diag(self.r))
        solid = values > RANK_TOLERANCE * values.max(initial=1.0)
        factor = np.zeros_like(self.r)
        kept = np.flatnonzero(solid)
        factor[np.ix_(kept, kept)] = np.linalg.inv(self.r[np.ix_(kept, kept)])
        return factor / self.scale[:, None]


def reduce_rows(design: FloatArray, y: FloatArray, weight: FloatArray) -> SmallSystem:
    """Least squares of weighted rows as a triangle of n_columns rows, columns scaled by powers of two."""
    made = triangle(design, y, weight, intercept=False)
    size, unit = design.shape[1], float(made.scale[-1])
    return SmallSystem(made.r[:size, :size], made.r[:size, -1] * unit, made.scale[:size], float(abs(made.r[size, -1])) * unit)


@dataclass(frozen=True, slots=True, eq=False)
class RelativeFit:
    """Least squares of relative residuals (weights 1/y**2): ``coef`` (n_terms,), predictions never below ``floor``."""

    coef: FloatArray
    floor: float

    @classmethod
    def of(cls, design: FloatArray, y: FloatArray) -> RelativeFit:
        """Fit terms, shape (n_rows, n_terms), to positive times; the floor is a quarter of the smallest."""
        return cls(reduce_rows(design, y, 1.0 / y**2).solve(), float(y.min()) / 4.0)

    def predict(self, design: FloatArray) -> FloatArray:
        """Times, shape (n_rows,)."""
        return np.asarray(np.maximum(evaluate_fixed_order(design, self.coef), self.floor))


def relative_system(design: FloatArray, y: FloatArray, noise: str) -> tuple[FloatArray, FloatArray]:
    """Design and response over the measured time where ``noise`` is relative, else as they are."""
    unit = y if noise == "relative" else np.ones_like(y)
    return design / unit[:, None], y / unit
