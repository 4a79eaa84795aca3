"""Asynchronous workers at parameter servers: a closed queue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.systems.base.system import Setting, Solution, SystemComponent, checked_run, checked_times
from mlperf.systems.coupling.mixed_queue import mixed_queue
from mlperf.systems.coupling.queues import closed_queue, saturation_workers
from mlperf.systems.parameter_server.components import COMPONENTS, SETTINGS, Loads, server_loads, solution_of

OUTPUTS = (
    "epoch_s",
    "mean_minibatch_size",
    "samples_per_s",
    "updates_per_s",
    "mean_staleness",
    "step_s",
    "wait_s",
    "server_utilisation",
    "saturation_workers",
)


@dataclass(frozen=True, slots=True)
class ParameterServerSystem:
    """Workers fetch weights, compute a gradient and push it; servers apply gradients one by one, each at once.

    Servers hold a part of the weights each and work on the parts of one gradient at the same time: one server whose service takes
    1 / n_servers. A worker that fetches right after its push ages the gradients of the N - 1 others by one update: mean staleness
    is exactly N - 1, whatever the speeds.
    """

    name: str = "parameter-server"
    title: str = "Parameter servers: asynchronous SGD, workers queue for the servers"
    components: tuple[SystemComponent, ...] = COMPONENTS
    settings: tuple[Setting, ...] = SETTINGS
    outputs: tuple[str, ...] = OUTPUTS

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Outputs of configurations; see `mlperf.systems.base.system.System.solve`.

        ``step_s`` and ``wait_s`` are means over updates; the flag ``saturated`` says where there are more workers than the server
        can keep busy, ``mixed`` where there are two kinds.
        """
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        loads = server_loads(seconds, sizes)
        updates, wait = _updates(loads)
        samples = updates * sizes["subbatch_size"]
        full = saturation_workers(np.where(loads.n_slow == loads.n_workers, loads.slow_work_s, loads.work_s), loads.service_s)
        step = loads.n_workers / updates
        outputs = {
            "epoch_s": sizes["dataset_size"] / samples,
            "mean_minibatch_size": sizes["subbatch_size"],
            "samples_per_s": samples,
            "updates_per_s": updates,
            "mean_staleness": loads.n_workers - 1.0,
            "step_s": step,
            "wait_s": wait,
            "server_utilisation": updates * loads.service_s,
            "saturation_workers": full,
        }
        flags = {"saturated": loads.n_workers > full, "mixed": loads.is_mixed}
        breakdown = _breakdown(seconds, sizes, loads, updates, wait)
        return solution_of(outputs, breakdown, flags, (*seconds.values(), *sizes.values()))


def _updates(loads: Loads) -> tuple[FloatArray, FloatArray]:
    """Updates a second, and the mean wait of an update, seconds."""
    is_mixed = loads.is_mixed
    queue = closed_queue(loads.slowest_work_s, loads.service_s, loads.n_workers, loads.service_scv)
    updates, wait = np.array(queue.throughput_per_s), np.array(queue.wait_s)
    if is_mixed.any():
        thinks = np.stack([loads.work_s[is_mixed], loads.slow_work_s[is_mixed]], axis=-1)
        counts = np.stack([(loads.n_workers - loads.n_slow)[is_mixed], loads.n_slow[is_mixed]], axis=-1)
        kinds = mixed_queue(thinks, loads.service_s[is_mixed][:, None], counts, loads.service_scv[is_mixed])
        updates[is_mixed] = kinds.throughput_per_s.sum(axis=-1)
        wait[is_mixed] = kinds.queue_length.sum(axis=-1) / updates[is_mixed] - loads.service_s[is_mixed]
    return updates, wait


def _breakdown(
    times: Mapping[str, FloatArray], run: Mapping[str, FloatArray], loads: Loads, updates: FloatArray, wait: FloatArray
) -> dict[str, dict[str, FloatArray]]:
    """A worker's step and a server's time from update to update; ``compute`` of mixed workers is the mean over updates."""
    ones = np.ones(updates.shape)
    push, apply = (ones * times[name] / run["n_servers"] for name in ("push", "apply"))
    pull = ones * times["pull"]
    work = loads.n_workers / updates - wait - loads.service_s
    worker = {"compute": work - pull, "pull": pull, "wait": wait, "push": push, "apply": apply}
    return {"worker": worker, "server": {"push": push, "apply": apply, "idle": np.maximum(1.0 / updates - push - apply, 0.0)}}


PARAMETER_SERVER = ParameterServerSystem()
