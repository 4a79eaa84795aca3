"""Selective p-values: calibrated by Monte Carlo, equal to brute force, textbook where nothing was selected."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from mlperf.core.errors import UsageError
from mlperf.models.algebra.triangle import triangle
from mlperf.models.inference.comparisons import Comparisons, coordinates, fitted_model, moving_lines
from mlperf.models.inference.selective import SelectiveInference, selective_inference
from mlperf.models.inference.truncated import Pieces, feasible_pieces, log_beta_lower, log_tail, selective_bounds
from mlperf.models.selection.criteria import Criterion
from mlperf.models.selection.search import Selection
from mlperf.models.selection.spaces import column_groups, default_criterion, select

pytestmark = pytest.mark.slow

ALPHA = 0.05


def numeric_design(rng: np.random.Generator, n: int = 443, p: int = 30) -> tuple[Any, Any, set[int]]:
    """Correlated numeric columns; the first ten are real."""
    X = rng.standard_normal((n, p)) + 0.5 * rng.standard_normal((n, 1))
    return X, np.arange(p + 1), set(range(10))


def factor_design(rng: np.random.Generator, n: int = 200) -> tuple[Any, Any, set[int]]:
    """Eight numeric columns and six factors of three to five levels; three and two of them are real."""
    blocks, assign = [rng.standard_normal((n, 8))], list(range(1, 9))
    for factor, n_levels in enumerate((3, 3, 4, 4, 5, 5)):
        level = rng.integers(0, n_levels, n)
        blocks.append((level[:, None] == np.arange(1, n_levels)).astype(float))
        assign += [9 + factor] * (n_levels - 1)
    return np.hstack(blocks), np.array([0, *assign]), {0, 1, 2, 8, 10}


def small_factor_design(rng: np.random.Generator) -> tuple[Any, Any, set[int]]:
    return factor_design(rng, 80)


N_NULLS = 4000 if os.environ.get("MLPERF_LONG") == "1" else 200
"""True nulls of one calibration; the distribution of so many tells comparisons of the last step left out, or every second one.

