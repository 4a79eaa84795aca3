"""The one-pass triangle: both paths, weights, fall-back, refinement on machines without long doubles."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.models.algebra.aliasing import factor_columns
from mlperf.models.algebra.refine import residual_equations, solve, two_product
from mlperf.models.algebra.triangle import triangle
from mlperf.models.selection.spaces import select


def data(seed: int, n: int = 3000, p: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-4, 6, p) + 10.0 ** rng.integers(-2, 3, p)
    return x, (x / x.std(axis=0)) @ rng.normal(size=p) + rng.normal(size=n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("path", ["qr", "gram"])
def test_the_factor_holds_the_cross_products(weighted: bool, intercept: bool, path: str) -> None:
    x, y = data(1)
    weights = np.random.default_rng(2).uniform(0, 2, len(y)) if weighted else None
    made = triangle(x, y, weights, intercept=intercept, path=path)
    whole = np.column_stack([*([np.ones(len(y))] if intercept else []), x, y]) / made.scale
    rows = whole if weights is None else whole * np.sqrt(weights)[:, None]
    np.testing.assert_allclose(made.r.T @ made.r, rows.T @ rows, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(made.norms, np.linalg.norm(rows, axis=0), rtol=1e-12)
    assert np.array_equal(np.log2(made.scale), np.rint(np.log2(made.scale)))


def test_both_paths_select_alike() -> None:
    x, y = data(4)
    paths = [select(triangle(x, y, path=path), np.arange(x.shape[1] + 1)).path for path in ("qr", "gram")]
    assert [point.term for point in paths[0]] == [point.term for point in paths[1]]
    # AIC is n log(RSS / n) + 2 k: a relative error of RSS becomes n times that in AIC, also where AIC is near zero.
    rss_rtol = 1e-12
    np.testing.assert_allclose([p.value for p in paths[0]], [p.value for p in paths[1]], rtol=0, atol=rss_rtol * len(y))


def test_near_singular_products_fall_back_to_qr() -> None:
    x, y = data(5)
    near = np.column_stack([x, x[:, 0] * (1 + 1e-9 * np.random.default_rng(0).normal(size=len(y)))])
    made = triangle(near, y, path="gram")
    assert made.path == "qr"
    assert list(factor_columns(made, np.arange(made.n_columns), 1e-7).aliased) == [8]


def test_weights_of_zero_leave_the_factor_but_count() -> None:
    x, y = data(6, n=50, p=3)
    weights = np.ones(50)
    weights[:7] = 0
    made, without = triangle(x, y, weights), triangle(x[7:], y[7:])
    assert (made.n_samples, made.n_weighted) == (50, 43)
    np.testing.assert_allclose(np.abs(made.r), np.abs(without.r), rtol=1e-12, atol=1e-12)


def test_two_products_are_exact() -> None:
    from fractions import Fraction

    rng = np.random.default_rng(3)
    a, b = rng.normal(size=50), rng.normal(size=50) * 1e7
    product, error = two_product(a, b)
    for one, two, high, low in zip(a, b, product, error, strict=True):
        assert Fraction(float(one)) * Fraction(float(two)) == Fraction(float(high)) + Fraction(float(low))


def test_machines_without_long_doubles_get_the_same_digits() -> None:
    powers = np.vander(np.arange(1.0, 22.0) / 32.0, 6, increasing=True)  # exact in binary, and so is y
    y = powers @ np.ones(6)
    wide, narrow = solve(powers, y), solve(powers, y, long_double=False)
    np.testing.assert_allclose(narrow.b, np.ones(6), rtol=1e-13)
    np.testing.assert_allclose(wide.b, narrow.b, rtol=1e-13)
    left, gradient = residual_equations(powers, y, narrow.b, narrow.residuals, long_double=False)
    assert np.abs(left).max() < 1e-15
    assert np.abs(gradient).max() < 1e-13
