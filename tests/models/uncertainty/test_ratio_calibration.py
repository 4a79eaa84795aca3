"""Calibrated predictors: a factor comes back, no harm where there is nothing to gain, intervals cover what is drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlperf.core.errors import FitError
from mlperf.core.shown import plain
from mlperf.models.uncertainty.ratio_calibration import RatioCalibration, calibrate_ratios
from mlperf.models.uncertainty.ratio_factors import UNCHANGED

pytestmark = pytest.mark.slow


def one(n_rows: int) -> np.ndarray[tuple[int, int], np.dtype[np.object_]]:
    return np.empty((n_rows, 0), object)


def test_a_planted_factor_is_recovered() -> None:
    rng = np.random.default_rng(0)
    found = calibrate_ratios(np.log(1.25) + 0.02 * rng.standard_normal(200), one(200))
    assert found.predict(np.array([2.0]), one(1))[0] == pytest.approx(2.5, rel=0.01)
    assert found.error_before > 0.15
    assert found.error_after == pytest.approx(0.02 * np.sqrt(2 / np.pi), rel=0.15)


def test_nothing_is_changed_where_no_factor_helps() -> None:
    """Errors that cancel: the median of two clusters is no better than 1."""
    ratio = np.array([0.2, -0.2, 0.21, -0.19, 0.22, -0.21])
    found = calibrate_ratios(ratio, one(6))
    assert found.factors.depth == UNCHANGED
    assert not found.helps
    assert found.error_after == found.error_before
    assert_allclose(found.predict(np.array([3.0]), one(1)), 3.0)


@pytest.mark.parametrize("bias", [0.0, 0.01, 0.05])
def test_calibration_is_hardly_ever_worse_on_new_rows(bias: float) -> None:
    rng = np.random.default_rng(5)
    before = after = 0.0
    for _ in range(200):
        rows = bias + 0.02 * rng.standard_normal(40)
        factor = calibrate_ratios(rows[:10], one(10)).factors.common
        before += np.abs(np.expm1(-rows[10:])).mean()
        after += np.abs(np.expm1(factor - rows[10:])).mean()
    assert after <= 1.04 * before
    assert bias < 0.05 or after < 0.45 * before


@pytest.mark.parametrize(("n_rows", "heavy"), [(3, False), (3, True), (5, False), (10, False), (10, True), (41, False)])
def test_intervals_cover(n_rows: int, heavy: bool) -> None:
    """Of rows with normal and with heavier tails, so few that only Student's t can say 95 %, and so many that ranks can."""
    rng = np.random.default_rng(n_rows)
    inside, n_runs = 0, 300 if n_rows < 41 else 60
    for _ in range(n_runs):
        drawn = rng.standard_t(4, n_rows + 1) if heavy else rng.standard_normal(n_rows + 1)
        rows = 0.2 + 0.05 * drawn
        interval = calibrate_ratios(rows[:-1], one(n_rows)).interval(np.array([1.0]), one(1), 0.95)
        inside += bool(interval.lower[0] <= np.exp(rows[-1]) <= interval.upper[0])
    assert inside / n_runs >= 0.90


def test_a_group_that_nobody_measured_has_a_wider_interval_that_covers() -> None:
    rng = np.random.default_rng(8)
    inside = 0
    for _ in range(80):
        shift = 0.2 * rng.standard_normal(7)
        rows = np.repeat(shift[:6], 3) + 0.02 * rng.standard_normal(18)
        labels = np.repeat(np.array(list("abcdef"), object), 3)[:, None]
        found = calibrate_ratios(rows, labels)
        known, new = (found.interval(np.ones(1), np.array([[name]], object), 0.9) for name in "az")
        assert new.upper[0] / new.lower[0] >= known.upper[0] / known.lower[0]
        inside += bool(new.lower[0] <= np.exp(shift[6]) <= new.upper[0])
    assert inside / 80 >= 0.85


def test_one_row_is_refused_and_two_are_taken() -> None:
    with pytest.raises(FitError, match="got 1 measured row"):
        calibrate_ratios(np.array([0.1]), one(1))
    found = calibrate_ratios(np.array([0.30, 0.32]), one(2))
    assert found.factors.common == pytest.approx(0.31)
    interval = found.interval(np.ones(1), one(1), 0.95)
    assert interval.lower[0] < np.exp(0.30) < np.exp(0.32) < interval.upper[0]


def test_a_stored_calibration_says_the_same() -> None:
    rng = np.random.default_rng(4)
    labels = np.repeat(np.array(["a", "b", "c"], object), 5)[:, None]
    found = calibrate_ratios(np.repeat([0.1, 0.3, -0.1], 5) + 0.01 * rng.standard_normal(15), labels)
    again = RatioCalibration.from_dict(json.loads(json.dumps(plain(found))))
    for level in (0.5, 0.95):
        assert_allclose(again.interval(np.ones(15), labels, level).upper, found.interval(np.ones(15), labels, level).upper, rtol=0)
    assert again.in_domain(np.array([["z"]], object)).tolist() == [False]
