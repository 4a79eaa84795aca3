"""Scores of leaving terms where columns repeat each other: equal to refits, without one factor a candidate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mlperf.models.algebra.triangle import triangle
from mlperf.models.selection import active
from mlperf.models.selection.active import Active
from mlperf.models.selection.criteria import Criterion
from mlperf.models.selection.spaces import select


def redundant_columns(seed: int, n_aliased: int, n_samples: int = 60) -> np.ndarray:
    """Whole numbers, so that ranks are exact: columns of their own, sums and multiples of them, a constant, zeros; shuffled."""
    rng = np.random.default_rng(seed)
    own = rng.integers(1, 50, (n_samples, 6)).astype(float)
    sums = np.column_stack([own[:, rng.integers(0, 6, 2)].sum(axis=1) for _ in range(n_aliased)])
    both = np.column_stack([own, sums, np.full(n_samples, 7.0), np.zeros(n_samples)])
    return both[:, rng.permutation(both.shape[1])]


def refit(columns: np.ndarray, y: np.ndarray) -> tuple[int, float]:
    """Rank and RSS by singular values."""
    whole = np.column_stack([np.ones(len(y)), columns])
    left = y - whole @ np.linalg.lstsq(whole, y, rcond=None)[0]
    return int(np.linalg.matrix_rank(whole)), float(left @ left)


@pytest.mark.parametrize("seed", range(12))
def test_drop_scores_equal_refits_where_columns_are_redundant(seed: int) -> None:
    columns = redundant_columns(seed, 5)
    y = columns[:, 0] + np.random.default_rng(seed).standard_normal(len(columns))
    groups = [np.array([place + 1]) for place in range(columns.shape[1])]
    model = Active(triangle(columns, y, None, intercept=True), groups, 1e-7)
    left = list(range(columns.shape[1]))
    while left:
        scores = model.drop_scores()
        rank = refit(columns[:, left], y)[0]
        expected = [refit(columns[:, [other for other in left if other != term]], y) for term in left]
        assert scores.df.tolist() == [rank - fewer for fewer, _ in expected]
        np.testing.assert_allclose(scores.rss, [rss for _, rss in expected], rtol=1e-8)
        free = np.flatnonzero(scores.df == 0)
        gone = int(free[-1]) if len(free) else 0
        model.drop(gone)
        del left[gone]


def test_aliased_columns_leave_without_a_factor_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """120 of 130 columns are redundant: a factor for every candidate of every step would be some 10,000."""
    calls = []
    plain: Any = active.factor_columns

    def counted(*arguments: Any) -> Any:
        calls.append(1)
        return plain(*arguments)

    monkeypatch.setattr(active, "factor_columns", counted)
    columns = redundant_columns(0, 120, 200)
    y = columns[:, 3] + np.random.default_rng(1).standard_normal(200)
    found = select(triangle(columns, y, None, intercept=True), np.arange(columns.shape[1] + 1), Criterion())
    assert len(calls) < 20
    assert sum(not table.shown for table in found.tables) == 122
    assert found.n_candidates == sum(len(table.terms) for table in found.tables if table.shown)
