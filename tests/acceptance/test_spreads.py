"""Holds and work that vary from occurrence to occurrence: equations against simulated events of the whole system."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mlperf.systems.base.times import SPREADS, ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.minibatch import minibatch_distribution, minibatch_std
from mlperf.systems.sprint.recursion import refine_by_recursion
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations

pytestmark = pytest.mark.slow

MEANS = {
    "fetch_weights_s": 0.006,
    "load_image_s": 0.0002,
    "deform_image_s": 0.0003,
    "compute_gradient_s": 0.056,
    "compute_update_value_s": 0.003,
    "update_gradient_s": 0.0055,
    "sum_gradient_s": 0.006,
    "update_old_weights_s": 0.001,
    "add_momentum_s": 0.004,
    "allreduce_s": 0.05,
    "update_momentum_s": 0.0015,
    "update_weights_s": 0.007,
}
VARYING = {
    "gpu_work_std_s": 0.004,
    "fetch_weights_std_s": 0.0015,
    "update_gradient_std_s": 0.0015,
    "sum_gradient_std_s": 0.002,
    "update_weights_std_s": 0.003,
    "update_work_std_s": 0.002,
}


def times(**changed: float) -> ComponentTimes:
    return ComponentTimes(**{name: np.array(value) for name, value in (MEANS | VARYING | changed).items()})


def run(n_nodes: int, n_gpus: int) -> RunGrid:
    return RunGrid(*(np.array(value) for value in (n_nodes, n_gpus, 4, 60_000)))


@pytest.mark.parametrize(("n_nodes", "n_gpus"), [(1, 4), (4, 1), (4, 4), (4, 8)])
def test_closed_form_and_recursion_against_events(n_nodes: int, n_gpus: int) -> None:
    given, one = times(), run(n_nodes, n_gpus)
    simulated = simulate_iterations(given, one, 5, SimulationPlan(n_updates=6000))
    solved = solve_iterations(given, one)
    refined = refine_by_recursion(given, one, 7).state
    for state in (solved, refined):
        assert state.update_iteration_s.item() == pytest.approx(simulated.update_iteration_s, rel=0.02)
        # Eight fetches fill half of T_GPU (flag fetch_burst): waits for the weights are longer than at random.
        assert state.gpu_iteration_s.item() == pytest.approx(simulated.gpu_iteration_s, rel=0.015 if n_gpus == 8 else 0.005)
    assert solved.barrier_wait_s.item() == pytest.approx(simulated.barrier_wait_s, rel=0.25, abs=1e-4)


def test_variation_between_nodes_lengthens_the_update() -> None:
    steady = times(**dict.fromkeys((name for name in VARYING if name != "gpu_work_std_s"), 0.0))
    simulated = [simulate_iterations(each, run(4, 2), 5).barrier_wait_s for each in (steady, times())]
    solved = [solve_iterations(each, run(4, 2)).barrier_wait_s.item() for each in (steady, times())]
    assert simulated[1] > 1.5 * simulated[0]
    assert solved[1] - solved[0] == pytest.approx(simulated[1] - simulated[0], rel=0.2)


@pytest.mark.parametrize(("n_nodes", "n_gpus"), [(1, 6), (4, 4)])
def test_updates_that_vary_spread_the_minibatch(n_nodes: int, n_gpus: int) -> None:
    given, one = times(update_work_std_s=0.006), run(n_nodes, n_gpus)
    simulated = simulate_iterations(given, one, 5, SimulationPlan(n_updates=6000)).minibatch
    state = solve_iterations(given, one)
    found = minibatch_distribution(given, state, one)
    assert minibatch_std(given, state, one).item() == pytest.approx(simulated.std, rel=0.2)
    assert found.std == pytest.approx(simulated.std, rel=0.2)
    assert found.mean == pytest.approx(simulated.mean, rel=0.02)
    steady = dataclasses.replace(given, **{f"{name}_std_s": None for name in SPREADS})
    assert abs(found.std - simulated.std) < abs(
        minibatch_distribution(steady, solve_iterations(steady, one), one).std - simulated.std
    )


def test_a_component_and_its_spread_are_scaled_together() -> None:
    half = times().scaled({"sum_gradient": 0.5})
    assert half.sum_gradient_s == pytest.approx(0.003)
    assert half.spread_s("sum_gradient") == pytest.approx(0.001)


def test_without_spreads_nothing_changes() -> None:
    steady = times(**{f"{name}_std_s": 0.0 for name in SPREADS})
    absent = dataclasses.replace(steady, **{f"{name}_std_s": None for name in SPREADS})
    both = [solve_iterations(each, run(8, 3)).update_iteration_s for each in (steady, absent)]
    assert both[0] == both[1]
