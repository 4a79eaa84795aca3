"""Costs are the best that are not negative; AIC drops what explains nothing; left-out rows are predicted without them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
import statsmodels.api as sm

from mlperf.training.systems import step_fit
from mlperf.training.systems.step_fit import (
    BY_AIC,
    FULL,
    METHODS,
    ROBUST,
    chosen_method,
    costs_by_aic,
    fit_apart,
    left_out_ratios,
    ratio_error,
    relative_costs,
    robust_costs,
    shared_costs,
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


def test_terms_that_rows_hardly_tell_apart_share_their_cost() -> None:
    """Two columns that differ by less than the errors: one alone takes nearly all by least squares, each a half by the prior."""
    rng = np.random.default_rng(3)
    work = rng.uniform(1.0, 2.0, 30)
    design = np.column_stack([work, work * (1.0 + 1e-3 * rng.standard_normal(30))])
    seconds = 2.0 * work * np.exp(0.05 * rng.standard_normal(30))
    alone, found = relative_costs(design, seconds), shared_costs(design, seconds)
    assert alone.min() == 0.0
    assert found == pytest.approx([1.0, 1.0], rel=0.1)
    assert found.sum() == pytest.approx(alone.sum(), rel=0.01)


@pytest.mark.parametrize("scale", [1.0, 1e6])
def test_the_prior_of_a_share_is_as_wide_as_a_step(scale: float) -> None:
    """By hand: one term whose column is the time gives n / (n + variance); the unit of a column does not matter."""
    seconds = np.array([1.0, 1.0, 1.0, 1.0])
    column = np.array([0.9, 1.1, 0.8, 1.2])
    cost = column.sum() / (column @ column)
    variance = np.sum((cost * column - 1.0) ** 2) / 3.0
    found = shared_costs(scale * column[:, None], seconds)
    assert found == pytest.approx([column.sum() / (column @ column + variance * column.mean() ** 2) / scale])


def test_rows_without_errors_or_to_spare_keep_their_costs() -> None:
    design = np.random.default_rng(0).random((8, 3))
    assert shared_costs(design, design @ [1.0, 2.0, 0.0]) == pytest.approx([1.0, 2.0, 0.0], abs=1e-9)
    few, seconds = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 1.5])
    assert (shared_costs(few, seconds) == relative_costs(few, seconds)).all()


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


def test_robust_costs_are_those_of_statsmodels() -> None:
    """Positive costs that rows tell well: the prior is of no weight, and Huber's regression of `statsmodels` finds the same."""
    rng = np.random.default_rng(4)
    design = rng.random((400, 3)) + np.eye(3)[rng.integers(0, 3, 400)]
    seconds = design @ [1.0, 2.0, 4.0] * np.exp(0.01 * rng.standard_normal(400))
    seconds[:40] *= 2.0
    weighted = design / seconds[:, None]
    wanted = sm.RLM(np.ones(400), weighted, M=sm.robust.norms.HuberT(t=1.345)).fit(tol=1e-12, maxiter=500).params
    assert robust_costs(design, seconds) == pytest.approx(wanted, rel=2e-3)
    assert robust_costs(design, seconds) == pytest.approx([1.0, 2.0, 4.0], rel=0.02)
    assert np.abs(shared_costs(design, seconds) / [1.0, 2.0, 4.0] - 1.0).max() > 0.02


def test_robust_costs_of_rows_without_errors_are_exact() -> None:
    design = np.random.default_rng(0).random((8, 3))
    assert robust_costs(design, design @ [1.0, 2.0, 0.0]) == pytest.approx([1.0, 2.0, 0.0], abs=1e-9)


def test_weights_of_rows_are_those_of_rows_given_twice() -> None:
    rng = np.random.default_rng(5)
    design, seconds = rng.random((9, 2)), 1.0 + rng.random(9)
    twice = [*range(9), *range(4)]
    weights = np.repeat([1.0, 0.5], [4, 5])
    assert relative_costs(design, seconds, weights) == pytest.approx(relative_costs(design[twice], seconds[twice]))


@pytest.mark.parametrize(
    ("errors", "wanted"),
    [
        # Less by 0.1 on every row; less by 0.1 in the mean of gains from -0.9 to 1.1; equal; nothing known.
        ({FULL: [0.3, 0.3, 0.3, 0.3], ROBUST: [0.2, 0.2, 0.2, 0.2]}, ROBUST),
        ({FULL: [1.2, 0.1, 1.2, 0.1], ROBUST: [0.1, 1.0, 0.1, 1.0]}, FULL),
        ({FULL: [0.3, 0.2], BY_AIC: [0.3, 0.2]}, FULL),
        ({FULL: [np.nan], BY_AIC: [0.1]}, BY_AIC),
        ({FULL: [np.nan], BY_AIC: [np.nan]}, FULL),
    ],
)
def test_another_method_is_chosen_where_its_gain_is_beyond_noise(errors: dict, wanted: str) -> None:
    assert chosen_method({name: -np.log1p(each) for name, each in errors.items()}) == wanted


@pytest.mark.parametrize("method", [FULL, BY_AIC, ROBUST])
def test_many_rows_are_reduced_before_costs_are_sought(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A triangle as long as the terms goes to the solver, and gives the costs of all rows: two terms are alike."""
    rng = np.random.default_rng(6)
    n_rows = 2 * step_fit.MANY_ROWS
    design = rng.random((n_rows, 6)) * [1.0, 1e9, 1e-6, 1.0, 1.0, 1e3]
    design[:, 4] = design[:, 3] * (1.0 + 1e-3 * rng.standard_normal(n_rows))
    seconds = design @ [1.0, 2e-9, 3e6, 1.0, 1.0, 0.0] * np.exp(0.2 * rng.standard_normal(n_rows))
    shapes = []

    def nnls(rows: np.ndarray, target: np.ndarray, **options: int) -> tuple[np.ndarray, float]:
        shapes.append(len(rows))
        return scipy.optimize.nnls(rows, target, **options)

    monkeypatch.setattr(step_fit, "nnls", nnls)
    found = METHODS[method](design, seconds)
    assert max(shapes) < 20
    monkeypatch.setattr(step_fit, "MANY_ROWS", n_rows)
    assert found == pytest.approx(METHODS[method](design, seconds), rel=1e-9, abs=0.0)
    assert max(shapes) >= n_rows


def test_the_gain_of_rows_that_err_alike_is_that_of_their_groups() -> None:
    """Two groups of eight rows, gains of 0.1 and -0.04: beyond the error of 16 rows, not of 2 (by hand, and by `statsmodels`)."""
    gains, groups = np.repeat([0.1, -0.04], 8), np.repeat([0, 1], 8)
    ratios = {FULL: -np.log1p(np.full(16, 0.2)), ROBUST: -np.log1p(0.2 - gains)}
    assert chosen_method(ratios) == ROBUST
    assert chosen_method(ratios, groups) == FULL
    fit = sm.OLS(gains, np.ones(16)).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True})
    assert gains.mean() == pytest.approx(0.03)
    rows, clusters = np.std(gains, ddof=1) / 4.0, np.sqrt(2.0 / 1.0 * 2.0 * 0.56**2) / 16.0
    assert rows < gains.mean() < clusters == pytest.approx(0.07)
    assert float(fit.bse[0]) == pytest.approx(clusters)


def test_groups_of_one_row_are_rows() -> None:
    rng = np.random.default_rng(2)
    for _ in range(50):
        ratios = {FULL: rng.normal(0.0, 0.3, 9), BY_AIC: rng.normal(0.0, 0.25, 9)}
        assert chosen_method(ratios) == chosen_method(ratios, rng.permutation(9))
