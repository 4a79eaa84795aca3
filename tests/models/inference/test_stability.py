"""Bootstrap of the selection: the lockstep engine chooses what the one-at-a-time engine chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import FitError, UsageError
from mlperf.models.inference.stability import SelectionProblem, _outcomes, selection_stability
from mlperf.models.selection.criteria import Criterion
from mlperf.models.selection.lockstep import resample_counts
from mlperf.models.selection.spaces import column_groups

N_CHECKED = 50


def numeric(rng: np.random.Generator) -> SelectionProblem:
    X = rng.standard_normal((120, 12)) * 10.0 ** rng.integers(-9, 12, 12)
    y = X[:, 0] / X[:, 0].std() + rng.standard_normal(120)
    return SelectionProblem(X, y, np.arange(13))


def rare_levels(rng: np.random.Generator) -> SelectionProblem:
    """A factor whose last level has two rows (missing in every eighth resample), and one with three levels."""
    level = np.concatenate([np.arange(98) % 3, [3, 3]])
    other = rng.integers(0, 3, 100)
    X = np.column_stack([rng.standard_normal((100, 4)), level == 1, level == 2, level == 3, other == 1, other == 2]).astype(float)
    y = X[:, 0] + 0.4 * X[:, 7] + rng.standard_normal(100)
    return SelectionProblem(X, y, np.array([0, 1, 2, 3, 4, 5, 5, 5, 6, 6]))


def rare_base(rng: np.random.Generator) -> SelectionProblem:
    """The base level has two rows: without them the other levels' columns sum to the constant."""
    problem = rare_levels(rng)
    X = problem.X.copy()
    X[:, 4:7] = np.concatenate([np.arange(98) % 3 + 1, [0, 0]])[:, None] == np.array([1, 2, 3])
    return replace(problem, X=X)


def marginal(rng: np.random.Generator) -> SelectionProblem:
    a, b, c = rng.standard_normal((3, 90))
    X = np.column_stack([a, b, c, a * b, b * c])
    keys = [frozenset(name) for name in ("a", "b", "c", "ab", "bc")]
    return SelectionProblem(X, a + 0.3 * a * b + rng.standard_normal(90), np.arange(6), keys=keys, lower=[2])


def weighted(rng: np.random.Generator) -> SelectionProblem:
    problem = numeric(rng)
    return replace(problem, weights=rng.uniform(0.1, 3.0, 120), criterion=Criterion("bic", k=float(np.log(120))))


def no_constant(rng: np.random.Generator) -> SelectionProblem:
    problem = numeric(rng)
    return replace(problem, intercept=False, assign=np.arange(1, 13), criterion=Criterion("aicc"))


def duplicated(rng: np.random.Generator) -> SelectionProblem:
    problem = numeric(rng)
    return replace(problem, X=np.column_stack([problem.X, problem.X[:, 1] * 2.0]), assign=np.arange(14))


def forward(rng: np.random.Generator) -> SelectionProblem:
    return replace(numeric(rng), direction="forward")


PROBLEMS = [numeric, rare_levels, rare_base, marginal, weighted, no_constant, duplicated, forward]


@pytest.mark.parametrize("make", PROBLEMS)
def test_every_resample_selects_what_one_at_a_time_selects(make: Any) -> None:
    problem = make(np.random.default_rng(1))
    outcomes = _outcomes(problem, N_CHECKED, seed=4)
    counts = np.hstack([part for _, part in resample_counts(len(problem.y), N_CHECKED, 4)])
    assert outcomes.decided.all()
    for kept, coef, count in zip(outcomes.kept, outcomes.coef, counts, strict=True):
        rows = np.repeat(np.arange(len(count)), count)
        model = problem.select(problem.triangle(rows))
        # A factor that no row of the resample tells anything about leaves first in both.
        assert set(np.flatnonzero(kept)) == set(model)
        design = np.column_stack([np.ones(len(rows)), problem.X[rows]]) if problem.intercept else problem.X[rows]
        groups = column_groups(problem.assign)
        columns = [int(column) for column in np.concatenate([[0] * problem.intercept, *(groups[term] for term in model)])]
        columns = [column for column in columns if np.isfinite(coef[column])]
        root = np.ones(len(rows)) if problem.weights is None else np.sqrt(problem.weights[rows])
        size = np.linalg.norm(design[:, columns], axis=0)
        expected = np.linalg.lstsq(design[:, columns] / size * root[:, None], problem.y[rows] * root, rcond=None)[0] / size
        np.testing.assert_allclose(coef[columns] * size, expected * size, rtol=1e-6, atol=1e-8)


def test_counts_are_bootstrap_resamples_in_chunks() -> None:
    parts = list(resample_counts(9000, 20, 0))
    assert [rows.stop - rows.start for rows, _ in parts] == [4096, 4096, 808]
    counts = np.hstack([part for _, part in parts])
    assert (counts.sum(axis=1) == 9000).all()
    assert counts.var() == pytest.approx(1.0, abs=0.05)


def test_the_summary_says_what_was_chosen() -> None:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 5))
    problem = SelectionProblem(X, 3.0 * X[:, 0] + rng.standard_normal(200), np.arange(6))
    answer = selection_stability(problem, [0], n_resamples=400)
    assert answer.inclusion[0] == 1.0
    assert (answer.inclusion[1:] < 0.9).all()
    assert answer.n_models <= 16
    assert answer.frequency.sum() <= 1.0 + 1e-12
    assert (np.diff(answer.frequency) <= 0).all()
    assert answer.reported_frequency == answer.frequency[answer.models.index((0,))]
    assert answer.coef_lower[1] < 3.0 < answer.coef_upper[1]
    assert (answer.n_aliased, answer.n_failed) == (0, 0)
    again = selection_stability(problem, [0], n_resamples=400)
    np.testing.assert_array_equal(again.coef_upper, answer.coef_upper)


def test_resamples_that_alias_more_than_the_data_are_counted() -> None:
    """Two rows of a hundred are both missing with probability 0.98**100 = 13 %."""
    answer = selection_stability(rare_levels(np.random.default_rng(3)), [0], n_resamples=300)
    assert answer.n_aliased / 300 == pytest.approx(0.98**100, abs=4 * np.sqrt(0.13 * 0.87 / 300))
    base = selection_stability(rare_base(np.random.default_rng(3)), [0], n_resamples=300)
    assert base.n_aliased == answer.n_aliased


def test_too_few_rows_and_resamples_are_refused() -> None:
    rng = np.random.default_rng(0)
    problem = SelectionProblem(rng.standard_normal((15, 9)), rng.standard_normal(15), np.arange(10))
    with pytest.raises(FitError, match="distinct rows"):
        selection_stability(problem, [0])
    with pytest.raises(UsageError, match="n_resamples"):
        selection_stability(numeric(rng), [0], n_resamples=0)
