"""Model parallelism behind parameter servers as one system among others: measured parts of a sample in, epochs out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.base.system import Setting, Solution, SystemComponent, checked_run, checked_times
from mlperf.systems.model_parallel.epoch import overlapped_staleness
from mlperf.systems.model_parallel.server_exchange import exchange_of
from mlperf.systems.parameter_server.components import solution_of

# fmt: off
COMPONENTS = (
    #               name            activity   kind         meaning                                      candidates
    SystemComponent("forward",      "replica", "work",      "forward pass of a sample",                  ("n_flops",), True, True),
    SystemComponent("backward",     "replica", "work",      "backward pass of a sample",                 ("n_flops",), False, True),
    SystemComponent("update",       "replica", "work",      "weight update of a sample",                 ("n_flops",), False, True),
    SystemComponent("activations",  "replica", "transfer",  "activations of other workers, a sample",    (), False, True),
    SystemComponent("errors",       "replica", "transfer",  "error terms of other workers, a sample",    (), False, True),
    SystemComponent("replica_sync", "replica", "collective","copies inside a replica, a mini-batch",     ("n_params",)),
    SystemComponent("exchange",     "replica", "transfer",  "push and pull of a worker, by its link",    ("n_params",)),
    SystemComponent("push",         "server",  "transfer",  "push and pull of a replica, by one server", ("n_params",)),
    SystemComponent("apply",        "server",  "critical",  "a replica's gradients added by one server", ("n_params",)),
)
SETTINGS = (
    Setting("n_replicas",  1.0, "model replicas, A",                                  1.0),
    Setting("n_servers",   0.0, "parameter servers, S; replicas above one need some"),
    Setting("n_workers",   1.0, "machines of a replica, n",                           1.0),
    Setting("synchronous", 0.0, "1 where computing waits for the exchange with the servers"),
)
# fmt: on
SAMPLE = ("forward", "backward", "update", "activations", "errors")
OUTPUTS = ("epoch_s", "mean_minibatch_size", "sample_s", "period_s", "sync_s", "mean_staleness", "server_utilisation")


@dataclass(frozen=True, slots=True)
class ModelParallelSystem:
    """Replicas of n workers each, which exchange weights with S servers (Yan et al., KDD 2015).

    The mini-batch of a replica is the sub-batch, B; machines are nodes: A n + S of them are used. The equations are those of
    `mlperf.systems.model_parallel.epoch`, with the times of a sample given instead of computed from constants.
    """

    name: str = "model-parallel"
    title: str = "Model parallelism: layers on several workers, replicas behind parameter servers"
    components: tuple[SystemComponent, ...] = COMPONENTS
    settings: tuple[Setting, ...] = SETTINGS
    outputs: tuple[str, ...] = OUTPUTS

    def refusals(self, run: Mapping[str, FloatArray]) -> dict[str, BoolArray]:
        """Configurations with too few machines, or with several replicas and no server."""
        sizes = checked_run(self, run)
        used = sizes["n_replicas"] * sizes["n_workers"] + sizes["n_servers"]
        shape = np.broadcast_shapes(*(np.shape(each) for each in sizes.values()))
        return {
            "replicas and servers need more machines than there are": np.broadcast_to(used > sizes["n_nodes"], shape),
            "a node has several GPUs, but is one worker with one here": np.broadcast_to(sizes["n_gpus_per_node"] > 1, shape),
            "several replicas need a server": np.broadcast_to((sizes["n_replicas"] > 1) & (sizes["n_servers"] < 1), shape),
        }

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """Outputs of configurations; see `mlperf.systems.base.system.System.solve`.

        ``mean_minibatch_size`` is what one update adds up: B of asynchronous replicas, A B of synchronous ones.
        """
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        for reason, refused in self.refusals(run).items():
            if refused.any():
                raise DataError(f"got {int(refused.sum())} configurations where {reason}", place=f"system {self.name!r}")
        replicas, servers, batch = sizes["n_replicas"], sizes["n_servers"], sizes["subbatch_size"]
        waits = sizes["synchronous"] > 0.0
        parts = {name: batch * seconds[name] for name in SAMPLE} | {"replica_sync": seconds["replica_sync"]}
        compute = np.asarray(sum(parts.values()))
        exchange = exchange_of(
            seconds["exchange"],
            0.5 * seconds["push"],
            seconds["apply"],
            sizes["n_workers"],
            replicas,
            servers,
        )
        served = np.where(servers > 0, replicas / np.maximum(servers, 1.0), 0.0)
        server = {name: served * seconds[name] for name in ("push", "apply")}
        busy = exchange.busy_s
        period = np.where(waits, exchange.period_s(compute, synchronous=True), exchange.period_s(compute, synchronous=False))
        sync = np.where(waits, period - compute, np.maximum(exchange.link_s, busy))
        outputs = {
            "epoch_s": sizes["dataset_size"] / (replicas * batch) * period,
            "mean_minibatch_size": np.where(waits, replicas, 1.0) * batch,
            "sample_s": compute / batch,
            "period_s": period,
            "sync_s": sync,
            "mean_staleness": np.where(waits, 0.0, overlapped_staleness(replicas, servers)),
            "server_utilisation": np.divide(busy, period, out=np.zeros(np.shape(period)), where=period > 0.0),
        }
        breakdown = {
            "replica": {**parts, "wait": np.maximum(period - compute, 0.0)},
            "server": {**server, "idle": np.maximum(period - busy, 0.0)},
        }
        flags = {"exchange_bound": np.asarray(sync > compute)}
        return solution_of(outputs, breakdown, flags, (*seconds.values(), *sizes.values()))


MODEL_PARALLEL = ModelParallelSystem()
