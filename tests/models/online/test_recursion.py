"""The recursion against batch least squares, statsmodels, weighted least squares and ridge: truth from other algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS
from statsmodels.regression.recursive_ls import RecursiveLS

from mlperf.models.online.recursion import Recursion, RecursionSettings


def series(n_rows: int = 300, n_columns: int = 5, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = np.column_stack(
        [np.ones(n_rows), rng.standard_normal((n_rows, n_columns - 1)) * 10.0 ** rng.uniform(-1, 1, n_columns - 1)]
    )
    rows[:, 2] += 0.9 * rows[:, 1]
    return rows, rows @ rng.standard_normal(n_columns) + rng.standard_normal(n_rows)


def path(settings: RecursionSettings, rows: np.ndarray, targets: np.ndarray) -> tuple[Recursion, np.ndarray]:
    recursion = Recursion(rows.shape[1], settings)
    found = []
    for row, target in zip(rows, targets, strict=True):
        recursion.learn(row, target)
        found.append(recursion.coef.copy())
    return recursion, np.array(found)


def test_without_forgetting_it_is_ordinary_least_squares() -> None:
    rows, targets = series()
    recursion, found = path(RecursionSettings(), rows, targets)
    batch = OLS(targets, rows).fit()
    np.testing.assert_allclose(found[-1], batch.params, rtol=1e-8)
    np.testing.assert_allclose(recursion.covariance, batch.normalized_cov_params, rtol=1e-7, atol=1e-12)
    assert (recursion.covariance == recursion.covariance.T).all()


def test_every_step_equals_statsmodels() -> None:
    rows, targets = series(120)
    found = path(RecursionSettings(), rows, targets)[1]
    theirs = RecursiveLS(targets, rows).fit().recursive_coefficients.filtered.T
    np.testing.assert_allclose(found[10:], theirs[10:], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_rows", [3, 5, 6, 40])
def test_few_rows_are_fitted_with_least_norm(n_rows: int) -> None:
    rows, targets = series(n_rows)
    found = path(RecursionSettings(), rows, targets)[1][-1]
    np.testing.assert_allclose(rows @ found, rows @ np.linalg.lstsq(rows, targets, rcond=None)[0], rtol=1e-8, atol=1e-8)


def test_collinear_columns_stay_exact() -> None:
    rows, targets = series(200)
    rows[:, 4] = rows[:, 1] - 2.0 * rows[:, 3]
    found = path(RecursionSettings(), rows, targets)[1][-1]
    np.testing.assert_allclose(rows @ found, rows @ np.linalg.lstsq(rows, targets, rcond=None)[0], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("forgetting", [0.9, 0.98, 0.999])
def test_forgetting_is_weighted_least_squares(forgetting: float) -> None:
    rows, targets = series()
    found = path(RecursionSettings(forgetting=forgetting), rows, targets)[1][-1]
    root = np.sqrt(forgetting ** np.arange(len(rows))[::-1])
    weighted = np.linalg.lstsq(rows * root[:, None], targets * root, rcond=None)[0]
    np.testing.assert_allclose(found, weighted, rtol=1e-8)


def test_a_prior_is_ridge_regression() -> None:
    rows, targets = series(50)
    found = path(RecursionSettings(prior_variance=0.3), rows, targets)[1][-1]
    ridge = np.linalg.solve(rows.T @ rows + np.eye(rows.shape[1]) / 0.3, rows.T @ targets)
    np.testing.assert_allclose(found, ridge, rtol=1e-9)


def test_a_clipped_residual_moves_the_coefficients_as_far_as_the_limit() -> None:
    rows, targets = series()
    settings = RecursionSettings(clip=2.0, prior_variance=1.0)
    recursion = path(settings, rows, targets)[0]
    before, scale, covariance = recursion.coef.copy(), recursion.scale, recursion.covariance.copy()
    row = rows[0]
    recursion.learn(row, recursion.predict(row) + 1e6)
    gain = covariance @ row / (1.0 + row @ covariance @ row)
    np.testing.assert_allclose(recursion.coef - before, gain * 2.0 * scale, rtol=1e-9)
    assert recursion.scale < 1.1 * scale


def test_outliers_hardly_matter_with_clipping() -> None:
    rng = np.random.default_rng(5)
    rows = np.column_stack([np.ones(2000), rng.standard_normal(2000)])
    truth = np.array([1.0, 2.0])
    targets = rows @ truth + 0.1 * rng.standard_normal(2000)
    targets[rng.random(2000) < 0.05] += 50.0
    plain = path(RecursionSettings(prior_variance=10.0), rows, targets)[1][-1]
    clipped = path(RecursionSettings(prior_variance=10.0, clip=2.0), rows, targets)[1][-1]
    assert abs(plain[0] - truth[0]) > 1.0
    assert np.abs(clipped - truth).max() < 0.1


def test_the_trace_never_exceeds_its_cap_when_nothing_is_new() -> None:
    recursion = Recursion(3, RecursionSettings(forgetting=0.9, prior_variance=1.0, max_trace=2.5))
    for _ in range(500):
        recursion.learn(np.array([1.0, 0.0, 0.0]), 1.0)
        assert recursion.covariance.trace() <= 2.5 + 1e-12
    assert recursion.n_capped > 400
    free = Recursion(3, RecursionSettings(forgetting=0.9, prior_variance=1.0, max_trace=np.inf))
    for _ in range(500):
        free.learn(np.array([1.0, 0.0, 0.0]), 1.0)
    assert free.covariance.trace() > 1e6


def test_a_long_stream_with_forgetting_keeps_a_positive_covariance() -> None:
    rows, targets = series(5000)
    recursion = path(RecursionSettings(forgetting=0.99, clip=2.0, prior_variance=1.0), rows, targets)[0]
    assert np.linalg.eigvalsh(recursion.covariance).min() > 0.0
    assert np.isfinite(recursion.coef).all()
