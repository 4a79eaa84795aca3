"""What workers and parameter servers do: component table and settings of both systems, and what the queue sees of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError
from mlperf.systems.base.system import Setting, Solution, SystemComponent

# fmt: off
COMPONENTS = (
    #               name       activity  kind        meaning                                            candidates
    SystemComponent("compute", "worker", "work",     "forward and backward of one sub-batch",
                    ("subbatch_size", "subbatch_size * n_flops"), True),
    SystemComponent("pull",    "worker", "transfer", "fetching the weights; nobody else waits",          ("n_params",)),
    SystemComponent("push",    "server", "transfer", "one gradient through the network of one server",   ("n_params", "n_tensors")),
    SystemComponent("apply",   "server", "critical", "one update of all weights by one server",          ("n_params", "n_tensors")),
)
SETTINGS = (
    Setting("n_servers",      1.0, "servers, each with its part of the weights", 1.0),
    Setting("n_slow_workers", 0.0, "workers on the slower kind of GPU"),
    Setting("slow_factor",    1.0, "how many times longer those compute", 1.0),
)
# fmt: on


@dataclass(frozen=True, slots=True, eq=False)
class Loads:
    """What queue and clocks see of component times; every array of one shape (but for draws).

    Attributes
    ----------
    n_workers, n_slow : array
        All workers, and those on slower GPUs.
    work_s, slow_work_s : array
        Compute and pull of a fast and of a slow worker, seconds.
    work_std_s : array
        Standard deviation of a fast worker's, seconds.
    service_s, service_std_s : array
        Push and apply, divided by the servers.
    """

    n_workers: FloatArray
    n_slow: FloatArray
    work_s: FloatArray
    slow_work_s: FloatArray
    work_std_s: FloatArray
    service_s: FloatArray
    service_std_s: FloatArray

    @property
    def is_mixed(self) -> BoolArray:
        """Where there are workers of both kinds, which differ."""
        return np.asarray((self.n_slow > 0.0) & (self.n_slow < self.n_workers) & (self.slow_work_s > self.work_s))

    @property
    def slowest_work_s(self) -> FloatArray:
        """Compute and pull of the slower kind that is there, seconds."""
        return np.where(self.n_slow > 0.0, self.slow_work_s, self.work_s)

    @property
    def service_scv(self) -> FloatArray:
        """Squared coefficient of variation of the service time; 0 where there is no service."""
        square = self.service_s**2
        return np.divide(self.service_std_s**2, square, out=np.zeros(np.shape(square)), where=square > 0.0)


def solution_of(
    outputs: Mapping[str, FloatArray],
    breakdown_s: Mapping[str, Mapping[str, FloatArray]],
    flags: Mapping[str, BoolArray],
    inputs: Iterable[FloatArray],
) -> Solution:
    """The solution with every array of the shape that times and run broadcast to."""
    shape = np.broadcast_shapes(*(value.shape for value in inputs))
    return Solution(
        {name: np.broadcast_to(value, shape) for name, value in outputs.items()},
        {name: {key: np.broadcast_to(value, shape) for key, value in part.items()} for name, part in breakdown_s.items()},
        {name: np.broadcast_to(value, shape) for name, value in flags.items()},
    )


def server_loads(times: Mapping[str, FloatArray], run: Mapping[str, FloatArray]) -> Loads:
    """Loads of checked times and runs.

    Raises
    ------
    DataError
        More slow workers than workers.
    """
    workers, slow = np.broadcast_arrays(run["n_nodes"] * run["n_gpus_per_node"], run["n_slow_workers"])
    if (slow > workers).any():
        wrong = int(np.flatnonzero((slow > workers).ravel())[0])
        got = f"got {slow.ravel()[wrong]:g} slow workers among {workers.ravel()[wrong]:g}"
        raise DataError(f"{got}, expected at most all of them", place="run, n_slow_workers")

    def std(*names: str) -> FloatArray:
        return np.asarray(np.sqrt(sum((times.get(f"{name}_std", np.zeros(())) ** 2 for name in names), np.zeros(()))))

    work = times["compute"] + times["pull"]
    slow_work = times["compute"] * run["slow_factor"] + times["pull"]
    service = (times["push"] + times["apply"]) / run["n_servers"]
    arrays = (workers, slow, work, slow_work, std("compute", "pull"), service, std("push", "apply") / run["n_servers"])
    return Loads(*np.broadcast_arrays(*arrays))
