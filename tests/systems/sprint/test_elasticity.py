"""Elasticities against Euler's theorem, a Picard iteration with scaled waits, and systems that can be solved by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import UsageError
from mlperf.systems.base.times import WAITS, ComponentTimes, RunGrid
from mlperf.systems.coupling.barrier import barrier_excess
from mlperf.systems.sprint.components import COMPONENTS, LOCK_WAITS
from mlperf.systems.sprint.elasticity import RunOutputs, elasticities, elasticity_table, run_outputs
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.iterations import DEFAULT_FORM
from mlperf.systems.sprint.outputs import epoch_time, mean_minibatch_size

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]
ELASTICITIES = ("epoch_elasticity", "update_iteration_elasticity", "mean_minibatch_elasticity")


def table_of(times: ComponentTimes, run: RunGrid, closed: str = DEFAULT_FORM) -> pd.DataFrame:
    return elasticity_table(times, solve_iterations(times, run, closed), run)


def test_every_component_of_both_tables_has_a_row(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [8, 16], [8, 4], 0.1)
    table = table_of(times, run)
    names = [component.name for component in COMPONENTS]
    assert len(names) == 16
    for config in (0, 1):
        assert table[table["config"] == config]["component"].tolist() == [*names, "barrier_wait", "gpu_work_std"]


def test_measured_components_and_spread_sum_to_the_degree(calibrated: Machine) -> None:
    """Euler: times are homogeneous of degree 1 in the measured times, the mini-batch of degree 0; waits follow from the times."""
    times, run = calibrated("kfc", [8], [4], 0.15)
    table = table_of(times, run).set_index("component")
    waits = {*LOCK_WAITS, "barrier_wait"}
    total = table[~table.index.isin(waits)][list(ELASTICITIES)].sum()
    assert total.to_numpy() == pytest.approx([1.0, 1.0, 0.0], abs=3e-6)


def test_without_locks_an_elasticity_is_the_share_of_its_thread() -> None:
    """One node without holds: T_GPU is its work, T_Update its work."""
    nothing, one = np.zeros(1), np.ones(1)
    times = ComponentTimes(
        nothing,
        0.1 * one,
        nothing,
        0.3 * one,
        nothing,
        nothing,
        nothing,
        0.05 * one,
        nothing,
        0.15 * one,
        nothing,
        nothing,
        nothing,
    )
    table = table_of(times, RunGrid(*(np.array([value]) for value in (1, 1, 2, 100)))).set_index("component")
    expected = {
        "load_image": (0.25, 0.0, -0.25),
        "compute_gradient": (0.75, 0.0, -0.75),
        "update_old_weights": (0.0, 0.25, 0.25),
        "allreduce": (0.0, 0.75, 0.75),
        "lock_weights_gpu": (0.0, 0.0, 0.0),
    }
    for name, values in expected.items():
        assert table.loc[name, list(ELASTICITIES)].to_numpy(float) == pytest.approx(values, abs=1e-6)


def picard(times: ComponentTimes, run: RunGrid, factor: Mapping[str, float]) -> tuple[float, float]:
    """The paper's equations with scaled waits, iterated from the iterations without coupling."""
    hold = {
        name: getattr(times, f"{name}_s").item() for name in ("fetch_weights", "update_gradient", "sum_gradient", "update_weights")
    }
    n, n_nodes = run.n_gpus_per_node.item(), run.n_nodes.astype(float)
    gpu_free = times.gpu_work_s.item() + hold["update_gradient"]
    update_free = times.update_work_s.item() + hold["update_weights"]
    gpu_s, update_s = gpu_free, update_free
    for _ in range(300):
        p, q = min(update_s / gpu_s, 1.0), min(gpu_s / update_s, 1.0)
        fetch, deposit, add = hold["fetch_weights"] * q, hold["update_gradient"], hold["sum_gradient"] * p
        barrier = hold["sum_gradient"] * barrier_excess(n, np.array([p]), n_nodes).item()
        for_weights = hold["update_weights"] ** 2 / (2 * update_s) + (n - 1) * fetch**2 / (2 * gpu_s)
        waits = (factor["lock_weights_gpu"] * for_weights, factor["lock_gradient_gpu"] * add**2 / (2 * update_s))
        locks = (
            factor["lock_gradient_update"] * n * deposit**2 / (2 * gpu_s),
            factor["lock_weights_update"] * n * fetch**2 / (2 * gpu_s),
        )
        gpu_s, update_s = (
            gpu_free + fetch + sum(waits),
            update_free + n * add + factor["barrier_wait"] * barrier + sum(locks),
        )
    return gpu_s, update_s


