"""SPRINT with other parts: a server in place of the all-reduce, a model-parallel replica in place of a GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.systems.base.collectives import server_exchange_s
from mlperf.systems.base.system import Screened, Setting, Solution, System, SystemComponent, checked_run, checked_times
from mlperf.systems.data_parallel.columns import NETWORK, needed_column
from mlperf.systems.data_parallel.configuration import SynchronousRules, check_configuration
from mlperf.systems.sprint.system import SPRINT

ALLREDUCE, GRADIENT = "allreduce", "compute_gradient"
SERVER = SystemComponent(
    "apply", "update", "work", "a server's sum of one node's vector into its own, all shards together", ("n_params",)
)
SAMPLE = SystemComponent(
    "sample", "gpu", "work", "one sample's forward and backward pass in a replica of several GPUs", (), needed=True
)


@dataclass(frozen=True, slots=True)
class SprintServer(SynchronousRules):
    """SPRINT whose update threads exchange through parameter servers that stand apart.

    Each update pushes a node's vector and pulls the sum: 2 max(latency + B/bandwidth, latency + M B/(S bandwidth)) and the servers'
    sums, M apply / S, in place of the all-reduce. Nodes still wait for one another: the sum is of all.
    """

    inside: System = SPRINT
    name: str = "sprint-server"
    title: str = "SPRINT with parameter servers in place of the all-reduce"

    @property
    def components(self) -> tuple[SystemComponent, ...]:
        """SPRINT's, the all-reduce computed, and the server's work."""
        return (*(each for each in self.inside.components if each.name != ALLREDUCE), SERVER)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """SPRINT's and the number of servers."""
        return (*self.inside.settings, Setting("n_servers", 1.0, "parameter servers, each with an equal part of the vector", 1.0))

    @property
    def outputs(self) -> tuple[str, ...]:
        """SPRINT's and the exchange."""
        return (*self.inside.outputs, "exchange_s")

    def screen(self, outputs: Sequence[str]) -> SprintServer:
        """By the cheaper equations of the system inside; itself where that has none."""
        return replace(self, inside=self.inside.screen(outputs)) if isinstance(self.inside, Screened) else self

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """SPRINT's equations; the run has ``gradient_bytes, latency_s, bandwidth_bytes_per_s``, too.

        Raises
        ------
        UsageError
            One of them is missing.
        """
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        size, latency, bandwidth = (needed_column(sizes, name, ALLREDUCE) for name in ("gradient_bytes", *NETWORK))
        nodes, servers = sizes["n_nodes"], sizes["n_servers"]
        exchange = server_exchange_s(size, nodes, latency, bandwidth, 0.0, servers) + nodes * seconds.pop("apply") / servers
        seconds.pop("apply_std", None)
        found = self.inside.solve({**seconds, ALLREDUCE: exchange}, run)
        shape = np.shape(found.outputs["epoch_s"])
        outputs = {**found.outputs, "exchange_s": np.array(np.broadcast_to(exchange, shape))}
        return Solution(outputs, found.breakdown_s, {**found.flags, "exchange_assumed": np.ones(shape, dtype=bool)})


@dataclass(frozen=True, slots=True)
class ReplicaThreads(SynchronousRules):
    """SPRINT whose GPU thread is a model-parallel replica of several GPUs of a node.

    A node has n_gpus_per_node / gpus_per_replica threads; each computes the gradient of a sub-batch in ``subbatch_size`` times
    ``sample``, whatever a model of such a replica says one sample takes in it.
    """

    inside: System = SPRINT
    name: str = "sprint-replicas"
    title: str = "SPRINT with model-parallel replicas of several GPUs as threads"

    @property
    def components(self) -> tuple[SystemComponent, ...]:
        """Of the system inside, with a replica's sample in place of the gradient."""
        return (*(each for each in self.inside.components if each.name != GRADIENT), SAMPLE)

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Of the system inside, and GPUs of a replica."""
        return (*self.inside.settings, Setting("gpus_per_replica", 1.0, "GPUs of a node that hold one copy of the network", 1.0))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Of the system inside."""
        return self.inside.outputs

    def screen(self, outputs: Sequence[str]) -> ReplicaThreads:
        """By the cheaper equations of the system inside; itself where that has none."""
        return replace(self, inside=self.inside.screen(outputs)) if isinstance(self.inside, Screened) else self

    def solve(self, times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Solution:
        """The equations inside with replicas for GPUs; see `mlperf.systems.base.system.System.solve`.

        Raises
        ------
        DataError
            GPUs of a node that are no multiple of those of a replica.
        UsageError
            A spread of ``sample``: that of a thread's whole work is ``gpu_work_std``.
        """
        seconds, sizes = checked_times(self, times), checked_run(self, run)
        check_configuration(sizes, place=f"system {self.name!r}")
        if "sample_std" in seconds:
            raise UsageError("got a spread of 'sample', expected that of the thread's work, 'gpu_work_std'")
        gradient = sizes["subbatch_size"] * seconds.pop("sample")
        threads = {**run, "n_gpus_per_node": sizes["n_gpus_per_node"] / sizes["gpus_per_replica"]}
        return self.inside.solve({**seconds, GRADIENT: gradient}, threads)


SPRINT_SERVER = SprintServer()
SPRINT_REPLICAS = ReplicaThreads()
