"""Sandwich errors against the matrices of the textbook."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.models.inference.sandwich import robust_factor, sandwich_factor


@pytest.mark.parametrize("n_groups", [40, 9, 2])
def test_the_factor_squares_to_bread_meat_bread(n_groups: int) -> None:
    """Also with fewer groups than columns, where the covariance is singular."""
    rng = np.random.default_rng(n_groups)
    matrix, score, bread = rng.standard_normal((40, 4)), rng.standard_normal(40), rng.uniform(0.5, 2.0, 40)
    groups = np.arange(40) % n_groups
    sums = np.array([(matrix[groups == group] * score[groups == group, None]).sum(axis=0) for group in range(n_groups)])
    inverse = np.linalg.inv(matrix.T @ (bread[:, None] * matrix))
    expected = inverse @ sums.T @ sums @ inverse
    factor = sandwich_factor(matrix, bread=bread, score=score, groups=groups)
    np.testing.assert_allclose(factor @ factor.T, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(factor, np.triu(factor))
    known = robust_factor(np.linalg.cholesky(inverse), matrix, score, groups)
    np.testing.assert_allclose(known @ known.T, expected, rtol=1e-10, atol=1e-12)


def test_without_groups_every_row_is_its_own() -> None:
    rng = np.random.default_rng(0)
    matrix, score, bread = rng.standard_normal((25, 3)), rng.standard_normal(25), np.ones(25)
    alone = sandwich_factor(matrix, bread=bread, score=score)
    own = sandwich_factor(matrix, bread=bread, score=score, groups=np.arange(25))
    np.testing.assert_allclose(alone @ alone.T, own @ own.T, rtol=1e-12)
