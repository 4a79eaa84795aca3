"""Partitioned training with parameter servers as one system among others: seconds a sample and a mini-batch in, epochs out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.base.system import Setting, Solution, SystemComponent, checked_run, checked_times

OUTPUTS = ("epoch_s", "mean_minibatch_size", "sample_s", "period_s", "sync_s", "mean_staleness")
SAMPLE = (
    SystemComponent("forward", "sample", "work", "forward pass of one sample, all layers, by the slowest segments", needed=True),
    SystemComponent("backward", "sample", "work", "backward pass of one sample", needed=True),
    SystemComponent("update", "sample", "work", "updates of the weights for one sample"),
    SystemComponent("activations", "sample", "transfer", "activations of one sample from other machines"),
    SystemComponent("errors", "sample", "transfer", "error terms of one sample from other machines"),
)
COMPONENTS = (
    *SAMPLE,
    SystemComponent("copies", "period", "collective", "exchange among the copies inside a replica, once a mini-batch"),
    SystemComponent("worker_link", "period", "transfer", "push and pull of a worker's part of the weights over its own link"),
    SystemComponent("server_link", "period", "transfer", "push and pull of all weights of one replica over one server's link"),
    SystemComponent("server_apply", "period", "work", "adding the gradients of one replica, by one server"),
)
SETTINGS = (
    Setting("n_replicas", 1.0, "replicas of the network, A", 1.0),
    Setting("n_servers", 0.0, "parameter servers, S; several replicas need one"),
    Setting("n_workers", 1.0, "machines of one replica, n", 1.0),
    Setting("synchronous", 0.0, "1: replicas wait for the exchange; 0: it overlaps"),
)


@dataclass(frozen=True, slots=True)
class ModelParallelSystem:
    """Replicas of n workers behind S servers (Yan et al., KDD 2015, completed); each updates after ``subbatch_size`` samples.

    Components of a sample are those of one replica with its samples in flight considered: what the KDD'15 equations give, what was
    measured, or what another system found for a replica.
    """

    name: str = "model-parallel"
    title: str = "Model parallel: replicas of several machines, parameter servers"
    components: tuple[SystemComponent, ...] = COMPONENTS
    settings: tuple[Setting, ...] = SETTINGS
    outputs: tuple[str, ...] = OUTPUTS

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Sample, mini-batch and epoch; see `mlperf.systems.base.system.System.solve`.

        Raises
        ------
        DataError
            Several replicas without a server, or more machines than there are.
        """
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        replicas, servers, batch = sizes["n_replicas"], sizes["n_servers"], sizes["subbatch_size"]
        synchronous = sizes["synchronous"] > 0.0
        _check_machines(sizes)
        per_sample = {each.name: seconds[each.name] for each in SAMPLE}
        sample_s = np.asarray(sum(per_sample.values()) + seconds["copies"] / batch)
        shared = replicas / np.maximum(servers, 1.0)
        by_server = shared * (seconds["server_link"] + seconds["server_apply"])
        sync_s = np.where(servers > 0.0, np.maximum(seconds["worker_link"], by_server), 0.0)
        compute_s = batch * sample_s
        period_s = np.where(synchronous, compute_s + sync_s, np.maximum(compute_s, sync_s))
        outputs = {
            "epoch_s": sizes["dataset_size"] / (replicas * batch) * period_s,
            "mean_minibatch_size": np.where(synchronous, replicas * batch, batch),
            "sample_s": sample_s,
            "period_s": period_s,
            "sync_s": sync_s,
            "mean_staleness": np.where(synchronous, 0.0, replicas - 1.0),
        }
        shape = np.broadcast_shapes(*(each.shape for each in outputs.values()))
        wait_s = period_s - compute_s
        parts = {name: batch * each for name, each in per_sample.items()} | {"copies": seconds["copies"], "exchange": wait_s}
        filled = {name: np.broadcast_to(each, shape) for name, each in parts.items()}
        flags: dict[str, BoolArray] = {"servers_bound": np.broadcast_to(sync_s > compute_s, shape)}
        return Solution({name: np.broadcast_to(each, shape) for name, each in outputs.items()}, {"period": filled}, flags)


def _check_machines(sizes: Mapping[str, FloatArray]) -> None:
    place = "system 'model-parallel'"
    replicas, servers, workers, nodes = (sizes[name] for name in ("n_replicas", "n_servers", "n_workers", "n_nodes"))
    alone = np.broadcast_to((replicas > 1.0) & (servers < 1.0), np.broadcast_shapes(replicas.shape, servers.shape))
    if alone.any():
        most = float(replicas.max())
        raise DataError(
            f"got {most:g} replicas without a server, expected n_servers of at least 1", place=place, hint="n_servers = 1."
        )
    used = replicas * workers + servers
    over = used > nodes
    if over.any():
        first = tuple(np.argwhere(over)[0])
        got, have = (float(np.broadcast_to(each, over.shape)[first]) for each in (used, nodes))
        raise DataError(f"got {got:g} machines for replicas and servers, expected at most {have:g} nodes", place=place)


MODEL_PARALLEL = ModelParallelSystem()
