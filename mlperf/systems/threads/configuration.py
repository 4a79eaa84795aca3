"""The threads of a configuration that nobody has run: component times from a model, events from the simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.specs.cnn import CnnSpec
from mlperf.specs.machine import MachineSpec
from mlperf.systems.component_times import predict_times
from mlperf.systems.detail.simulated import N_ITERATIONS, plan_for
from mlperf.systems.detail.solved import refuse_scaled_waits
from mlperf.systems.gradient import PREDICTOR
from mlperf.systems.model import Model
from mlperf.systems.predict import Counts, configurations
from mlperf.systems.simulate import simulate_iterations
from mlperf.systems.sprint import solve_iterations
from mlperf.systems.threads.lanes import ThreadTimeline
from mlperf.systems.threads.simulated import simulated_threads
from mlperf.systems.times import RunGrid

N_UPDATES = 40
GPU_EVENTS, UPDATE_EVENTS = 3, 4
"""Events of one GPU iteration, and of one update beside its sums."""


def simulated_configuration(
    model: Model,
    cnn: CnnSpec,
    machine: MachineSpec,
    *,
    n_nodes: Counts,
    n_gpus_per_node: Counts,
    subbatch_size: Counts,
    method: str = PREDICTOR,
    factors: Mapping[str, float] | None = None,
    seed: int = 0,
) -> ThreadTimeline:
    """Simulate Algorithms 1 and 2 for one configuration and keep about forty updates.

    Parameters
    ----------
    model, cnn, machine
        As in `mlperf.predict_epoch`.
    n_nodes, n_gpus_per_node, subbatch_size : int
        The configuration.
    method, factors, seed
        As in `mlperf.predict_epoch`.

    Raises
    ------
    UsageError
        Several configurations, or a factor on a lock wait.
    DataError
        A component or kernel has no model.
    """
    configs = configurations([0], n_nodes, n_gpus_per_node, subbatch_size, 1)
    if len(configs) != 1:
        raise UsageError(
            f"got {len(configs)} configurations, expected one for a timeline", hint="Name one --nodes and one --subbatch."
        )
    times = predict_times(model, [cnn], machine, configs, method).times.scaled(factors or {})
    refuse_scaled_waits(times, "timeline")
    run = run_of(configs)
    ratio = float(solve_iterations(times, run, "second_moment").ratio.ravel()[0])
    simulation = simulate_iterations(times, run, seed, replace(plan_for(N_ITERATIONS, ratio), n_recorded=n_events(run, ratio)))
    return simulated_threads(simulation.timeline, int(run.n_gpus_per_node[0]))


def run_of(configs: pd.DataFrame) -> RunGrid:
    """The configurations as the equations take them."""
    nodes, gpus, subbatch, size = (
        configs[name].to_numpy(int) for name in ("n_nodes", "n_gpus_per_node", "subbatch_size", "dataset_size")
    )
    return RunGrid(nodes, gpus, subbatch, size)


def n_events(run: RunGrid, ratio: float) -> int:
    """Events of `N_UPDATES` updates when T_Update / T_GPU is ``ratio``."""
    n_gpus, n_nodes = int(run.n_gpus[0]), int(run.n_nodes[0])
    of_update = n_nodes * UPDATE_EVENTS + n_gpus * min(1.0, ratio) + GPU_EVENTS * n_gpus * ratio
    return int(N_UPDATES * of_update) + 1
