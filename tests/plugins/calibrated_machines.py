"""Machines whose component times are known: the calibrated examples and a light one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.simulate import Simulation, simulate_iterations

if TYPE_CHECKING:
    from made_once import Once

Case = tuple[ComponentTimes, RunGrid]
Machine = Callable[..., Case]


def component_times(work_s: Any, rest_s: tuple[Any, Any, Any], held_s: dict[str, float], variation: float) -> ComponentTimes:
    """All GPU work as gradient; ``rest_s`` before, in and after the all-reduce."""
    zero = np.zeros(1)
    before_s, payload_s, after_s = rest_s
    return ComponentTimes(
        load_image_s=zero,
        deform_image_s=zero,
        compute_gradient_s=np.asarray(work_s),
        compute_update_value_s=zero,
        update_old_weights_s=0.5 * np.asarray(before_s),
        add_momentum_s=0.5 * np.asarray(before_s),
        allreduce_s=np.asarray(payload_s),
        update_momentum_s=np.asarray(after_s),
        gpu_work_std_s=variation * np.asarray(work_s),
        **{name: np.asarray(value) for name, value in held_s.items()},
    )


@pytest.fixture(scope="session")
def calibrated(reference: Any) -> Machine:
    """``calibrated("kfc", nodes, subbatch, variation)``: times and run of an example machine."""
    table = reference("calibrated_machines.json")

    def build(name: str, nodes: Any, subbatch: Any, variation: float = 0.0) -> Case:
        machine = table["machines"][name]
        n_nodes, subbatch_size = np.atleast_1d(nodes), np.atleast_1d(subbatch)
        work_s = machine["work_0_s"] + machine["work_1_s"] * subbatch_size
        rest_s = machine["momentum_s"] / n_nodes + machine["constant_s"] + machine["per_doubling_s"] * np.log2(n_nodes)
        held = {key: machine[key] for key in ("sum_gradient_s", "update_gradient_s", "fetch_weights_s", "update_weights_s")}
        times = component_times(work_s, (0.2 * rest_s, 0.7 * rest_s, 0.1 * rest_s), held, variation)
        return times, RunGrid(n_nodes, machine["n_gpus_per_node"], subbatch_size, table["dataset_size"])

    return build


@pytest.fixture(scope="session")
def twice_simulated(calibrated: Machine, made_once: Once) -> Callable[..., list[Simulation]]:
    """``twice_simulated("kfc", nodes, subbatch, variation)``: runs of seeds 0 and 1, made for all files that look at them."""

    def runs(*case: Any) -> list[Simulation]:
        found: list[Simulation] = made_once(
            f"simulated {case}", lambda: [simulate_iterations(*calibrated(*case), n) for n in (0, 1)]
        )
        return found

    return runs


@pytest.fixture(scope="session")
def light() -> Machine:
    """``light(work_s, variation, nodes, gpus)``: short holds, 0.16 s of update work."""

    def build(work_s: Any, variation: float, nodes: int = 16, gpus: int = 4) -> Case:
        held = {"sum_gradient_s": 0.005, "update_gradient_s": 0.002, "fetch_weights_s": 0.002, "update_weights_s": 0.003}
        times = component_times(np.atleast_1d(work_s), (0.005, 0.15, 0.005), held, variation)
        return times, RunGrid(np.array([nodes]), np.array(gpus), np.array(1), np.array(100_000))

    return build


@pytest.fixture(scope="session")
def heavy() -> Machine:
    """``heavy(work_s, variation, nodes, gpus)``: holds that are a large part of an iteration, 0.12 s of update work."""

    def build(work_s: Any, variation: float, nodes: int = 16, gpus: int = 4) -> Case:
        held = {"sum_gradient_s": 0.0246, "update_gradient_s": 0.02, "fetch_weights_s": 0.008, "update_weights_s": 0.013}
        times = component_times(np.atleast_1d(work_s), (0.01, 0.10, 0.01), held, variation)
        return times, RunGrid(np.array([nodes]), np.array(gpus), np.array(1), np.array(100_000))

    return build
