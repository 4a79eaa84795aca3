"""Trilinear SGEMM model against least squares, exact cases and the published interpolation errors."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mlperf.core.errors import DataError, DomainError, UsageError
from mlperf.models.estimators.local.grid_local import GridLocal
from mlperf.models.estimators.local.grid_time import gemm_terms

SIZES = np.unique(np.rint(np.sqrt(2.0) ** np.arange(0, 19)).astype(int))
GRID = np.stack(np.meshgrid(SIZES, SIZES, SIZES, indexing="ij"), axis=-1).reshape(-1, 3).astype(float)


def fit_nodes(sizes, trans, seconds, **parameters) -> GridLocal:
    m, n, k = np.asarray(sizes, dtype=float).T
    return GridLocal(**parameters).fit({"m": m, "n": n, "k": k, "trans": trans}, seconds)


def fitted(time_of, **parameters) -> GridLocal:
    return fit_nodes(GRID, "NN", time_of(GRID), **parameters)


def power(g):
    return lambda sizes: sizes.prod(axis=1) ** g * 1e-9


def rough(sizes):
    """A time without structure between nodes: every node its own draw."""
    return np.random.default_rng(0).lognormal(size=len(sizes)) * 1e-6


def queries(count: int, seed: int = 1, high: float = 512.0) -> np.ndarray:
    return np.exp(np.random.default_rng(seed).uniform(0, np.log(high), (count, 3)))


def test_it_is_the_least_squares_fit_through_the_eight_corners() -> None:
    """SPRINT eq. 6 solved by numpy's lstsq on scaled columns, 300 queries: equal up to the condition of that system (about 2e3)."""
    model = fitted(rough)
    lattice = model.lattices_["NN"]
    worst = 0.0
    for query in queries(300):
        low = [np.searchsorted(SIZES, x, side="right") - 1 for x in query]
        index = np.array([[low[d] + (corner >> d & 1) for d in range(3)] for corner in range(8)])
        corners = SIZES[index].astype(float)
        design, at = gemm_terms(corners), gemm_terms(query[None])
        scale = design.max(axis=0)
        coef = np.linalg.lstsq(design / scale, lattice.time_s[tuple(index.T)], rcond=None)[0]
        expected = (at / scale @ coef)[0]
        worst = max(worst, abs(model.predict(*query, "NN")[0] / expected - 1.0))
    assert worst < 2e-11


def test_identity_with_exact_rational_arithmetic() -> None:
    """The eight-corner linear model in exact fractions: 40 queries agree to 5e-15."""
    from fractions import Fraction

    model = fitted(rough)
    lattice = model.lattices_["NN"]
    rng = np.random.default_rng(3)
    for _ in range(40):
        query = [int(x) for x in np.exp(rng.uniform(0, np.log(500), 3))]
        low = [int(np.searchsorted(SIZES, x, side="right")) - 1 for x in query]
        expected = Fraction(0)
        for corner in range(8):
            weight, index = Fraction(1), []
            for d in range(3):
                a, b, upper = int(SIZES[low[d]]), int(SIZES[low[d] + 1]), corner >> d & 1
                weight *= Fraction(query[d] - a, b - a) if upper else Fraction(b - query[d], b - a)
                index.append(low[d] + upper)
            expected += weight * Fraction(float(lattice.time_s[tuple(index)]))
        assert model.predict(*query, "NN")[0] == pytest.approx(float(expected), rel=5e-15)


def test_a_clone_has_the_parameters_and_nothing_that_was_fitted() -> None:
    model = fitted(power(0.9), node_value="mean", outside="rate", missing_pair="nearest")
    again = clone(model)
    assert again.get_params() == {"node_value": "mean", "outside": "rate", "missing_pair": "nearest"}
    assert not hasattr(again, "lattices_")
    assert again.set_params(outside="error").outside == "error"
    assert model.outside == "rate"


