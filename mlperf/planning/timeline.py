"""The threads of a configuration that nobody has run: component times from a model, events from the simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.planning.component_times import predict_times
from mlperf.planning.inputs import RUN_COLUMNS, configuration_inputs
from mlperf.planning.options import PredictionOptions
from mlperf.planning.run_prediction import Prediction
from mlperf.specs.machine import MachineSpec
from mlperf.specs.network.cnn import CnnSpec
from mlperf.systems.base.times import RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.simulate import simulate_iterations
from mlperf.systems.sprint.simulated import N_ITERATIONS, plan_for
from mlperf.systems.sprint.solved import refuse_scaled_waits
from mlperf.systems.sprint.timeline import Timeline
from mlperf.traces.timeline.lanes import COLUMNS, UPDATE, ThreadTimeline
from mlperf.training.model import Model

SIMULATED = "simulated"


def simulated_threads(timeline: Timeline, n_gpus_per_node: int) -> ThreadTimeline:
    """Sort what a simulation recorded by node and thread.

    The four components of the GPU's work are one activity, ``gpu_work``; old weights and momentum are ``prepare``.

    Parameters
    ----------
    timeline : Timeline
        Of `mlperf.systems.sprint.simulate.simulate_iterations` with ``n_recorded`` > 0.
    n_gpus_per_node : int
        GPUs are numbered node by node.
    """
    on_gpu = np.asarray(timeline.on_gpu, bool)
    intervals = pd.DataFrame(
        {
            "node": np.where(on_gpu, timeline.index // n_gpus_per_node, timeline.index),
            "thread": np.where(on_gpu, timeline.index % n_gpus_per_node, UPDATE),
            "activity": list(timeline.activity),
            "begin_s": timeline.begin_s,
            "end_s": timeline.end_s,
        }
    ).sort_values(["node", "thread", "begin_s"], kind="stable", ignore_index=True)
    # Both threads begin an iteration behind the activity that ended the last one.
    ended = intervals["activity"].isin(("update_gradient", "update_weights")).astype(int)
    turn = (ended.groupby([intervals["node"], intervals["thread"]]).cumsum() - ended).to_numpy(int)
    of_update = (intervals["thread"] == UPDATE).to_numpy(bool)
    marked = intervals.assign(iteration=turn, version=-1, update=np.where(of_update, turn, -1))
    return ThreadTimeline(SIMULATED, SIMULATED, marked[list(COLUMNS)])


N_UPDATES = 40
GPU_EVENTS, UPDATE_EVENTS = 3, 4
"""Events of one GPU iteration, and of one update beside its sums."""


def simulated_configuration(
    model: Model,
    prediction: Prediction,
    cnns: Sequence[CnnSpec],
    machine: MachineSpec,
    options: PredictionOptions,
) -> ThreadTimeline:
    """Simulate Algorithms 1 and 2 for the one configuration of a prediction and keep about forty updates.

    Parameters
    ----------
    model, machine, options
        Those of the prediction; of the options ``method, factors, seed``.
    prediction : Prediction
        Of `mlperf.predict_epoch`.
    cnns : sequence of CnnSpec
        The network.

    Raises
    ------
    UsageError
        Several configurations, or a factor on a lock wait.
    """
    run = prediction.run
    if len(prediction.cnn) != 1:
        hint = "Name one --nodes and one --subbatch."
        raise UsageError(f"got {len(prediction.cnn)} configurations, expected one for a timeline", hint=hint)
    configs = pd.DataFrame({"cnn": [0], **{name: getattr(run, name) for name in RUN_COLUMNS}})
    inputs = configuration_inputs(model, cnns, machine, configs, options.optimizer)
    times = predict_times(model, inputs, options.method).times.scaled(options.factors or {})
    refuse_scaled_waits(times, "timeline")
    ratio = float(solve_iterations(times, run, "second_moment").ratio.ravel()[0])
    plan = replace(plan_for(N_ITERATIONS, ratio), n_recorded=n_events(run, ratio))
    simulation = simulate_iterations(times, run, options.seed, plan)
    return simulated_threads(simulation.timeline, int(run.n_gpus_per_node[0]))


def n_events(run: RunGrid, ratio: float) -> int:
    """Events of `N_UPDATES` updates when T_Update / T_GPU is ``ratio``."""
    n_gpus, n_nodes = int(run.n_gpus[0]), int(run.n_nodes[0])
    of_update = n_nodes * UPDATE_EVENTS + n_gpus * min(1.0, ratio) + GPU_EVENTS * n_gpus * ratio
    return int(N_UPDATES * of_update) + 1
