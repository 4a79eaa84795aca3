"""Failures and checkpoints: against a walk through every event, the exact mean, and the best interval by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mlperf.planning.whole_run import failures
from mlperf.planning.whole_run.failures import (
    draw_failures,
    truncated_moments,
)
from mlperf.systems.coupling.checkpoints import checkpoint_factor, optimal_interval_s


def walked_run(
    work_s: float, every_s: float, checkpoint_s: float, restart_s: float, startup_s: float, mtbf_s: float, rng: np.random.Generator
) -> tuple[float, int]:
    """Seconds and failures of one run, event by event: one clock, one next failure."""
    clock, done, saved, number = 0.0, 0.0, 0.0, 0
    fails_at = rng.exponential(mtbf_s)

    def spend(seconds: float) -> bool:
        nonlocal clock, fails_at, number
        if clock + seconds <= fails_at:
            clock += seconds
            return True
        clock = fails_at
        fails_at = clock + rng.exponential(mtbf_s)
        number += 1
        return False

    while not spend(startup_s):
        pass
    while saved < work_s:
        done = min(saved + every_s, work_s)
        if spend(done - saved) and spend(checkpoint_s):
            saved = done
        else:
            while not spend(restart_s):
                pass
    return clock, number


@pytest.mark.parametrize(
    ("work_s", "every_s", "checkpoint_s", "restart_s", "startup_s", "mtbf_s"),
    [(1000.0, 100.0, 5.0, 20.0, 30.0, 150.0), (1030.0, 100.0, 10.0, 0.0, 0.0, 400.0), (90.0, 1000.0, 4.0, 30.0, 10.0, 60.0)],
)
def test_draws_are_those_of_a_walk_through_the_events(
    work_s: float, every_s: float, checkpoint_s: float, restart_s: float, startup_s: float, mtbf_s: float
) -> None:
    rng = np.random.default_rng(3)
    walked = np.array([walked_run(work_s, every_s, checkpoint_s, restart_s, startup_s, mtbf_s, rng) for _ in range(4000)])
    found = draw_failures(np.full(40_000, work_s), np.array(every_s), checkpoint_s, restart_s, startup_s, np.array(mtbf_s), rng)
    drawn = startup_s + work_s + found.checkpoint_s + found.lost_s + found.restart_s
    error = walked[:, 0].std() / np.sqrt(len(walked))
    assert abs(drawn.mean() - walked[:, 0].mean()) < 4.0 * error
    assert abs(found.n_failures.mean() - walked[:, 1].mean()) < 4.0 * walked[:, 1].std() / np.sqrt(len(walked))
    levels = [0.1, 0.5, 0.9]
    # Runs without any failure all take equally long.
    bounds = np.quantile(drawn, levels) * (1.0 + 1e-12)
    shares = [(walked[:, 0] <= bound).mean() for bound in bounds]
    assert_allclose(shares, [(drawn <= bound).mean() for bound in bounds], atol=4.0 * 0.5 / np.sqrt(len(walked)) + 0.002)


def test_the_mean_is_dalys() -> None:
    rng = np.random.default_rng(5)
    found = draw_failures(np.full(100_000, 2000.0), np.array(100.0), 8.0, 15.0, 0.0, np.array(300.0), rng)
    total = 2000.0 + found.checkpoint_s + found.lost_s + found.restart_s
    exact = 2000.0 * checkpoint_factor(*map(np.array, (100.0, 8.0, 15.0, 300.0)))
    assert abs(total.mean() - exact) < 4.0 * total.std() / np.sqrt(len(total))


def test_many_lost_pieces_are_summed_as_normal_with_the_same_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (np.full(4000, 50_000.0), np.array(100.0), 5.0, 20.0, 10.0, np.array(120.0))
    one_by_one = draw_failures(*arguments, np.random.default_rng(1))
    monkeypatch.setattr(failures, "MOST_DRAWN", 0)
    summed = draw_failures(*arguments, np.random.default_rng(2))
    assert summed.lost_s.mean() == pytest.approx(one_by_one.lost_s.mean(), rel=0.005)
    assert summed.lost_s.std() == pytest.approx(one_by_one.lost_s.std(), rel=0.06)


def test_runs_that_practically_never_end_take_practically_for_ever() -> None:
    """A hundred and a million intervals of 25, 40 and 800 times the mean time between failures."""
    mtbf = 1000.0 / np.array([25.0, 40.0, 800.0])
    for number in (100.0, 1e6):
        found = draw_failures(np.full(3, 1000.0 * number), np.array(1000.0), 0.0, 0.0, 0.0, mtbf, np.random.default_rng(0))
        assert_allclose(found.n_failures, number * np.exp([25.0, 30.0, 30.0]), rtol=0.5)
        assert_allclose(found.lost_s, found.n_failures * mtbf, rtol=0.01)


def test_moments_of_a_failure_before_the_end() -> None:
    rng = np.random.default_rng(0)
    for length, mtbf in ((3.0, 1.0), (1.0, 1.0), (0.02, 1.0), (1e-3, 1.0)):
        drawn = -mtbf * np.log1p(rng.random(400_000) * np.expm1(-length / mtbf))
        mean, variance = truncated_moments(np.array([length]), np.array([mtbf]))
        assert_allclose([mean[0], variance[0]], [drawn.mean(), drawn.var()], rtol=0.01)


def test_nothing_fails_where_there_is_no_failure_and_nothing_is_saved_where_it_costs_nothing() -> None:
    found = draw_failures(np.array([10.0, 20.0]), np.array([7.0, 20.0]), 2.0, 3.0, 4.0, np.array(np.inf), np.random.default_rng(0))
    assert_allclose(found.checkpoint_s, [4.0, 2.0])
    assert_allclose(found.lost_s, 0.0)
    assert_allclose(found.n_failures, 0.0)


@pytest.mark.parametrize(("cost", "mtbf"), [(5.0, 600.0), (60.0, 600.0), (300.0, 600.0), (1.0, 1e6)])
def test_the_best_interval_is_the_one_of_all_intervals(cost: float, mtbf: float) -> None:
    best = float(optimal_interval_s(np.array(cost), np.array(mtbf)))
    tried = best * np.exp(np.linspace(-1.0, 1.0, 2001))
    times = 1e5 * checkpoint_factor(tried, np.array(cost), np.array(30.0), np.array(mtbf))
    assert tried[np.argmin(times)] == pytest.approx(best, rel=1e-3)


def test_far_below_the_time_between_failures_it_is_youngs() -> None:
    for share in (1e-6, 1e-9, 1e-12):
        cost, mtbf = np.array(share * 1e9), np.array(1e9)
        assert float(optimal_interval_s(cost, mtbf)) == pytest.approx(np.sqrt(2.0 * cost * mtbf), rel=2e-3)
