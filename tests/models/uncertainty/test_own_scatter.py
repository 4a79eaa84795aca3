"""Scatter of measurements by themselves: repeats by hand, nothing of one, more than was guessed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from mlperf.models.uncertainty.own_scatter import OwnScatter, own_scatter, unexplained

SPREAD, GUESS = np.array([0.06]), np.array([0.03**2])


def scatter_of(ratio: list[float], variance: float = 0.03**2) -> OwnScatter:
    n = len(ratio)
    return own_scatter(SPREAD, np.ones((n, 1)), np.array(ratio), np.zeros(n, np.int64), np.array([variance]), GUESS, 3.0)


def test_repeats_are_as_many_as_rows_but_one() -> None:
    assert scatter_of([0.1]).n_repeats[0] == pytest.approx(0.0, abs=0.01)
    assert scatter_of([0.1, 0.11]).n_repeats[0] == pytest.approx(1.0, abs=0.01)
    assert scatter_of([0.1, 0.11, 0.12, 0.1]).n_repeats[0] == pytest.approx(3.0, abs=0.01)


def test_scatter_as_guessed_is_no_surprise() -> None:
    found = scatter_of([0.50, 0.51, 0.49])
    assert found.surprise[0] == 0.0
    assert found.bound_std(0.95)[0] == pytest.approx(0.03)


def test_scatter_far_beyond_the_guess_is_students() -> None:
    ratio = [0.0, 3.0, -2.0, 1.0, -2.0, 2.0]
    found = scatter_of(ratio, variance=3.0)
    half = found.bound_std(0.95)[0] * stats.norm.ppf(0.975)
    # Six rows, one mean; shrunk to no mean by the least spread of 0.5 only.
    assert half == pytest.approx(stats.t.ppf(0.975, 5) * np.std(ratio, ddof=1), rel=0.1)
    assert found.surprise[0] == pytest.approx(1.0, abs=0.001)


@pytest.mark.parametrize(("n_rows", "n_components"), [(1, 3), (3, 8), (40, 5)])
def test_what_factors_leave_is_that_of_the_whole_matrix(n_rows: int, n_components: int) -> None:
    rng = np.random.default_rng(n_rows)
    scaled = 0.5 * rng.dirichlet(np.ones(n_components), n_rows)
    noise, values = rng.choice([1e-8, 1e-4, 0.01], n_rows), rng.normal(0.0, 0.1, n_rows)
    matrix = np.diag(noise) @ np.linalg.inv(scaled @ scaled.T + np.diag(noise))
    rest, squares = unexplained(scaled, noise, values)
    assert rest == pytest.approx(matrix @ values, rel=1e-6, abs=1e-9)
    assert squares == pytest.approx(np.square(matrix).sum(axis=1), rel=1e-6, abs=1e-9)


def test_thousands_of_rows_need_no_square_matrix() -> None:
    rng = np.random.default_rng(1)
    n = 100_000
    shares = rng.dirichlet(np.ones(8), n)
    found = own_scatter(
        np.full(8, 0.06), shares, rng.normal(0.0, 0.1, n), np.zeros(n, np.int64), np.array([0.01]), np.array([0.001]), 3.0
    )
    assert found.std[0] == pytest.approx(0.1, rel=0.01)