def test_exact_at_nodes_and_on_every_multilinear_time() -> None:
    coef = np.array([2e-12, 3e-11, 1e-11, 4e-12, 1e-9, 2e-9, 3e-9, 5e-7])
    model = fitted(lambda sizes: gemm_terms(sizes) @ coef)
    assert np.array_equal(fitted(rough).predict(*GRID.T, "NN"), rough(GRID))
    at = queries(500)
    np.testing.assert_allclose(model.predict(*at.T, "NN"), gemm_terms(at) @ coef, rtol=1e-13)
    np.testing.assert_allclose(model.coefficients(30.0, 50.0, 70.0, "NN"), coef, rtol=1e-9)


def test_continuous_across_cells() -> None:
    model = fitted(rough)
    edges = queries(200)
    edges[:, 1] = np.random.default_rng(2).choice(SIZES[1:-1], 200)
    below, above = edges.copy(), edges.copy()
    below[:, 1] *= 1 - 1e-12
    above[:, 1] *= 1 + 1e-12
    np.testing.assert_allclose(model.predict(*below.T, "NN"), model.predict(*above.T, "NN"), rtol=1e-9)


@pytest.mark.parametrize(("g", "percent"), [(0.5, -1.1), (0.9, -0.4), (1.1, 0.5)])
def test_error_on_powers_at_cell_centres(g: float, percent: float) -> None:
    """Interpolation alone errs by these figures on (mnk)**g at cell centres of a sqrt(2) grid (large cells: rounding fades)."""
    model = fitted(power(g))
    ends = SIZES[SIZES > 60].astype(float)
    centres = np.sqrt(ends[:-1] * ends[1:])
    at = np.stack(np.meshgrid(centres, centres, centres), axis=-1).reshape(-1, 3)
    error = model.predict(*at.T, "NN") / power(g)(at) - 1.0
    assert 100 * error.mean() == pytest.approx(percent, abs=0.06)


def test_rounded_powers_and_m_equal_one() -> None:
    assert SIZES[:9].tolist() == [1, 2, 3, 4, 6, 8, 11, 16, 23]
    model = fit_nodes([[1, 1, 8], [1, 2, 8], [1, 4, 8]], "NN", [1e-6, 2e-6, 4e-6])
    assert model.predict(1, 3, 8, "NN")[0] == pytest.approx(3e-6)
    assert model.in_domain(1, 3, 8, "NN")[0]
    assert model.domain_reason(2, 3, 9, "NN")[0] == "m, k"


def test_repeats_give_median_or_mean_and_an_interval() -> None:
    seconds = [1e-6, 1.1e-6, 9e-6]
    rows = ([[2, 2, 2]] * 3, "NN", seconds)
    assert fit_nodes(*rows).predict(2, 2, 2, "NN")[0] == 1.1e-6
    assert fit_nodes(*rows, node_value="mean").predict(2, 2, 2, "NN")[0] == pytest.approx(np.mean(seconds))
    rng = np.random.default_rng(5)
    sizes = np.repeat(GRID[GRID.max(axis=1) <= 16], 5, axis=0)
    model = fit_nodes(sizes, "NN", power(1.0)(sizes) * rng.lognormal(0.0, 0.05, len(sizes)))
    mean, run = (model.predict_interval(7, 5, 9, "NN", kind=kind) for kind in ("mean", "run"))
    truth = power(1.0)(np.array([[7.0, 5.0, 9.0]]))
    assert mean.lower < truth < mean.upper
    assert run.lower < mean.lower
    assert run.upper > mean.upper


def test_outside_is_flagged_and_three_ways_are_offered() -> None:
    at = (1024.0, 100.0, 100.0)
    truth = power(1.0)(np.array([at]))[0]
    for way in ("trilinear", "rate"):
        model = fitted(power(1.0), outside=way)
        assert model.predict(*at, "NN")[0] == pytest.approx(truth, rel=1e-12)
        assert model.domain_reason(*at, "NN")[0] == "m"
    with pytest.raises(DomainError, match="m = 1024, expected 1 to 512"):
        fitted(power(1.0), outside="error").predict(*at, "NN")
    shell = fitted(power(0.9)).shell_errors().set_index("outside")
    assert shell.loc["trilinear", "mape"] < 0.08
    assert shell.loc["rate", "mape"] < 0.08


