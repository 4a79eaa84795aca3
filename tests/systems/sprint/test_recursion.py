"""The recursion against the simulation and another implementation of itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.outputs import epoch_outputs
from mlperf.systems.sprint.recursion import RecursionPlan, Refinement, refine_by_recursion
from mlperf.systems.sprint.simulate import Simulation

pytestmark = pytest.mark.slow

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
Refine = Callable[..., Refinement]


@pytest.fixture(scope="module")
def refined_of(calibrated: Machine) -> Refine:
    """``refined_of("kfc", nodes, subbatch, variation)``: a machine's refinement, made once for the tests of this file."""

    @cache
    def refined(*case: Any) -> Refinement:
        return refine_by_recursion(*calibrated(*case), seed=0)

    return refined


def test_it_is_within_one_and_a_half_per_cent_of_the_simulation(reference: Any, refined_of: Refine, light: Machine) -> None:
    for case in reference("sprint_simulation.json")["cases"][:6]:
        if case["machine"] == "light":
            refined = refine_by_recursion(*light(case["work_s"], 0.2), seed=0)
        else:
            refined = refined_of(case["machine"], case["nodes"], case["subbatch"], 0.2)
        update_s = refined.state.update_iteration_s.item()
        assert update_s == pytest.approx(case["update_s"], rel=0.015)
        assert update_s == pytest.approx(case["recursion_update_s"], rel=0.003)
        assert refined.staleness.mean == pytest.approx(case["staleness"], rel=0.015)
        assert refined.staleness.mean == pytest.approx(case["recursion_staleness"], rel=0.005)


@pytest.mark.parametrize(("machine", "nodes", "subbatch"), [("kfc", 8, 4), ("tsubame2", 32, 1)])
@pytest.mark.parametrize("variation", [0.05, 0.2])
def test_distributions_are_those_of_the_simulation(
    refined_of: Refine,
    twice_simulated: Callable[..., list[Simulation]],
    machine: str,
    nodes: int,
    subbatch: int,
    variation: float,
) -> None:
    """Standard deviation within 10 %, also where updates are slower than iterations (T2 (32,1))."""
    refined = refined_of(machine, nodes, subbatch, variation)
    simulated = twice_simulated(machine, nodes, subbatch, variation)
    assert refined.minibatch.std == pytest.approx(np.mean([each.minibatch.std for each in simulated]), rel=0.10)
    assert refined.buffers.mean == pytest.approx(np.mean([each.buffers.mean for each in simulated]), rel=0.015)
    assert refined.staleness.total_variation(simulated[0].staleness) < 0.03
    assert refined.minibatch.total_variation(simulated[0].minibatch) < 0.16


def test_parts_sum_to_the_periods_and_nothing_is_lost(calibrated: Machine, refined_of: Refine) -> None:
    """The breakdown of counted parts, and N_mb of the recursion against M n b U/G."""
    times, run = calibrated("kfc", 8, 8, 0.2)
    refined = refined_of("kfc", 8, 8, 0.2)
    outputs = epoch_outputs(times, refined.state, run)
    assert sum(outputs.update_breakdown_s.values()) == pytest.approx(refined.state.update_iteration_s, rel=1e-3)
    assert sum(outputs.gpu_breakdown_s.values()) == pytest.approx(refined.state.gpu_iteration_s, rel=1e-3)
    assert refined.minibatch.mean == pytest.approx(outputs.mean_minibatch_size.item(), rel=0.005)
    assert refined.state.closed.tolist() == ["recursion"]


def test_replicas_give_the_standard_error_and_the_seed_decides(light: Machine) -> None:
    times, run = light(0.3, 0.2, 8, 4)
    short = RecursionPlan(n_replicas=8, n_warmup=20, n_windows=100)
    values = [refine_by_recursion(times, run, seed, short) for seed in range(6)]
    spread = np.std([each.state.update_iteration_s.item() for each in values], ddof=1)
    assert 0.3 < spread / np.mean([each.update_iteration_std_err_s for each in values]) < 3.0
    again = refine_by_recursion(times, run, 0, short)
    assert again.state.update_iteration_s.item() == values[0].state.update_iteration_s.item()


def test_several_configurations_are_refused(light: Machine) -> None:
    with pytest.raises(UsageError, match="expected one configuration"):
        refine_by_recursion(*light(np.array([0.1, 0.2]), 0.1), seed=0)
