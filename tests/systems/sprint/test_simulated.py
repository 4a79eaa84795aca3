"""A simulation beside the equations: agreement where they hold, a named difference where threads lock in phase."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.simulated import plan_for, simulate_beside
from mlperf.systems.sprint.solved import solve_form

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]


def test_light_locks_agree_with_the_simulation(light: Machine) -> None:
    times, run = light([0.6], 0.2)
    found = simulate_beside(times, run, solve_form(times, run, DEFAULT_FORM), n_iterations=1000, seed=1)
    table = found.table.set_index("quantity")
    assert not table["differs"].any()
    assert table.loc["update_iteration_s", "simulated"] == pytest.approx(0.1775, rel=0.01)
    assert table.loc["mean_staleness", "simulated"] == pytest.approx(4.361, rel=0.01)
    assert found.minibatch[0].mean == pytest.approx(table.loc["mean_minibatch_size", "simulated"], rel=1e-9)
    assert found.n_updates[0] == pytest.approx(1000 * 0.6041 / 0.1775, rel=0.01)


def test_phase_locking_is_where_they_differ(heavy: Machine) -> None:
    """One GPU on one node with little jitter: both iterations are .1633 s and every gradient is one update old."""
    times, run = heavy([0.1354], 0.02, 1, 1)
    table = simulate_beside(times, run, solve_form(times, run, DEFAULT_FORM), n_iterations=2000).table.set_index("quantity")
    assert table.loc["gpu_iteration_s", "simulated"] == pytest.approx(0.1633, rel=2e-3)
    assert table.loc["update_iteration_s", "simulated"] == pytest.approx(0.1633, rel=2e-3)
    assert table.loc["mean_staleness", "simulated"] == pytest.approx(1.0, abs=1e-3)
    assert table.loc["mean_staleness", "differs"]


def test_updates_follow_from_the_iterations_asked_for() -> None:
    assert plan_for(1000, 0.5).n_updates == 2000
    assert plan_for(100, 1.0).n_updates == 400
    assert plan_for(5000, 0.5).warmup == 1000


def test_wrong_requests_are_refused(light: Machine) -> None:
    times, run = light([0.6], 0.2)
    solved = solve_form(times, run, "paper")
    with pytest.raises(UsageError, match="got 99 iterations"):
        simulate_beside(times, run, solved, n_iterations=99)
    with pytest.raises(UsageError, match="a simulation cannot obey"):
        simulate_beside(times.scaled({"lock_weights_gpu": 2.0}), run, solved)
