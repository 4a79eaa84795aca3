"""Rows of components.csv and runs.csv, and histograms, from the records of one run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from mlperf.collect.trainer.job import Job
from mlperf.collect.trainer.ledger import GPU_TIMES, UPDATE_TIMES
from mlperf.collect.trainer.records import Records
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.schema import RUNS
from mlperf.systems.sprint.components import COMPONENT_NAMES

GPU_WORK = ("load_image_s", "deform_image_s", "compute_gradient_s", "compute_update_value_s")
UPDATE_WORK = ("update_old_weights_s", "add_momentum_s", "update_momentum_s")
LEAST_COUNTED = 5


def counted(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows that count."""
    return frame[frame["counted"] == 1]


def check_long_enough(records: Records, place: str) -> None:
    """Refuse a run from which no mean can be taken.

    Raises
    ------
    DataError
        Says what is missing.
    """
    gpu, updates = counted(records.gpu), counted(records.updates)
    per_node = updates.groupby("node").size()
    problems = (
        (per_node.empty or per_node.min() < LEAST_COUNTED, f"got fewer than {LEAST_COUNTED} updates after the first ones"),
        (gpu.empty, "got no whole iteration of a worker after the first updates"),
        (not gpu["fetched"].any(), "got no worker that found new weights after the first updates"),
        (updates["n_buffers_added"].sum() == 0, "got no update with a gradient after the first ones"),
    )
    for holds, message in problems:
        if holds:
            raise DataError(f"{message}, expected a longer run", place=place, hint="Raise --updates or --epochs.")


def check_finite_losses(records: Records, place: str) -> None:
    """Refuse a run whose loss stopped being a number.

    Raises
    ------
    DataError
        Names the first iteration.
    """
    lost = records.gpu[~np.isfinite(records.gpu["loss"])]
    if len(lost):
        first = lost.sort_values("start_s").iloc[0]
        got = f"got {float(first['loss'])} as loss from iteration {int(first['iteration'])} of a worker on, expected a number"
        raise DataError(got, place=place, hint="Training diverged: take a smaller --learning-rate or --momentum.")


def component_times(job: Job, records: Records) -> dict[str, float]:
    """Means of the sixteen components, and the two probabilities; columns of components.csv.

    ``fetch_weights_s`` is over iterations that copied, ``sum_gradient_s`` over buffers added, ``allreduce_s`` is wait and payload.
    """
    gpu, updates = counted(records.gpu), counted(records.updates)
    means = {name: float(gpu[name].mean()) for name in GPU_TIMES} | {name: float(updates[name].mean()) for name in UPDATE_TIMES}
    means["fetch_weights_s"] = float(gpu.loc[gpu["fetched"] == 1, "fetch_weights_s"].mean())
    means["sum_gradient_s"] = float(updates["sum_gradient_s"].sum() / updates["n_buffers_added"].sum())
    means["allreduce_s"] = means["barrier_wait_s"] + means["allreduce_payload_s"]
    return {
        **{f"{name}_s": means[f"{name}_s"] for name in COMPONENT_NAMES},
        "fetch_probability": float(gpu["fetched"].mean()),
        "ready_probability": float(updates["n_buffers_added"].mean() / job.n_gpus_per_node),
    }


def run_outputs(job: Job, records: Records) -> dict[str, float]:
    """Columns of runs.csv that the run as a whole gives."""
    gpu, updates = counted(records.gpu), counted(records.updates)
    one_node = updates[updates["node"] == 0]
    minibatch = float(one_node["n_gradients"].mean()) * job.subbatch_size
    update_s = float(updates["iteration_s"].mean())
    return {
        "gpu_iteration_s": float(gpu["iteration_s"].mean()),
        "update_iteration_s": update_s,
        "mean_minibatch_size": minibatch,
        "epoch_s": job.dataset_size * update_s / minibatch,
        "staleness": float(counted_uses(records)["staleness"].mean()),
    }


def counted_uses(records: Records) -> pd.DataFrame:
    """Gradients used by counted updates; a node's own record says which updates count."""
    keys = counted(records.updates)[["node", "update"]]
    return records.uses.drop(columns="counted").merge(keys, on=["node", "update"])


def histograms(job: Job, records: Records) -> pd.DataFrame:
    """How often each mini-batch size (samples) and staleness (updates) occurred: ``quantity``, ``value``, ``count``."""
    updates = counted(records.updates)
    found = {
        "minibatch_size": updates.loc[updates["node"] == 0, "n_gradients"] * job.subbatch_size,
        "staleness": counted_uses(records)["staleness"],
        "buffers_added": updates["n_buffers_added"],
    }
    parts = []
    for quantity, values in found.items():
        value, count = np.unique(values, return_counts=True)
        parts.append(pd.DataFrame({"quantity": quantity, "value": value, "count": count}))
    return pd.concat(parts, ignore_index=True)


