"""The scalability optimizer: time, shortest paths and states against machines and layers, on an invented cluster.

Run: ``python benchmarks/partition.py``. Prints the minimum of three runs of every row; the goals are 20 machines and 10 layers
below 0.2 s, 1,000 machines and 50 layers below 3 s.
"""

from __future__ import annotations

import dataclasses
import time

import numpy as np

from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.layers import LayerTable

RUNS = 3
HEADS = (4096.0, 4096.0, 1000.0)
CORES = np.arange(16)
CLUSTER = Constants(
    np.array([20e6, 40e6]),
    np.array([2e-10, 6e-10]),
    2e-9,
    2e-9,
    1.0 + 0.03 * CORES,
    5e-5 + 5e-6 * CORES,
    1e9,
    4e-10,
    4.0,
    20e6,
)
"""10 GbE and 16 cores: an example, not a measurement."""

MACHINES = {
    "10 GbE": CLUSTER,
    "1 GbE": dataclasses.replace(CLUSTER, bandwidth_bytes_per_s=1e8),
    "100 GbE": dataclasses.replace(CLUSTER, bandwidth_bytes_per_s=1e10),
    "1000 x arithmetic": dataclasses.replace(CLUSTER, muladd_s=CLUSTER.muladd_s / 1e3, act_s=2e-12, err_s=2e-12),
}


def network(n_layers: int) -> LayerTable:
    """Convolutions of 3 x 3 with a pool behind every fourth layer, then three full connections."""
    size, maps = 224, 3
    rows = []
    for layer in range(n_layers - len(HEADS)):
        if layer % 4 == 3 and size >= 8:
            size //= 2
            rows.append(("pool", size, float(size * maps), float(size * size * maps * 4), 0.0, 2, 2, 0))
            continue
        new = min(512, 64 * 2 ** (layer // 8))
        rows.append(("conv", size, float(size * new), float(size * size * new * 9 * maps), float(new * (9 * maps + 1)), 3, 1, 1))
        maps = new
    below = float(size * size * maps)
    for width in HEADS:
        rows.append(("fc", int(width), 1.0, below * width, (below + 1) * width, 1, 1, 0))
        below = width
    kinds, *columns = zip(*rows, strict=True)
    names = tuple(f"layer{number}" for number in range(n_layers))
    return LayerTable(f"{n_layers} layers", names, kinds, *(np.array(each) for each in columns))


def main() -> None:
    """Print a line a case."""
    for n_layers in (10, 50):
        table = network(n_layers)
        for machines in (20, 100, 1000):
            for name, machine in MACHINES.items():
                seconds = []
                for _ in range(RUNS):
                    start = time.perf_counter()
                    found = optimise(table, machine, PartitionJob(1_281_167, 100), Limits(machines))
                    seconds.append(time.perf_counter() - start)
                best = found.best
                shape = f"n {best.n_workers}, A {best.n_replicas}, S {best.n_servers}"
                work = f"{found.programmes} shortest paths, {found.states_kept} states"
                print(f"{n_layers} layers, {machines} machines, {name}: {min(seconds):.3f} s, {work}; {shape}, gap {found.gap:g}")


if __name__ == "__main__":
    main()
