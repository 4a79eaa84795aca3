"""Checkpoints against runs in which failures are drawn, and the optimum against a search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mlperf.systems.coupling.checkpoints import checkpoint_factor, optimal_interval_s


def simulated_run(work: float, interval: float, cost: float, restart: float, mtbf: float, rng: np.random.Generator) -> float:
    """Wall time of one run: work since the last checkpoint is lost at a failure; a restart can fail, too."""
    now, saved = 0.0, 0.0
    failure = rng.exponential(mtbf)
    while saved < work:
        end = now + interval + cost
        if end <= failure:
            now, saved = end, saved + interval
            continue
        now = failure
        failure = now + rng.exponential(mtbf)
        while now + restart > failure:
            now = failure
            failure = now + rng.exponential(mtbf)
        now += restart
    return now


@pytest.mark.parametrize(("interval", "cost", "restart", "mtbf"), [(30.0, 2.0, 5.0, 400.0), (80.0, 4.0, 10.0, 100.0)])
def test_the_factor_is_that_of_simulated_runs(interval: float, cost: float, restart: float, mtbf: float) -> None:
    rng = np.random.default_rng(3)
    factors = np.array([simulated_run(80 * interval, interval, cost, restart, mtbf, rng) for _ in range(300)]) / (80 * interval)
    found = checkpoint_factor(interval, cost, restart, mtbf)
    assert found == pytest.approx(factors.mean(), abs=4.0 * factors.std() / np.sqrt(factors.size))


def test_rare_failures_cost_what_young_says() -> None:
    """1 + C / tau + (tau / 2 + restart) / MTBF agrees to second order in interval / MTBF."""
    assert checkpoint_factor(60.0, 3.0, 20.0, 1e5) == pytest.approx(1.0 + 3.0 / 60.0 + (30.0 + 20.0) / 1e5, rel=1e-4)
    assert checkpoint_factor(60.0, 3.0, 20.0, np.inf) == pytest.approx(1.05)


@pytest.mark.parametrize(("cost", "mtbf"), [(1e-3, 1e6), (1.0, 1e5), (10.0, 2e3), (60.0, 600.0), (500.0, 200.0)])
def test_the_best_interval_costs_least(cost: float, mtbf: float) -> None:
    """The bottom of the exact factor, found by search; Young's where checkpoints cost little."""
    best = minimize_scalar(
        lambda each: float(checkpoint_factor(np.exp(each), cost, 0.0, mtbf)),
        bounds=(np.log(cost / 10), np.log(5 * mtbf)),
        method="bounded",
        options={"xatol": 1e-10},
    )
    found = float(optimal_interval_s(cost, mtbf))
    assert found == pytest.approx(np.exp(best.x), rel=1e-4)
    assert float(checkpoint_factor(found, cost, 0.0, mtbf)) <= best.fun + 1e-12
    if cost < 1e-4 * mtbf:
        assert found == pytest.approx(np.sqrt(2.0 * cost * mtbf), rel=5e-3)


def test_without_failures_or_for_nothing_the_interval_has_its_limits() -> None:
    assert optimal_interval_s(np.array([5.0, 0.0]), np.array([np.inf, 200.0])).tolist() == [np.inf, 0.0]
