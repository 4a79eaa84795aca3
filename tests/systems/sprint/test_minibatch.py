"""The spread of the mini-batch size against the simulation and simple limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from mlperf.core.errors import DataError
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.minibatch import gradient_count_variance, minibatch_distribution, minibatch_std
from mlperf.systems.sprint.outputs import mean_minibatch_size
from mlperf.systems.sprint.simulate import Simulation

pytestmark = pytest.mark.slow

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
Simulated = Callable[..., list[Simulation]]


def test_without_sums_and_jitter_it_is_binomial(light: Machine) -> None:
    """One buffer, U < G, no jitter: every GPU contributes a Bernoulli variable; M = 16."""
    times, run = light(0.6, 0.0, nodes=16, gpus=1)
    state = solve_iterations(times.scaled({"sum_gradient": 0.0}), run)
    distribution = minibatch_distribution(times, state, run)
    expected = stats.binom.pmf(np.arange(17), 16, state.ready_probability[0])
    assert distribution.probabilities[:17] == pytest.approx(expected, abs=1e-9)
    assert minibatch_std(times, state, run) == pytest.approx(distribution.std, rel=1e-6)


def test_the_variance_of_a_deterministic_count() -> None:
    """Between floor and ceil of rho: frac (1 - frac)."""
    tiny = np.full(1, 1e-6)
    seconds = [tiny, tiny, tiny, np.full(1, 0.4), *[tiny] * 5, np.full(1, 0.9), tiny, tiny]
    times = ComponentTimes(*seconds, np.zeros(1))
    run = RunGrid(np.array([1]), np.array([1]), np.array([1]), np.array([1]))
    state = solve_iterations(times, run)
    part = state.ratio[0] - np.floor(state.ratio[0])
    assert gradient_count_variance(state) == pytest.approx(part * (1 - part), rel=1e-9)


@pytest.mark.parametrize(("subbatch", "nodes"), [(8, 8), (4, 8), (1, 16)])
def test_the_distribution_has_the_mean_of_the_conservation_law(calibrated: Machine, subbatch: int, nodes: int) -> None:
    times, run = calibrated("kfc", nodes, subbatch, 0.2)
    state = solve_iterations(times, run)
    distribution = minibatch_distribution(times, state, run)
    mean = mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run).item()
    assert distribution.mean == pytest.approx(mean, rel=2e-3)
    assert distribution.values[1] == subbatch


@pytest.mark.parametrize(("machine", "nodes", "subbatch"), [("kfc", 8, 8), ("kfc", 8, 4), ("tsubame2", 16, 5)])
@pytest.mark.parametrize("variation", [0.05, 0.2])
def test_spread_and_shape_are_those_of_the_simulation(
    calibrated: Machine, twice_simulated: Simulated, machine: str, nodes: int, subbatch: int, variation: float
) -> None:
    """Updates faster than iterations: standard deviation within 10 %, total variation as between halves of a simulation."""
    times, run = calibrated(machine, nodes, subbatch, variation)
    state = solve_iterations(times, run)
    simulated = [each.minibatch for each in twice_simulated(machine, nodes, subbatch, variation)]
    assert minibatch_std(times, state, run).item() == pytest.approx(np.mean([each.std for each in simulated]), rel=0.10)
    distribution = minibatch_distribution(times, state, run)
    assert np.mean([distribution.total_variation(each) for each in simulated]) < 0.16


def test_an_update_of_weeks_is_refused_with_the_figures_that_make_it(light: Machine) -> None:
    """A bandwidth of 25 where 25 GB/s were meant: the distribution of ten million gradients would never end."""
    times, run = light(0.6, 0.0, nodes=2, gpus=1)
    state = solve_iterations(times.scaled({"allreduce": 1e9}), run)
    with pytest.raises(DataError, match="got an update of ") as refused:
        minibatch_std(times, state, run)
    assert "25 GB/s is 25e9" in str(refused.value)