Every second one of a forward selection is told from half as many more.
"""

DESIGNS: dict[str, Callable[[np.random.Generator], tuple[Any, Any, set[int]]]] = {
    "numeric": numeric_design,
    "factor": factor_design,
    "factor-80": small_factor_design,
}
NOISE = {"numeric": 3.0, "factor": 1.7, "factor-80": 1.0}
"""With more, most selections lose a real term and tell nothing of nulls."""


def without_bounds(_: Pieces, observed: np.ndarray, *__: float) -> tuple[np.ndarray, np.ndarray]:
    """In the place of bounds, which take a quarter of the time and of which no p-value is made."""
    nothing = np.full(len(observed), np.nan)
    return nothing, nothing


def null_p_values(
    monkeypatch: pytest.MonkeyPatch, name: str, n_nulls: int, seed: int, method: str = "truncated_f", **how: Any
) -> tuple[Any, Any]:
    """Selective and naive p-values of true nulls that were selected, over fits that kept every real term."""
    rng = np.random.default_rng(seed)
    selective: list[float] = []
    naive: list[float] = []
    monkeypatch.setattr("mlperf.models.inference.selective.selective_bounds", without_bounds)
    while len(selective) < n_nulls:
        X, assign, real = DESIGNS[name](rng)
        groups = column_groups(assign)
        signal = sum(X[:, groups[term] - 1].sum(axis=1) for term in real)
        y = signal + rng.standard_normal(len(X)) * NOISE[name]
        factor = triangle(X, y)
        selection = select(factor, assign, default_criterion(factor, how.get("criterion", "aic")), how.get("direction", "backward"))
        if not real <= set(selection.refits[-1].model):
            continue
        answer = selective_inference(factor, selection, groups, method=method)
        for term, p_value in zip(answer.terms, answer.term_p_value, strict=True):
            if term not in real:
                selective.append(p_value)
                naive.append(naive_p_value(selection, groups, term))
    return np.array(selective), np.array(naive)


def naive_p_value(selection: Selection, groups: Any, term: int) -> float:
    table = selection.tables[-1]
    if term not in table.terms:
        return float("nan")
    place = list(table.terms).index(term)
    df = len(groups[term])
    f_value = (table.rss[place] - table.base.rss) / df / (table.base.rss / (table.base.n - table.base.rank))
    return float(stats.f.sf(f_value, df, table.base.n - table.base.rank))


@pytest.mark.parametrize("name", DESIGNS)
def test_true_nulls_are_rejected_as_often_as_asked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within three standard errors of the share that is asked for; the naive test rejects every third."""
    selective, naive = null_p_values(monkeypatch, name, N_NULLS, seed=20)
    assert (naive < ALPHA).mean() > 0.25
    assert (selective < ALPHA).mean() == pytest.approx(ALPHA, abs=3 * (ALPHA * (1 - ALPHA) / N_NULLS) ** 0.5)
    assert stats.kstest(selective, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(
    "how", [{"direction": "forward"}, {"direction": "both"}, {"criterion": "bic"}, {"method": "exact_beta"}], ids=str
)
def test_other_directions_criteria_and_methods_are_calibrated_too(how: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    n_nulls = N_NULLS * 3 // 2 if how == {"direction": "forward"} else N_NULLS
    selective, _ = null_p_values(monkeypatch, "factor-80", n_nulls, seed=3, **how)
    assert (selective < ALPHA).mean() == pytest.approx(ALPHA, abs=3.5 * (ALPHA * (1 - ALPHA) / n_nulls) ** 0.5)
    assert stats.kstest(selective, "uniform").pvalue > 1e-3


def small_problem(seed: int, direction: str = "backward", name: str = "aic") -> tuple[Any, Any, Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 7)) @ (np.eye(7) + 0.4 * rng.standard_normal((7, 7)))
    assign = np.array([0, 1, 2, 2, 3, 4, 5, 5])
    y = X[:, 0] + 0.5 * X[:, 4] + rng.standard_normal(40)
    factor = triangle(X, y)
    groups = column_groups(assign)
    criterion = Criterion("cp", scale=1.1) if name == "cp" else default_criterion(factor, name)
    return X, y, assign, factor, groups, select(factor, assign, criterion, direction)


def the_path(selection: Selection) -> list[tuple[int, ...]]:
    return [point.model for point in selection.refits]


@pytest.mark.parametrize("direction", ["backward", "forward", "both"])
@pytest.mark.parametrize("name", ["aic", "bic", "aicc", "cp", "adj_r2"])
def test_the_feasible_set_is_where_the_selection_takes_the_same_path(direction: str, name: str) -> None:
    """Move the response along each line, select again from scratch, and compare with the intervals."""
    n_outside = 0
    for seed in range(2):
        X, y, assign, factor, groups, selection = small_problem(seed, direction, name)
        data = coordinates(factor, 1e-7)
        model = fitted_model(data, factor, groups, selection.refits[-1].model, 1e-7)
        tested = [np.array([place]) for place in range(1, len(model.columns))]
        lines = moving_lines(model, data.response, tested)
        constant = np.zeros((3, len(tested)))
        constant[0] = data.rss
        quadratics = Comparisons(data, lines, groups, factor, constant, 1e-7).quadratics(selection)
        assert (quadratics[0] + quadratics[1] * lines.observed + quadratics[2] * lines.observed**2 <= 1e-12).all()
        pieces = feasible_pieces(quadratics, lines.observed, signed=np.ones(len(tested), dtype=bool))
        design = np.column_stack([np.ones(40), X])
        for test, (place,) in enumerate(tested):
            kept = design[:, model.columns]
            coef = np.linalg.lstsq(kept, y, rcond=None)[0]
            others = np.delete(kept, place, axis=1)
            alone = kept[:, place] - others @ np.linalg.lstsq(others, kept[:, place], rcond=None)[0]
            mine = pieces.owner == test
            for t_factor in (-3.0, -1.0, -0.4, 0.2, 0.6, 0.9, 1.0, 1.3, 2.0, 5.0):
                moved = triangle(X, y + (t_factor - 1.0) * coef[place] * alone)
                again = select(moved, assign, selection.criterion, direction)
                t = t_factor * lines.observed[test]
                inside = bool(((pieces.lower[mine] <= t) & (t <= pieces.upper[mine])).any())
                assert inside == (the_path(again) == the_path(selection))
                n_outside += not inside
    assert n_outside > 10


def test_without_a_choice_the_selective_test_is_the_textbook_test() -> None:
    """A selection whose every term has to stay compares nothing: t test and Student interval of ordinary least squares."""
    X, y, assign, factor, groups, _ = small_problem(0)
    selection = select(factor, assign, lower=range(5))
    answer = selective_inference(factor, selection, groups)
    design = np.column_stack([np.ones(40), X])
    coef = np.linalg.lstsq(design, y, rcond=None)[0]
    residual = y - design @ coef
    std_err = np.sqrt(residual @ residual / 32 * np.diag(np.linalg.inv(design.T @ design)))
    np.testing.assert_allclose(answer.p_value, 2 * stats.t.sf(abs(coef / std_err), 32), rtol=1e-9)
    np.testing.assert_allclose(answer.lower, coef + stats.t.ppf(0.025, 32) * std_err, rtol=1e-6)
    np.testing.assert_allclose(answer.upper, coef + stats.t.ppf(0.975, 32) * std_err, rtol=1e-6)
    exact = selective_inference(factor, selection, groups, method="exact_beta")
    np.testing.assert_allclose(exact.p_value, answer.p_value, rtol=1e-9)
    smaller = np.linalg.lstsq(design[:, [0, 1, 4, 5, 6, 7]], y, rcond=None)[1][0]
    f_value = (smaller - residual @ residual) / 2 / (residual @ residual / 32)
    assert answer.term_p_value[1] == pytest.approx(stats.f.sf(f_value, 2, 32), rel=1e-9)


def test_scaling_rows_and_columns_changes_nothing() -> None:
    X, y, assign, factor, groups, selection = small_problem(2)
    scaled = triangle(X * 1e9, y * 1e-4)
    answer = selective_inference(scaled, select(scaled, assign), groups)
    plain = selective_inference(factor, selection, groups)
    np.testing.assert_allclose(answer.p_value, plain.p_value, rtol=1e-8)
    np.testing.assert_allclose(answer.lower[1:] * 1e13, plain.lower[1:], rtol=1e-6)


def test_an_aliased_column_changes_nothing() -> None:
    X, y, assign, _, groups, selection = small_problem(3)
    wider = np.column_stack([X, X[:, 0] + X[:, 1]])
    factor = triangle(wider, y)
    more = column_groups(np.append(assign, 6))
    answer = selective_inference(factor, select(factor, np.append(assign, 6)), more)
    plain = selective_inference(triangle(X, y), selection, groups)
    np.testing.assert_allclose(answer.p_value, plain.p_value, rtol=1e-6)


@pytest.mark.parametrize("direction", ["backward", "both"])
def test_bounds_cover_the_coefficient_of_the_selected_model(direction: str) -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((60, 8))
    mean = X @ np.array([1.0, 0.3, 0.15, 0, 0, 0, 0, 0])
    hits: list[bool] = []
    naive_hits: list[bool] = []
    for _ in range(160):
        y = mean + rng.standard_normal(60)
        factor = triangle(X, y)
        answer = selective_inference(
            factor, select(factor, np.arange(9), direction=direction, start=range(8)), column_groups(np.arange(9))
        )
        kept = np.column_stack([np.ones(60), X])[:, answer.columns]
        truth = np.linalg.lstsq(kept, mean, rcond=None)[0]
        coef = np.linalg.lstsq(kept, y, rcond=None)[0]
        half = 2.0 * np.sqrt(np.diag(np.linalg.inv(kept.T @ kept)))
        hits += list((answer.lower <= truth) & (truth <= answer.upper))[1:]
        naive_hits += list(np.abs(coef - truth) <= half)[1:]
    assert np.mean(naive_hits) < 0.91
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.parametrize(("criterion", "n", "reason"), [("p_value", 40, "p_value"), ("aic", 8, "degrees of freedom")])
def test_where_there_is_no_answer_the_reason_is_given(criterion: str, n: int, reason: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 8)), rng.standard_normal(n)
    factor = triangle(X, y)
    selection = select(factor, np.arange(9), default_criterion(factor, criterion), "forward")
    answer = selective_inference(factor, selection, column_groups(np.arange(9)))
    assert reason in str(answer.reason)
    assert np.isnan(answer.p_value).all()


