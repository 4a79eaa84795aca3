"""The threads of a run: as it was recorded, or from a model and the simulation where nobody has run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.collect.trainer.job import read_job
from mlperf.collect.trainer.ledger import GPU_TIMES, UPDATE_TIMES
from mlperf.collect.trainer.records import stored_records
from mlperf.core.errors import DataError, UsageError
from mlperf.datasets.reading.any_table import read_typed_table
from mlperf.datasets.reading.folder import table_file
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
from mlperf.training.elsewhere import model_on
from mlperf.training.model import Model

RECORDED = "recorded"
FILES = ("job.json", "gpu.csv.gz", "updates.csv.gz", "end.json")
NAMES = {"barrier_wait": "barrier", "allreduce_payload": "allreduce"}
KEYS = ["node", "thread", "iteration", "version", "update"]


def recorded_threads(folder: Path | str) -> ThreadTimeline:
    """Lay the measured parts of every iteration behind one another.

    A record holds when an iteration began and how long each of its parts took. The waits of an update for the buffers of its node
    are one sum, as are the additions: both are drawn as one part each. Threads of a node share a clock; nodes whose clocks
    differ by more than an update are moved so that their barriers end together.

    Parameters
    ----------
    folder : Path or str
        ``asgd/run-0001`` of a campaign.

    Raises
    ------
    DataError
        The folder is not that of a finished run.
    """
    place = Path(folder)
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        hint = "A run's folder is asgd/run-NNNN of a campaign made by mlperf collect asgd."
        raise DataError(f"got no {missing[0]}, expected the records of a run", place=str(place), hint=hint)
    records = stored_records(place)
    gpu = records.gpu.rename(columns={"gpu": "thread"})
    updates = records.updates.assign(thread=UPDATE, iteration=records.updates["update"], version=-1)
    late_s = clock_offsets(updates)
    parts = [laid_out(table, names, late_s) for table, names in ((gpu, GPU_TIMES), (updates, UPDATE_TIMES))]
    intervals = pd.concat(parts, ignore_index=True).sort_values(["node", "thread", "begin_s"], kind="stable", ignore_index=True)
    start_s = float(intervals["begin_s"].min()) if len(intervals) else 0.0
    shifted = intervals.assign(begin_s=intervals["begin_s"] - start_s, end_s=intervals["end_s"] - start_s)
    return ThreadTimeline(RECORDED, mode_of(place), shifted[list(COLUMNS)])


def laid_out(table: pd.DataFrame, names: tuple[str, ...], late_s: pd.Series) -> pd.DataFrame:
    """One row a part that took any time, from one row an iteration."""
    start_s = table["start_s"].to_numpy(float) - table["node"].map(late_s).to_numpy(float)
    ends = start_s[:, None] + np.cumsum(table[list(names)].to_numpy(float), axis=1)
    begins = np.concatenate([start_s[:, None], ends[:, :-1]], axis=1)
    parts = [
        table[KEYS].assign(activity=activity(name), begin_s=begins[:, part], end_s=ends[:, part]) for part, name in enumerate(names)
    ]
    every = pd.concat(parts, ignore_index=True)
    return every[every["end_s"] > every["begin_s"]]


def activity(column: str) -> str:
    """The component of a column of the records."""
    name = column.removesuffix("_s")
    return NAMES.get(name, name)


def clock_offsets(updates: pd.DataFrame) -> pd.Series:
    """Seconds by which each node's clock is ahead of the first one's: 0 where they differ by less than an update.

    The barrier of an update ends at the same time on all nodes.
    """
    before = UPDATE_TIMES[: UPDATE_TIMES.index("barrier_wait_s") + 1]
    met = updates.assign(met_s=updates["start_s"] + updates[list(before)].sum(axis=1)).pivot_table(
        index="update", columns="node", values="met_s"
    )
    ahead: pd.Series = met.sub(met[met.columns[0]], axis=0).median()
    return ahead.where(ahead.abs() > updates["iteration_s"].mean(), 0.0)


def mode_of(folder: Path) -> str:
    """The mode that the campaign's ``runs.csv`` states for the run; else what its job says of waits."""
    table = table_file(folder.parent.parent, "runs")
    number = folder.name.removeprefix("run-")
    if table is not None and number.isdigit():
        runs = read_typed_table(table, ("run", "mode"), labels=("mode",), numbers="run".__eq__, others=False).frame
        found = runs.loc[runs["run"] == int(number), "mode"]
        if len(found):
            return str(found.iloc[0])
    waits = read_job(folder).waits
    return f"emulated {', '.join(waits)}" if waits else "real"


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
N_LEAST_ITERATIONS = 5
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
    model = model_on(model, machine)
    inputs = configuration_inputs(model, cnns, machine, configs, options.optimizer)
    times = predict_times(model, inputs, options.method).times.scaled(options.factors or {})
    refuse_scaled_waits(times, "timeline")
    ratio = float(solve_iterations(times, run, "second_moment").ratio.ravel()[0])
    plan = replace(plan_for(N_ITERATIONS, ratio), n_recorded=n_events(run, ratio))
    simulation = simulate_iterations(times, run, options.seed, plan)
    return simulated_threads(simulation.timeline, int(run.n_gpus_per_node[0]))


def n_events(run: RunGrid, ratio: float) -> int:
    """Events of `N_UPDATES` updates, or of `N_LEAST_ITERATIONS` of a GPU thread, when T_Update / T_GPU is ``ratio``."""
    n_gpus, n_nodes = int(run.n_gpus[0]), int(run.n_nodes[0])
    of_update = n_nodes * UPDATE_EVENTS + n_gpus * min(1.0, ratio) + GPU_EVENTS * n_gpus * ratio
    return int(max(N_UPDATES, N_LEAST_ITERATIONS / ratio) * of_update) + 1
