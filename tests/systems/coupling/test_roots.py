"""The root finder against known roots and plain bisection."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError
from mlperf.systems.coupling.roots import decreasing_root


def test_it_finds_roots_of_different_shapes() -> None:
    roots = np.array([-9.0, -0.3, 0.0, 2.5, 20.0])

    def residual(x: FloatArray, rows: IntArray) -> FloatArray:
        z = roots[rows] - x
        return np.where(rows % 2 == 0, np.arctan(z), np.expm1(np.clip(z, -50, 50)))

    assert decreasing_root(residual, np.ones(5)) == pytest.approx(roots, abs=2e-13)


def test_a_kink_at_the_root_and_a_guess_on_it() -> None:
    def residual(x: FloatArray, _: IntArray) -> FloatArray:
        return np.where(x < 1.0, 100.0 * (1.0 - x), 0.01 * (1.0 - x))

    assert decreasing_root(residual, np.array([1.0, 0.0, 5.0])) == pytest.approx([1.0, 1.0, 1.0], abs=1e-12)


def test_a_function_without_root_is_an_error() -> None:
    with pytest.raises(FitError, match="no sign change"):
        decreasing_root(lambda x, _: np.ones_like(x), np.zeros(3))
    with pytest.raises(FitError, match="no sign change"):
        decreasing_root(lambda x, _: np.full_like(x, np.nan), np.zeros(3))