def test_unknown_method_is_refused() -> None:
    *_, factor, groups, selection = small_problem(0)
    with pytest.raises(UsageError, match="exact_beta"):
        selective_inference(factor, selection, groups, method="naive")


def test_tails_far_beyond_double_precision() -> None:
    """Student's t with 10 degrees of freedom at 1e40: P ~ C t**-10, checked against the leading coefficient."""
    values = np.array([2.0, 1e40])
    answer = log_tail(values, np.ones(2), 10.0)
    assert answer[0] == pytest.approx(np.log(2 * stats.t.sf(2.0, 10)), rel=1e-12)
    assert answer[1] == pytest.approx(log_tail(np.array([1e20]), np.ones(1), 10.0)[0] - 10 * np.log(1e20), rel=1e-12)
    assert log_tail(np.array([60.0]), np.ones(1), np.inf)[0] == pytest.approx(np.log(2) + stats.norm.logsf(60.0), rel=1e-7)
    assert log_beta_lower(200.0, np.array(0.5), np.array(0.0375)) == pytest.approx(
        float(np.log(special.betainc(200.0, 0.5, 0.0375))), rel=1e-12
    )


def test_bounds_of_one_tail_equal_the_inverted_normal() -> None:
    """Truncation to t > 1, seen at 2: solve P(t > 2 | t > 1; mean) by scipy."""
    lower, upper = selective_bounds(Pieces(np.array([0]), np.array([1.0]), np.array([np.inf])), np.array([2.0]), np.inf, 0.9)
    for bound, tail in ((lower[0], 0.05), (upper[0], 0.95)):
        assert stats.norm.sf(2.0 - bound) / stats.norm.sf(1.0 - bound) == pytest.approx(tail, rel=1e-6)


