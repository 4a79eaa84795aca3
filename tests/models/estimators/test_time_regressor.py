"""Intervals from left-out residuals against their definition, and parameters there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import DataError, FitError
from mlperf.core.json_fields import Fields
from mlperf.models.estimators.time_regressor import ResidualIntervals, TimeRegressor
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles


class Twos(ResidualIntervals):
    """Predicts 2 s for every row."""

    def __init__(self, sizes: tuple[str, ...] = ("m",), k: int = 3, base: Any = None) -> None:
        self.sizes = sizes
        self.k = k
        self.base = base

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), 2.0)


def test_interval_is_the_prediction_times_quantiles_of_left_out_ratios() -> None:
    """Log ratios -0.4, -0.2, 0, 0.2, 0.4 at ranks 1/6 to 5/6: half of the runs lie between the ranks 1/4 and 3/4."""
    model = Twos()
    model.residuals_ = ResidualQuantiles.of(np.array([-0.4, -0.2, 0.0, 0.2, 0.4]))
    for kind in ("run", "mean"):
        found = model.predict_interval(range(3), kind=kind, level=0.5)
        np.testing.assert_allclose(found.lower, 2.0 * np.exp(-0.3))
        np.testing.assert_allclose(found.upper, 2.0 * np.exp(0.3))
    draws = model.sample(range(2), np.random.default_rng(0), 4000)
    assert draws.shape == (4000, 2)
    assert np.median(draws) == pytest.approx(2.0, rel=0.02)
    assert draws.max() == pytest.approx(2.0 * np.exp(0.4))


def test_without_left_out_residuals_there_is_no_interval() -> None:
    model = Twos()
    model.residuals_ = None
    with pytest.raises(FitError, match="left-out errors"):
        model.predict_interval(range(3))


def test_parameters_come_back_without_the_base() -> None:
    stored = Twos(("m", "n"), base=Twos()).parameters_to_dict()
    assert stored == {"sizes": ["m", "n"], "k": 3}
    again = Twos.from_parameters(Fields(stored, "$"))
    assert (again.sizes, again.k, again.base) == (("m", "n"), 3, None)
    with pytest.raises(DataError, match="extra"):
        Twos.from_parameters(Fields(stored | {"extra": 1}, "$"))


def test_times_are_positive() -> None:
    tags = TimeRegressor().__sklearn_tags__()
    assert tags.target_tags.positive_only
    assert tags.regressor_tags.poor_score