def conservation(records: Records) -> tuple[int, int, int]:
    """Gradients computed, used by an update, and left in buffers at the stop; the first is the sum of the others."""
    computed = sum(sum(end["n_computed"]) for end in records.end)
    left = sum(sum(end["n_left"]) for end in records.end)
    return computed, len(records.uses), left


def details(job: Job, records: Records, n_cores: int) -> dict[str, Any]:
    """What explains a run beside its row: ``asgd/details.csv``."""
    gpu, updates = counted(records.gpu), counted(records.updates)
    outputs = run_outputs(job, records)
    n_computed, n_used, n_left = conservation(records)
    minibatch = updates.loc[updates["node"] == 0, "n_gradients"] * job.subbatch_size
    expected = job.n_workers * job.subbatch_size * outputs["update_iteration_s"] / outputs["gpu_iteration_s"]
    return {
        "seed": job.seed,
        "learning_rate": job.learning_rate,
        "momentum": job.momentum,
        "cores_per_worker": n_cores / job.n_workers,
        **spreads(gpu, updates),
        "barrier_wait_s": float(updates["barrier_wait_s"].mean()),
        "allreduce_payload_s": float(updates["allreduce_payload_s"].mean()),
        "minibatch_std": _spread(minibatch),
        "staleness_std": _spread(counted_uses(records)["staleness"]),
        "minibatch_ratio": outputs["mean_minibatch_size"] / expected,
        "n_updates": int(updates["update"].max()) + 2,
        "n_updates_counted": int((updates["node"] == 0).sum()),
        "n_computed": n_computed,
        "n_used": n_used,
        "n_left": n_left,
        **overshoot(job, records),
    }


def spreads(gpu: pd.DataFrame, updates: pd.DataFrame) -> dict[str, float]:
    """Standard deviations from one occurrence to the next, seconds: of the work of both threads, and of each lock hold.

    That of one buffer's sum comes from updates that added X buffers, whose time varies by X times as much (in variance).
    """
    fetches = gpu.loc[gpu["fetched"] == 1, "fetch_weights_s"]
    added = updates["n_buffers_added"]
    per_buffer_s = updates["sum_gradient_s"].sum() / added.sum()
    sums_s = updates.loc[added > 0, "sum_gradient_s"] - per_buffer_s * added[added > 0]
    return {
        "gpu_work_std_s": _spread(gpu[list(GPU_WORK)].sum(axis=1)),
        "fetch_weights_std_s": _spread(fetches),
        "update_gradient_std_s": _spread(gpu["update_gradient_s"]),
        "sum_gradient_std_s": float(np.sqrt((sums_s**2).sum() / added.sum())),
        "update_work_std_s": _spread(updates[list(UPDATE_WORK)].sum(axis=1)),
        "update_weights_std_s": _spread(updates["update_weights_s"]),
    }


def _spread(values: pd.Series[float]) -> float:
    """Standard deviation; 0 of a single value."""
    return float(values.std()) if len(values) > 1 else 0.0


def overshoot(job: Job, records: Records) -> dict[str, float]:
    """How much a wait usually errs (median), and on average: rare ones err by milliseconds; shares of the shortest mean wait."""
    names = ("overshoot_s", "overshoot_mean_s", "shortest_wait_s", "overshoot_share", "overshoot_mean_share")
    if not job.waits:
        return dict.fromkeys(names, 0.0)
    overshoots = np.concatenate([np.asarray(each) for end in records.end for each in end["overshoots_s"]])
    shortest_s = min(float(np.mean(rounds_s)) for rounds_s in job.waits.values() if sum(rounds_s) > 0)
    usual_s, mean_s = float(np.median(np.abs(overshoots))), float(np.mean(np.abs(overshoots)))
    return dict(zip(names, (usual_s, mean_s, shortest_s, usual_s / shortest_s, mean_s / shortest_s), strict=True))


def setting_of(job: Job, run: int, mode: str) -> dict[str, Any]:
    """Columns that name the run and its setting."""
    cnn = job.network
    values = (run, mode, cnn.name, job.n_nodes, job.n_gpus_per_node, job.subbatch_size, cnn.n_params)
    return dict(zip(RUNS.names, values, strict=False))
