"""Stability of rankings against brute force, SciPy's Kendall tau, and whole solutions of every draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import kendalltau

from mlperf.planning.search.draws import (
    CandidateDraws,
    draw_candidates,
    first_share,
    kendall_taus,
    left_out_strays,
    rank_bounds,
    rank_stability,
)
from mlperf.planning.search.windows import MEAN, QUANTILE, STALENESS, Window
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.minibatch import minibatch_distribution
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size
from mlperf.systems.sprint.staleness import mean_staleness

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
N_DRAWS = 70


def synthetic(noise: float, n_rows: int = 8) -> tuple[CandidateDraws, np.ndarray]:
    rng = np.random.default_rng(4)
    cost = np.sort(rng.uniform(1.0, 2.0, n_rows))
    drawn = cost * np.exp(noise * rng.standard_normal((300, n_rows)))
    return CandidateDraws(drawn, rng.uniform(size=drawn.shape) < 0.8), cost


def test_without_noise_a_ranking_is_kept() -> None:
    drawn, cost = synthetic(0.0)
    sure = CandidateDraws(drawn.cost, np.ones(drawn.holds.shape, bool))
    found = rank_stability(sure, cost)
    assert (found.first_stays, found.overlap, found.kendall_tau, found.regret, found.regret_high) == (1.0, 1.0, 1.0, 0.0, 0.0)
    assert first_share(sure).tolist() == [1.0] + [0.0] * 7
    assert [bound.tolist() for bound in rank_bounds(sure)] == [list(range(1, 9))] * 2


def test_stability_is_that_of_a_loop_over_draws() -> None:
    drawn, cost = synthetic(0.2)
    found = rank_stability(drawn, cost, k=3)
    stays, overlap, regret, taus = [], [], [], []
    for values, holds in zip(drawn.cost, drawn.holds, strict=True):
        inside = [row for row in np.argsort(values) if holds[row]]
        stays.append(inside[0] == 0)
        overlap.append(len({0, 1, 2} & set(inside[:3])) / 3)
        taus.append(kendalltau(cost, values).statistic)
        if holds[0]:
            regret.append(values[0] / values[inside[0]] - 1)
    assert found.first_stays == pytest.approx(np.mean(stays))
    assert found.overlap == pytest.approx(np.mean(overlap))
    assert found.regret == pytest.approx(np.mean(regret))
    assert found.kendall_tau == pytest.approx(np.mean(taus))
    assert found.kendall_tau_low == pytest.approx(np.quantile(taus, 0.05))
    assert first_share(drawn)[0] == pytest.approx(found.first_stays)


def test_draws_become_as_wide_as_what_was_left_out_and_no_narrower() -> None:
    rng = np.random.default_rng(2)
    moved = np.exp(rng.standard_normal((20_000, 3)) * [0.05, 0.05, 0.2])
    half = np.array([1.96 * 0.1, np.nan, 1.96 * 0.1])
    strays = left_out_strays(moved, half, 0.95, rng)
    np.testing.assert_allclose(np.log(moved * strays).std(axis=0), [0.1, 0.05, 0.2], rtol=0.03)
    np.testing.assert_array_equal(strays[:, 1:], 1.0)


def test_tau_is_scipys() -> None:
    drawn, cost = synthetic(0.5)
    assert kendall_taus(cost, drawn.cost)[:20] == pytest.approx([kendalltau(cost, row).statistic for row in drawn.cost[:20]])
    assert kendall_taus(cost[:1], drawn.cost[:, :1]).tolist() == [1.0] * 300


@pytest.mark.slow
@pytest.mark.parametrize(
    "window",
    [Window(MEAN, 115.0, 172.5), Window(QUANTILE, 115.0, 133.0, 0.9), Window(STALENESS, 0.0, 2.6)],
    ids=lambda one: one.quantity,
)
def test_the_window_probability_is_that_of_solving_every_draw_in_full(calibrated: Machine, window: Window) -> None:
    times, run = calibrated("tsubame2", [16, 16, 20, 32], [5, 4, 5, 1], 0.15)
    rng = np.random.default_rng(2)
    factors = {name: np.exp(0.05 * rng.standard_normal((N_DRAWS, 1))) for name in ("compute_gradient", "sum_gradient", "allreduce")}
    drawn = times.scaled(factors)
    found = draw_candidates(drawn, times, run, (window,), cost_of=lambda seconds, _: seconds)
    state = solve_iterations(drawn, run)
    assert found.cost == pytest.approx(epoch_time(state.gpu_iteration_s, run), rel=2e-3)
    values = {
        MEAN: lambda: mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run),
        STALENESS: lambda: mean_staleness(drawn, state, run),
        QUANTILE: lambda: quantiles(times, run, factors),
    }[window.quantity]()
    assert found.window_probability == pytest.approx(window.holds(values).mean(axis=0), abs=0.1)
    assert ((found.window_probability > 0.05) & (found.window_probability < 0.95)).any()


def quantiles(times: ComponentTimes, run: RunGrid, factors: dict[str, np.ndarray]) -> np.ndarray:
    found = []
    for draw in range(N_DRAWS):
        one = times.scaled({name: factor[draw, 0] for name, factor in factors.items()})
        state = solve_iterations(one, run)
        found.append([minibatch_distribution(one, state, run, row).quantile(0.9) for row in range(run.shape[0])])
    return np.array(found)