def test_falling_time_never_extrapolates_below_a_quarter_of_its_cell() -> None:
    model = fit_nodes([[1, 1, 1], [2, 1, 1], [1, 2, 1], [2, 2, 1]], "NN", [4.0, 1.0, 4.0, 1.0])
    assert model.predict(100, 1, 1, "NN")[0] == 0.25


def test_missing_corner_takes_the_next_larger_cell_then_the_nodes_around() -> None:
    """Multilinear truth: a larger complete cell still answers exactly; beyond the measured corner the rate does."""
    inner = ~np.all(GRID == [64, 64, 64], axis=1) & (GRID.prod(axis=1) <= 2.0**24)
    times = power(1.0)(GRID)
    model = fit_nodes(GRID[inner], "NN", times[inner])
    near, far = np.array([[60.0, 60.0, 60.0]]), np.array([[500.0, 500.0, 500.0]])
    assert model.n_missing_["NN"] > 8
    assert model.predict(*near.T, "NN")[0] == pytest.approx(power(1.0)(near)[0], rel=1e-12)
    assert model.predict(*far.T, "NN")[0] == pytest.approx(power(1.0)(far)[0], rel=1e-9)
    assert model.domain_reason(*np.concatenate([near, far]).T, "NN").tolist() == ["corner", "corner"]


def test_flag_pairs_are_separate_and_a_missing_one_is_refused_or_scaled() -> None:
    sizes = GRID[GRID.max(axis=1) <= 32]
    blocks = [(pair, factor) for pair, factor in (("NN", 1.0), ("TN", 2.0), ("NT", 3.0))]
    frame = pd.concat(
        [pd.DataFrame(sizes, columns=list("mnk")).assign(trans=pair, cpu_s=power(1.0)(sizes) * f) for pair, f in blocks]
    )
    model = GridLocal.from_table(frame)
    trans = ["TN", "NN", "NT"]
    np.testing.assert_allclose(model.predict(5, 5, 5, trans[0]) / model.predict(5, 5, 5, "NN"), 2.0)
    mixed = model.predict([5, 5, 5], [7, 7, 7], [9, 9, 9], trans)
    np.testing.assert_allclose(mixed / mixed[1], [2.0, 1.0, 3.0])
    with pytest.raises(DomainError, match="'TT'"):
        model.predict(5, 5, 5, "TT")
    lenient = GridLocal.from_table(frame, missing_pair="nearest")
    assert lenient.predict(5, 5, 5, "TT")[0] == pytest.approx(6.0 * model.predict(5, 5, 5, "NN")[0])
    assert lenient.domain_reason(5, 5, 5, "TT")[0] == "trans"


def test_switching_cells_are_found_and_asked_for() -> None:
    """A kernel that costs twice as much from n = 100 on, +-1 % noise: exactly the cells that contain the step are marked."""

    def switching(sizes):
        return power(1.0)(sizes) * np.where(sizes[:, 1] >= 100, 2.0, 1.0)

    model = fitted(switching)
    ends = SIZES[SIZES >= 8].astype(float)
    half = np.sqrt(ends[:-1] * ends[1:])
    tests = np.stack(np.meshgrid(half, half, half), axis=-1).reshape(-1, 3)
    model.validate(*tests.T, "NN", switching(tests) * np.random.default_rng(0).uniform(0.99, 1.01, len(tests)))
    table = model.residual_by_cell()
    marked = table[table["switching"]]
    assert set(marked["n_low"]) == {91}
    assert (table["n_low"] == 91).sum() == len(marked)
    suggestion = model.measure_next(5)
    assert suggestion["n"].between(91, 128).all()
    assert suggestion["error_s"].is_monotonic_decreasing


