"""Intervals: textbook formulas, coverage by simulation, joint draws, files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import statsmodels.regression.linear_model as sm
from scipy import stats

from mlperf.core.errors import DataError, FitError, UsageError
from mlperf.models.algebra.fixed_order import evaluate_fixed_order, squared_length_fixed_order
from mlperf.models.uncertainty.draws import bootstrap_coefficients, coefficient_draws, row_bootstrap
from mlperf.models.uncertainty.intervals import Interval, cv_plus_interval
from mlperf.models.uncertainty.residual_quantiles import ResidualQuantiles
from mlperf.models.uncertainty.spread import Spread
from mlperf.models.validation.folds import grouped_folds

pytestmark = pytest.mark.slow


def design(rng: np.random.Generator, n: int) -> Any:
    return np.column_stack([np.ones(n), rng.lognormal(0.0, 1.0, (n, 2))])


def fitted(matrix: Any, y: Any, noise: str = "absolute", residuals: ResidualQuantiles | None = None) -> Spread:
    """Plain least squares (rows divided by y for relative, log y for log)."""
    weight = 1.0 / y if noise == "relative" else np.ones(len(y))
    target = np.log(y) if noise == "log" else y
    basis, triangle = np.linalg.qr(matrix * weight[:, None])
    coef = np.linalg.solve(triangle, basis.T @ (target * weight))
    residual = (target - matrix @ coef) * weight
    df = len(y) - matrix.shape[1]
    return Spread(coef, np.linalg.inv(triangle), float(np.sqrt(residual @ residual / df)), float(df), noise, residuals)


def left_out(matrix: Any, y: Any, groups: Any, noise: str) -> ResidualQuantiles:
    parts = []
    for fold in grouped_folds(groups, 10, 0):
        shown = matrix[fold.test] @ fitted(matrix[fold.train], y[fold.train], noise).coef
        parts.append(
            {"absolute": y[fold.test] - shown, "relative": y[fold.test] / shown - 1.0, "log": np.log(y[fold.test]) - shown}[noise]
        )
    return ResidualQuantiles.of(np.concatenate(parts))


def test_both_intervals_equal_statsmodels() -> None:
    rng = np.random.default_rng(0)
    matrix = design(rng, 40)
    y = matrix @ [1.0, 2.0, 3.0] + rng.standard_normal(40)
    queries = design(rng, 9)
    frame = sm.OLS(y, matrix).fit().get_prediction(queries).summary_frame(alpha=0.1)
    spread = fitted(matrix, y)
    mean, run = spread.interval(queries, kind="mean", level=0.9), spread.interval(queries, kind="run", level=0.9)
    np.testing.assert_allclose(mean.lower, frame["mean_ci_lower"], rtol=1e-9)
    np.testing.assert_allclose(run.upper, frame["obs_ci_upper"], rtol=1e-9)
    of_many = spread.interval(queries, kind="run", level=0.9, mean_of=10**12)
    np.testing.assert_allclose(of_many.lower, mean.lower, rtol=1e-6)


@pytest.mark.parametrize("noise", ["absolute", "relative", "log"])
@pytest.mark.parametrize("method", ["student", "conformal"])
def test_a_run_is_covered_as_often_as_asked(noise: str, method: str) -> None:
    """400 fits of 150 rows, one new set of 20 runs each: standard error of the share below 0.4 %."""
    rng = np.random.default_rng(7)
    hits = []
    for _ in range(400 if method == "student" else 150):
        matrix = design(rng, 170)
        clean = matrix @ [2.0, 1.0, 0.5]
        own = 0.05 * rng.standard_normal(170)
        y = {"absolute": clean + own, "relative": clean * (1.0 + own), "log": np.exp(clean / 5.0 + own)}[noise]
        shown = matrix / 5.0 if noise == "log" else matrix
        residuals = left_out(shown[:150], y[:150], np.arange(150) // 5, noise) if method == "conformal" else None
        interval = fitted(shown[:150], y[:150], noise, residuals).interval(shown[150:], kind="run", method=method)
        hits.append((interval.lower <= y[150:]) & (y[150:] <= interval.upper))
    assert 0.94 <= np.mean(hits) <= 0.965


def test_skewed_noise_needs_left_out_residuals() -> None:
    """Exponential relative noise: the symmetric interval misses the upper tail, the conformal one has 2.5 % on each side."""
    rng = np.random.default_rng(11)
    above: dict[str, list[Any]] = {"student": [], "conformal": []}
    for _ in range(60):
        matrix = design(rng, 420)
        y = matrix @ [2.0, 1.0, 0.5] * (1.0 + 0.3 * rng.exponential(size=420))
        spread = fitted(matrix[:400], y[:400], "relative", left_out(matrix[:400], y[:400], np.arange(400) // 4, "relative"))
        for method, found in above.items():
            found.append(y[400:] > spread.interval(matrix[400:], kind="run", method=method).upper)
    assert np.mean(above["student"]) > 0.04
    assert np.mean(above["conformal"]) == pytest.approx(0.025, abs=0.01)


@pytest.mark.parametrize("noise", ["absolute", "relative"])
def test_draws_have_the_spread_of_the_interval(noise: str) -> None:
    rng = np.random.default_rng(2)
    matrix = design(rng, 60)
    y = (matrix @ [2.0, 1.0, 0.5]) * (1.0 + 0.1 * rng.standard_normal(60))
    spread, queries = fitted(matrix, y, noise), design(rng, 4)
    for kind in ("mean", "run"):
        drawn = spread.sample(queries, np.random.default_rng(3), 40_000, kind)
        interval = spread.interval(queries, kind=kind)
        width = interval.upper - interval.lower
        np.testing.assert_allclose(np.quantile(drawn, 0.025, axis=0), interval.lower, atol=0.02 * width.max())
        np.testing.assert_allclose(np.quantile(drawn, 0.975, axis=0), interval.upper, atol=0.02 * width.max())


def test_coefficient_draws_have_the_covariance_of_the_fit() -> None:
    factor = np.array([[1.0, 0.5], [0.0, 0.2]])
    drawn = coefficient_draws(np.array([1.0, 2.0]), factor, 3.0, np.inf, np.random.default_rng(0), 200_000)
    np.testing.assert_allclose(np.cov(drawn.T), 9.0 * factor @ factor.T, rtol=0.02)


def test_bootstrap_coefficients_equal_fits_of_the_repeated_rows() -> None:
    rng = np.random.default_rng(4)
    matrix = design(rng, 50) * [1.0, 1e6, 1e-6]
    y = matrix @ [1.0, 2e-6, 3e6] + rng.standard_normal(50)
    counts = row_bootstrap(50, 30, 5)
    assert (counts.sum(axis=1) == 50).all()
    for coef, count in zip(bootstrap_coefficients(matrix, y, counts), counts, strict=True):
        rows = np.repeat(np.arange(50), count)
        np.testing.assert_allclose(coef, sm.OLS(y[rows], matrix[rows]).fit(method="qr").params, rtol=1e-8)


def test_components_on_the_same_rows_stay_correlated() -> None:
    rng = np.random.default_rng(6)
    matrix = design(rng, 80)
    shared = rng.standard_normal(80)
    counts = row_bootstrap(80, 200, 1)
    spreads = [
        Spread(np.zeros(3), None, 1.0, 77.0, draws=bootstrap_coefficients(matrix, shared + 0.1 * rng.standard_normal(80), counts))
        for _ in range(2)
    ]
    first, second = (spread.sample(matrix[:1], np.random.default_rng(seed), 200)[:, 0] for seed, spread in enumerate(spreads))
    assert np.corrcoef(first, second)[0, 1] > 0.95


def test_cv_plus_covers_small_samples_without_a_normal_assumption() -> None:
    """Rows n = 30, 8 columns, Student-3 noise; the guarantee is 90 %, the aim 95 %."""
    rng = np.random.default_rng(12)
    hits = []
    for _ in range(300):
        matrix = rng.standard_normal((35, 8))
        y = matrix.sum(axis=1) + rng.standard_t(3, 35)
        folds = grouped_folds(np.arange(30), 10, 0)
        coefs, fold_of, residuals = [], np.empty(30, dtype=np.int64), np.empty(30)
        for number, fold in enumerate(folds):
            coefs.append(np.linalg.lstsq(matrix[fold.train], y[fold.train], rcond=None)[0])
            fold_of[fold.test], residuals[fold.test] = number, y[fold.test] - matrix[fold.test] @ coefs[-1]
        interval = cv_plus_interval(np.array(coefs) @ matrix[30:].T, fold_of, residuals, 0.95, relative=False)
        hits.append((interval.lower <= y[30:]) & (y[30:] <= interval.upper))
    assert 0.93 <= np.mean(hits) <= 0.99


def test_cv_plus_of_one_model_is_the_split_conformal_rank() -> None:
    interval = cv_plus_interval(np.zeros((1, 1)), np.zeros(39, dtype=np.int64), np.arange(39.0), 0.95, relative=False)
    assert (interval.lower[0], interval.upper[0]) == (-37.0, 37.0)
    too_few = cv_plus_interval(np.zeros((1, 1)), np.zeros(18, dtype=np.int64), np.arange(18.0), 0.95, relative=False)
    assert np.isinf(too_few.upper[0])


def test_quantiles_of_many_residuals_keep_the_tails() -> None:
    residuals = ResidualQuantiles.of(stats.norm.ppf((np.arange(100_000) + 0.5) / 100_000))
    probability = np.array([0.0005, 0.005, 0.025, 0.5, 0.975, 0.995])
    np.testing.assert_allclose(residuals.at(probability), stats.norm.ppf(probability), atol=5e-3)
    assert residuals.spread == pytest.approx(0.985, abs=0.01)


def test_fixed_order_is_the_same_for_a_table_and_its_rows() -> None:
    rng = np.random.default_rng(8)
    matrix, coef = rng.lognormal(0.0, 5.0, (50, 30)), rng.standard_normal(30)
    whole = evaluate_fixed_order(matrix, coef)
    np.testing.assert_array_equal(whole, [evaluate_fixed_order(np.asfortranarray(row[None]), coef)[0] for row in matrix])
    np.testing.assert_allclose(whole, matrix @ coef, rtol=1e-12)
    factor = np.triu(rng.standard_normal((30, 30)))
    np.testing.assert_allclose(squared_length_fixed_order(matrix, factor), np.square(matrix @ factor).sum(axis=1), rtol=1e-10)


@pytest.mark.parametrize("noise", ["absolute", "relative", "log"])
def test_reloaded_spread_gives_the_same_bits(noise: str) -> None:
    rng = np.random.default_rng(13)
    matrix = design(rng, 60)
    y = np.exp(0.2 * matrix @ [2.0, 1.0, 0.5] + 0.1 * rng.standard_normal(60))
    spread = fitted(matrix, y, noise, left_out(matrix, y, np.arange(60), noise))
    again = Spread.from_dict(json.loads(json.dumps(spread.to_dict())))
    for kind in ("mean", "run"):
        before, after = spread.interval(matrix, kind=kind), again.interval(matrix, kind=kind)
        np.testing.assert_array_equal(before.lower, after.lower)
        np.testing.assert_array_equal(before.upper, after.upper)
    drawn = (item.sample(matrix, np.random.default_rng(0), 5, "run") for item in (spread, again))
    np.testing.assert_array_equal(*drawn)
    assert Interval.from_dict(json.loads(json.dumps(before.to_dict()))).level == 0.95


def test_wrong_questions_are_refused() -> None:
    spread = fitted(np.eye(3)[:, :2] + 1.0, np.array([1.0, 2.0, 4.0]))
    with pytest.raises(UsageError, match="kind"):
        spread.interval(np.ones((1, 2)), kind="both")
    with pytest.raises(UsageError, match="fraction"):
        spread.interval(np.ones((1, 2)), level=95)
    with pytest.raises(UsageError, match="conformal"):
        spread.interval(np.ones((1, 2)), kind="run", method="conformal")
    with pytest.raises(FitError, match="degrees of freedom"):
        Spread(np.ones(2), np.eye(2), np.nan, 0.0).interval(np.ones((1, 2)))
    with pytest.raises(FitError, match="draws"):
        Spread(np.ones(2), None, 1.0, 5.0).interval(np.ones((1, 2)))
    with pytest.raises(DataError) as caught:
        Spread.from_dict(spread.to_dict() | {"factor": [1.0]}, "$.spread")
    assert caught.value.place == "$.spread.factor"
