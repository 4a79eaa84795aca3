"""Composed costs with intervals from left-out groups: statsmodels' leverage, simulated groups, the boundary."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator
from statsmodels.regression.linear_model import WLS

from mlperf.models.estimators.members.group_jackknife import GroupJackknifeOLS, leverage, solve

pytestmark = pytest.mark.slow

TERMS = ("work", "steps")


def runs(rng: np.random.Generator, n_rows: int, n_groups: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """2e-3 work + 5e-2 steps + 0.1 seconds; a group is off by 4 % as a whole, a run by 3 %."""
    frame = pd.DataFrame({"work": np.exp(rng.uniform(0, 5, n_rows)), "steps": rng.integers(1, 30, n_rows).astype(float)})
    groups = rng.integers(0, n_groups, n_rows)
    off = 1.0 + rng.normal(0, 0.04, n_groups)[groups] + rng.normal(0, 0.03, n_rows)
    return frame, (2e-3 * frame["work"] + 5e-2 * frame["steps"] + 0.1).to_numpy() * off, groups


def test_coefficients_and_leverage_are_those_of_weighted_least_squares() -> None:
    frame, y, _ = runs(np.random.default_rng(1), 80, 8)
    design = np.column_stack([np.ones(80), frame])
    fit = WLS(y, design, weights=1 / y**2).fit()
    coef, factor = solve(design, y)
    np.testing.assert_allclose(coef, fit.params, rtol=1e-9)
    new = np.array([[1.0, 300.0, 40.0]])
    predicted = new @ fit.params
    expected = (new @ fit.normalized_cov_params @ new.T).ravel() / predicted**2
    np.testing.assert_allclose(leverage(new, factor, predicted), expected, rtol=1e-9)


def test_weights_count_in_every_fit_that_left_a_group_out() -> None:
    """The residual of a left-out row by hand; groups of rows that weigh nothing are gone with them."""
    frame, y, groups = runs(np.random.default_rng(1), 80, 8)
    weight = np.where(groups == 3, 0.0, np.random.default_rng(2).uniform(0.5, 4.0, 80))
    model = GroupJackknifeOLS(TERMS).fit(frame, y, groups=groups, sample_weight=weight)
    design, rest = np.column_stack([np.ones(80), frame]), (groups != 0) & (groups != 3)
    fit = WLS(y[rest], design[rest], weights=(weight / y**2)[rest]).fit()
    row = int(np.flatnonzero(groups == 0)[0])
    predicted = design[row] @ fit.params
    spread = np.sqrt(1.0 + design[row] @ fit.normalized_cov_params @ design[row] / predicted**2)
    kept = np.flatnonzero(groups != 3)
    assert len(model.residuals_) == len(kept)
    assert model.residuals_[np.searchsorted(kept, row)] == pytest.approx((y[row] / predicted - 1.0) / spread, rel=1e-8)


def relative_width(model: GroupJackknifeOLS, rows: pd.DataFrame) -> float:
    """Width of the interval of the first row over its prediction."""
    interval = model.predict_interval(rows)
    return float((interval.upper - interval.lower)[0] / model.predict(rows)[0])


@pytest.mark.parametrize("n_rows", [90, 600], ids=["Student's t", "quantiles"])
def test_intervals_cover_groups_that_nobody_saw(n_rows: int) -> None:
    """40 draws of training rows, each asked for a new draw: 95 % within four standard errors of a binomial over groups."""
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        frame, y, groups = runs(rng, n_rows, 15)
        model = GroupJackknifeOLS(TERMS).fit(frame, y, groups=groups)
        fresh, measured, _ = runs(rng, 200, 15)
        interval = model.predict_interval(fresh)
        covered.append(np.mean((interval.lower <= measured) & (measured <= interval.upper)))
    assert np.mean(covered) == pytest.approx(0.95, abs=4 * np.std(covered) / np.sqrt(len(covered)) + 0.01)


def test_a_rare_kind_of_row_has_a_wider_interval() -> None:
    frame, y, groups = runs(np.random.default_rng(2), 100, 10)
    model = GroupJackknifeOLS(TERMS).fit(frame, y, groups=groups)
    common, rare = frame.iloc[[0]], pd.DataFrame({"work": [5e3], "steps": [1.0]})
    widths = [relative_width(model, rows) for rows in (common, rare)]
    assert widths[1] > widths[0]
    assert model.in_domain(common).all()
    assert not model.in_domain(rare).any()


def test_costs_are_not_negative() -> None:
    rng = np.random.default_rng(3)
    frame, y, groups = runs(rng, 100, 10)
    model = GroupJackknifeOLS((*TERMS, "work * steps")).fit(frame, np.sqrt(y), groups=groups)
    assert (model.coef_ >= 0).all()
    assert (model.predict(frame) > 0).all()


def test_scikit_learn_contract() -> None:
    results = check_estimator(GroupJackknifeOLS(), on_skip=None, on_fail=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