@pytest.mark.parametrize("name", WAITS)
def test_a_scaled_wait_is_that_of_the_picard_iteration(calibrated: Machine, name: str) -> None:
    times, run = calibrated("kfc", [8], [4])
    factor = dict.fromkeys(WAITS, 1.0) | {name: 3.0}
    state = solve_iterations(times.scaled({name: 3.0}), run, "paper")
    assert (state.gpu_iteration_s.item(), state.update_iteration_s.item()) == pytest.approx(picard(times, run, factor), rel=1e-9)
    assert state.residual.item() < 1e-12


def test_an_elasticity_is_a_difference_quotient_of_whole_solutions(calibrated: Machine) -> None:
    times, run = calibrated("tsubame2", [16], [5], 0.1)
    table = table_of(times, run).set_index("component")
    for name in (*(component.name for component in COMPONENTS), "barrier_wait", "gpu_work_std"):
        up, down = (solve_iterations(times.scaled({name: factor}), run) for factor in (1.001, 0.999))
        for column, value in (
            ("epoch_elasticity", lambda state: epoch_time(state.gpu_iteration_s, run)),
            ("mean_minibatch_elasticity", lambda state: mean_minibatch_size(state.gpu_iteration_s, state.update_iteration_s, run)),
        ):
            quotient = np.log(value(up) / value(down)).item() / np.log(1.001 / 0.999)
            assert table.loc[name, column] == pytest.approx(quotient, abs=2e-6), name


def test_factors_combine_and_unknown_names_are_suggested(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [8], [4], 0.1)
    both = (
        times.scaled({"sum_gradient": 0.5, "lock_gradient_update": 0.0}).scaled({"barrier_wait": 0.5}).scaled({"barrier_wait": 0.5})
    )
    assert both.scaled_waits == ("lock_gradient_update", "barrier_wait")
    assert both.barrier_wait_factor.item() == 0.25
    assert solve_iterations(both, run).lock_gradient_update_s.item() == 0.0
    assert replace(both, lock_gradient_update_factor=None).scaled_waits == ("barrier_wait",)
    with pytest.raises(UsageError, match="Did you mean 'lock_weights_gpu'"):
        times.scaled({"lock_weight_gpu": 2.0})


def test_elasticities_sum_to_the_degree_of_each_output(calibrated: Machine) -> None:
    """Euler: times scale with all times (degree 1), the mini-batch does not (degree 0)."""
    times, run = calibrated("kfc", [2, 8, 16], [8, 4, 1], 0.15)
    by_component = elasticities(times, run)
    for name, degree in (("epoch_s", 1.0), ("update_iteration_s", 1.0), ("mean_minibatch_size", 0.0)):
        total = sum(getattr(outputs, name) for outputs in by_component.values())
        assert total == pytest.approx(degree, abs=2e-6)


def test_outputs_keep_one_shape(calibrated: Machine) -> None:
    times, run = calibrated("kfc", [8, 16], [8, 4], 0.1)
    outputs = run_outputs(times, run, "paper")
    assert isinstance(outputs, RunOutputs)
    assert {getattr(outputs, field.name).shape for field in fields(outputs)} == {(2,)}