def pieces_by_grid(quadratics: Any, grid: Any) -> Iterator[Any]:
    for test in range(quadratics.shape[2]):
        values = quadratics[0, :, test, None] + quadratics[1, :, test, None] * grid + quadratics[2, :, test, None] * grid**2
        yield (values <= 0.0).all(axis=0)


def test_pieces_equal_a_fine_grid() -> None:
    rng = np.random.default_rng(8)
    quadratics = rng.standard_normal((3, 6, 200))
    quadratics[2, 0] = 0.0
    quadratics[0] -= np.maximum(quadratics.sum(axis=0) + 0.1, 0.0)
    grid = np.linspace(-20.0, 20.0, 4001) + 1e-4
    pieces = feasible_pieces(quadratics, np.ones(200), signed=np.ones(200, dtype=bool))
    for test, expected in enumerate(pieces_by_grid(quadratics, grid)):
        mine = pieces.owner == test
        inside = ((pieces.lower[mine, None] <= grid) & (grid <= pieces.upper[mine, None])).any(axis=0)
        np.testing.assert_array_equal(inside, expected)
        assert (pieces.lower[mine][1:] >= pieces.upper[mine][:-1]).all()


def test_result_shows_itself() -> None:
    *_, factor, groups, selection = small_problem(0)
    answer = selective_inference(factor, selection, groups)
    assert isinstance(answer, SelectiveInference)
    assert list(answer.to_frame().columns) == ["column", "p_selective", "lower", "upper"]
    assert answer.to_dict()["method"] == "truncated_f"


def test_bounds_without_any_piece_say_nothing() -> None:
    """As where an exact fit leaves no spread: both ends were -inf, after a warning of a division."""
    pieces = Pieces(np.array([0]), np.array([1.0]), np.array([np.inf]))
    with np.errstate(all="raise"):
        lower, upper = selective_bounds(pieces, np.array([2.0, 3.0]), 20.0, 0.95)
    assert np.isfinite([lower[0], upper[0]]).all()
    assert (lower[1], upper[1]) == (-np.inf, np.inf)
