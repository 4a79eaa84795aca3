"""Nested cross-validation: the triangles of the folds give what refitting without each fold gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mlperf.core.errors import FitError
from mlperf.models.inference.nested import fold_models, joined, nested_error
from mlperf.models.inference.stability import SelectionProblem
from mlperf.models.selection.criteria import Criterion
from mlperf.models.selection.spaces import column_groups
from mlperf.models.validation.folds import grouped_folds


def timings(seed: int = 0, n: int = 160, p: int = 10) -> SelectionProblem:
    """Positive times, weights 1 / y**2, sizes over eight decades, a factor of three levels."""
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.integers(-2, 6, p)
    level = rng.integers(0, 3, n)
    X = np.column_stack([rng.lognormal(0.0, 1.0, (n, p)) * sizes, level == 1, level == 2])
    y = (2.0 + 3.0 * X[:, 0] / sizes[0] + X[:, 1] / sizes[1]) * (1.0 + 0.1 * rng.standard_normal(n))
    return SelectionProblem(X, y, np.array([*range(p + 1), p + 1, p + 1]), weights=1.0 / y**2)


def unweighted(seed: int = 0) -> SelectionProblem:
    return replace(timings(seed), weights=None, criterion=Criterion("bic", k=5.0))


def duplicate(seed: int = 0) -> SelectionProblem:
    problem = timings(seed)
    return replace(problem, X=np.column_stack([problem.X, problem.X[:, 0] - problem.X[:, 3]]), assign=np.append(problem.assign, 12))


def rare(seed: int = 0) -> SelectionProblem:
    problem = timings(seed)
    X = problem.X.copy()
    X[:, -1] = 0.0
    X[7, -1] = 1.0
    return replace(problem, X=X)


def both(seed: int = 0) -> SelectionProblem:
    return replace(timings(seed), direction="both", start=range(3))


@pytest.mark.parametrize("make", [timings, unweighted, duplicate, rare, both])
def test_folds_equal_selection_and_fit_without_their_rows(make: type[SelectionProblem]) -> None:
    problem = make(3)
    groups = np.arange(160) // 4
    answer = fold_models(problem, groups, 10, seed=5)
    for number, fold in enumerate(grouped_folds(groups, 10, 5)):
        assert (answer.fold_of[fold.test] == number).all()
        model = problem.select(problem.triangle(fold.train))
        assert answer.terms[number] == tuple(sorted(model))
        columns = np.concatenate([[0], *(column_groups(problem.assign)[term] for term in model)])
        design = np.column_stack([np.ones(160), problem.X])[:, columns]
        root = np.ones(160) if problem.weights is None else np.sqrt(problem.weights)
        rows = design[fold.train] * root[fold.train, None]
        size = np.linalg.norm(rows, axis=0)
        used = size > 0.0
        coef = np.linalg.lstsq(rows[:, used] / size[used], problem.y[fold.train] * root[fold.train], rcond=None)[0] / size[used]
        np.testing.assert_allclose(answer.predicted[fold.test], design[fold.test][:, used] @ coef, rtol=1e-8)
        full = np.column_stack([np.ones(160), problem.X])
        np.testing.assert_allclose(full[fold.test] @ answer.coef[number], answer.predicted[fold.test], rtol=1e-9)


def test_joined_triangles_equal_the_triangle_of_all_rows() -> None:
    problem = timings()
    whole = problem.triangle()
    parts = joined([problem.triangle(np.arange(start, start + 40)) for start in range(0, 160, 40)])
    unit, other = np.diag(whole.scale), np.diag(parts.scale)
    np.testing.assert_allclose(other @ parts.r.T @ parts.r @ other, unit @ whole.r.T @ whole.r @ unit, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(parts.norms * parts.scale, whole.norms * whole.scale, rtol=1e-12)
    assert (parts.n_samples, parts.n_weighted) == (160, 160)


def test_optimism_is_apparent_minus_left_out() -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 20))
    problem = SelectionProblem(X, 10.0 + rng.standard_normal(60), np.arange(21))
    answer = nested_error(problem, problem.select(problem.triangle()))
    assert answer.errors is not None
    assert answer.apparent is not None
    assert answer.optimism == pytest.approx(answer.apparent.mape - answer.errors.mape)
    assert answer.optimism < 0.0
    assert answer.rmse > answer.apparent_rmse
    assert answer.r2 < 0.0
    assert "models" not in answer.to_dict()
    assert list(answer.to_frame().index) == ["cross-validated", "apparent"]


def test_repeats_of_a_row_never_straddle_a_fold() -> None:
    rng = np.random.default_rng(2)
    X = np.repeat(rng.standard_normal((20, 2)), 3, axis=0)
    answer = fold_models(SelectionProblem(X, rng.standard_normal(60), np.arange(3)))
    assert (answer.fold_of.reshape(20, 3) == answer.fold_of[::3, None]).all()


def test_times_that_are_not_positive_have_no_relative_error() -> None:
    rng = np.random.default_rng(4)
    answer = nested_error(SelectionProblem(rng.standard_normal((40, 2)), rng.standard_normal(40), np.arange(3)), [0])
    assert answer.errors is None
    assert np.isnan(answer.optimism)


def test_a_fold_without_enough_rows_is_named() -> None:
    rng = np.random.default_rng(5)
    problem = SelectionProblem(rng.standard_normal((12, 9)), rng.standard_normal(12), np.arange(10))
    with pytest.raises(FitError, match="left out: fold 0"):
        fold_models(problem, np.repeat([0, 1], 6), 2)
