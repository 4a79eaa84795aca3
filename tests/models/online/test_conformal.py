"""Adaptive intervals: quantiles as numpy's, coverage as promised, also when errors grow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.models.online.conformal import AdaptiveInterval, quantile


def covered(errors: np.ndarray, level: float) -> float:
    interval = AdaptiveInterval(level)
    for error in errors:
        interval.learn(float(error), interval.bounds())
    return interval.coverage


@pytest.mark.parametrize("share", [0.0, 0.05, 0.3, 0.5, 0.999, 1.0])
def test_quantiles_are_numpys(share: float) -> None:
    values = np.sort(np.random.default_rng(1).standard_normal(57))
    assert quantile(list(values), share) == pytest.approx(float(np.quantile(values, share)), abs=1e-14)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
def test_coverage_is_as_promised(level: float) -> None:
    errors = np.random.default_rng(2).standard_t(3, 3000)
    assert covered(errors, level) == pytest.approx(level, abs=0.02)


def test_coverage_holds_when_the_errors_grow() -> None:
    """Scale doubles every 300 steps; fixed quantiles of the first rows would cover less and less."""
    rng = np.random.default_rng(3)
    errors = rng.standard_normal(3000) * 2.0 ** (np.arange(3000) / 300)
    assert covered(errors, 0.9) == pytest.approx(0.9, abs=0.03)


def test_there_is_no_interval_before_enough_is_known() -> None:
    interval = AdaptiveInterval(n_least=5)
    for _ in range(4):
        interval.learn(1.0, interval.bounds())
    assert math.isnan(interval.bounds()[0])
    assert math.isnan(interval.coverage)
    interval.learn(1.0, interval.bounds())
    assert interval.bounds() == (1.0, 1.0)


def test_only_the_window_is_remembered() -> None:
    interval = AdaptiveInterval(window=30, rate=0.0)
    for value in range(100):
        interval.learn(float(value), (math.nan, math.nan))
    low, high = interval.bounds()
    np.testing.assert_allclose([low, high], np.quantile(np.arange(70, 100), [0.05, 0.95]))


def test_a_level_outside_0_and_1_is_refused() -> None:
    with pytest.raises(UsageError, match="level"):
        AdaptiveInterval(1.0)
