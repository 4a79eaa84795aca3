"""The global weighted model that local models are compared with and build on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.models.algebra.fixed_order import evaluate_fixed_order
from mlperf.models.algebra.small_system import reduce_rows


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
