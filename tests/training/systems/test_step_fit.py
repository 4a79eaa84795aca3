"""Costs are the best that are not negative; AIC drops what explains nothing; left-out rows are predicted without them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from mlperf.training.systems.step_fit import (
    METHODS,
    costs_by_aic,
    fit_apart,
    left_out_ratios,
    ratio_error,
    relative_costs,
)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_costs_have_smaller_relative_errors(seed: int) -> None:
    """Against every subset of the terms by plain least squares: the best with no negative cost."""
    rng = np.random.default_rng(seed)
    design, seconds = rng.random((12, 4)) * [1.0, 1e6, 1e-6, 1.0], np.exp(rng.standard_normal(12))
    weighted, best = design / seconds[:, None], np.inf
    for size in range(1, 5):
        for chosen in itertools.combinations(range(4), size):
            costs = np.linalg.lstsq(weighted[:, chosen], np.ones(12), rcond=None)[0]
            if (costs >= 0.0).all():
                best = min(best, float(np.sum((weighted[:, chosen] @ costs - 1.0) ** 2)))
    found = relative_costs(design, seconds)
    assert (found >= 0.0).all()
    assert float(np.sum((weighted @ found - 1.0) ** 2)) == pytest.approx(best, rel=1e-9)


def test_costs_that_were_put_in_come_out_and_noise_is_dropped() -> None:
    rng = np.random.default_rng(1)
    design = np.column_stack([rng.random((40, 2)), rng.random((40, 4)) * 1e-3])
    seconds = design[:, :2] @ [2.0, 3.0] * np.exp(0.01 * rng.standard_normal(40))
    assert relative_costs(design, design @ [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]) == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    found = costs_by_aic(design, seconds)
    assert found[:2] == pytest.approx([2.0, 3.0], rel=0.03)
    assert np.count_nonzero(found) <= np.count_nonzero(relative_costs(design, seconds))


def test_with_few_rows_nothing_is_dropped() -> None:
    design = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0]])
    seconds = np.array([1.0, 1.5, 2.4])
    assert (costs_by_aic(design, seconds) == relative_costs(design, seconds)).all()


def test_rows_left_out_are_predicted_by_the_others_of_their_part() -> None:
    design = np.ones((5, 1))
    seconds = np.array([1.0, 1.0, 4.0, 4.0, 8.0])
    part = np.array([0, 0, 1, 1, 2])
    assert fit_apart(METHODS["all terms"], design, seconds, part, 3)[:, 0] == pytest.approx([1.0, 4.0, 8.0])
    folds = [np.arange(5) == row for row in range(5)]
    ratios = left_out_ratios(METHODS["all terms"], design, seconds, part, folds)
    assert ratios[:4] == pytest.approx([0.0] * 4, abs=1e-12)
    assert np.isnan(ratios[4])
    assert ratio_error(np.array([np.log(2.0), np.nan])) == pytest.approx(0.5)
    assert np.isnan(ratio_error(np.array([np.nan])))