def test_campaign_table_gives_nodes_and_validation_points() -> None:
    """Rows of one table by purpose, five rounds each: nodes take the median, half-step points the errors."""
    rng = np.random.default_rng(8)
    nodes = GRID[GRID.max(axis=1) <= 64]
    points = np.rint(queries(60, high=64.0))
    blocks = [(nodes, "grid", "NN"), (points, "validation", "NN"), (points, "validation", "TT")]
    parts = [
        pd.DataFrame(np.repeat(sizes, 5, axis=0), columns=list("mnk")).assign(purpose=purpose, trans=trans)
        for sizes, purpose, trans in blocks
    ]
    table = pd.concat(parts, ignore_index=True)
    table["cpu_s"] = power(0.9)(table[["m", "n", "k"]].to_numpy()) * rng.lognormal(0, 0.02, len(table))
    model = GridLocal.from_table(table)
    assert model.lattices_["NN"].n_nodes == len(nodes)
    assert np.unique(model.lattices_["NN"].n_repeats).tolist() == [5]
    assert model.residual_by_cell()["n_points"].sum() == len(np.unique(points, axis=0))
    assert model.residual_by_cell()["error"].median() < 0.05


def test_interval_covers_left_out_measurements() -> None:
    """95 % intervals from half-step points cover 92-98 % of fresh points with the same scatter."""
    rng = np.random.default_rng(11)

    def noisy(sizes):
        return power(0.9)(sizes) * rng.lognormal(0, 0.05, len(sizes))

    nodes = np.repeat(GRID, 5, axis=0)
    model = fit_nodes(nodes, "NN", noisy(nodes))
    points = queries(4000, seed=4)
    model.validate(*points[:2000].T, "NN", noisy(points[:2000]))
    interval = model.predict_interval(*points[2000:].T, "NN")
    fresh = noisy(points[2000:])
    assert 0.92 <= np.mean((interval.lower <= fresh) & (fresh <= interval.upper)) <= 0.98


def test_samples_scatter_as_the_interval_says_and_share_their_cell() -> None:
    model = fitted(rough)
    draws = model.sample([100, 101, 30], [100, 101, 30], [100, 101, 30], "NN", rng=np.random.default_rng(0), size=2000)
    assert draws.shape == (2000, 3)
    logs = np.log(draws)
    assert np.corrcoef(logs[:, 0], logs[:, 1])[0, 1] > 0.999
    assert abs(np.corrcoef(logs[:, 0], logs[:, 2])[0, 1]) < 0.1


def test_stored_model_predicts_bit_equal() -> None:
    holes = np.random.default_rng(1).random(len(GRID)) > 0.02
    model = fit_nodes(GRID[holes], "TN", rough(GRID)[holes])
    at = queries(1000, high=700.0)
    model.validate(*at.T, "TN", model.predict(*at.T, "TN") * 1.01)
    again = GridLocal.from_dict(json.loads(json.dumps(model.to_dict())))
    assert np.array_equal(again.predict(*at.T, "TN"), model.predict(*at.T, "TN"))
    assert np.array_equal(again.predict_interval(*at.T, "TN").upper, model.predict_interval(*at.T, "TN").upper)
    assert again.domain_reason(*at.T, "TN").tolist() == model.domain_reason(*at.T, "TN").tolist()
    document = model.to_dict()
    document["lattices"]["TN"]["time_s"][3] = "nan"
    with pytest.raises(DataError, match=r"lattices.TN.time_s\[3\]"):
        GridLocal.from_dict(document)


def test_bad_sizes_and_times_are_errors() -> None:
    with pytest.raises(DataError, match="seconds > 0"):
        fit_nodes([[1, 1, 1], [2, 2, 2]], "NN", [1.0, -1.0])
    with pytest.raises(UsageError, match="m, n, k > 0"):
        fit_nodes([[1, 1, 1], [2, 2, 0]], "NN", [1.0, 1.0])


@pytest.mark.parametrize("table", [pd.DataFrame({"m": [1.0], "k": [2.0], "trans": ["NN"]}), np.ones((2, 4)), None])
def test_a_table_without_the_sizes_of_a_product_is_refused(table) -> None:
    with pytest.raises(DataError, match="expected a DataFrame or a mapping with the columns m, n, k, trans"):
        GridLocal().fit(table, [1.0])
