"""The optimizer of partitioned training over more and more machines, and trying every configuration where that can end.

Run: ``PYTHONPATH=tests/plugins python benchmarks/partition_optimizer.py``. Prints seconds (the least of three runs, beyond 100
machines the only run), shortest paths and the most states of a layer; limits: 20 machines and 10 layers 0.2 s, 1,000 and 50
layers 3 s. The peer tries every number of stripes, copies and threads of every layer, as the paper's brute force does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from partition_examples import IMAGENET100, LayerWords, all_taus, cluster, network

from mlperf.planning.partition.optimize import Limits, PartitionJob, optimise
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.layers import LayerTable

JOB = PartitionJob(10_000, 100)
MACHINES = (5, 10, 20, 50, 100, 200, 500, 1000)
SLOW_NETWORK, FAST_NETWORK = {"bandwidth_bytes_per_s": 1.25e8}, {"bandwidth_bytes_per_s": 1.25e10}
QUICK_ARITHMETIC = {"muladd_s": np.array([2e-13, 6e-13]), "act_s": 2e-12, "err_s": 2e-12}
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "10 GbE": {},
    "1 GbE": SLOW_NETWORK,
    "100 GbE": FAST_NETWORK,
    "1000 x arithmetic": QUICK_ARITHMETIC,
}


def fifty_layers() -> LayerTable:
    """47 convolutions and pools as in VGG, three fully connected layers."""
    words: list[LayerWords] = []
    for maps in (64, 128, 256, 512, 512):
        words += [("conv", maps, 3, 1, 1)] * (9 if maps < 512 else 8) + [("pool", 2, 2)]
    words = [*words[:47], ("fc", 4096), ("fc", 4096), ("fc", 1000)]
    return network("vgg-like", 224, 3, words)


def least(function: Callable[[], object], runs: int) -> float:
    """Seconds of the quickest of ``runs`` runs."""
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        function()
        found.append(time.perf_counter() - start)
    return min(found)


def curve(table: LayerTable) -> None:
    """Seconds by machines and settings."""
    for label, changes in SETTINGS.items():
        machine = cluster(**changes)
        for machines in MACHINES:
            found = optimise(table, machine, JOB, Limits(machines))
            took = least(partial(optimise, table, machine, JOB, Limits(machines)), 3 if machines <= 100 else 1)
            paths = f"{found.programmes} paths, {found.states_kept} states"
            print(f"{table.name}, {table.n_layers} layers, {label}, {machines} machines: {took:.3f} s, {paths}")


def try_all(table: LayerTable, machine: Constants, machines: int) -> float:
    """The least tau of every plan on every number of workers."""
    return min(float(all_taus(table, machine, n_workers, 100).min()) for n_workers in range(1, machines + 1))


def beside_brute_force() -> None:
    """Two to three fully connected layers, where trying everything still ends."""
    for n_layers, machines, cores in ((2, 4, 2), (2, 8, 4), (3, 4, 2), (3, 6, 4), (3, 8, 4), (4, 4, 2), (4, 6, 3), (4, 7, 4)):
        table = network("small", 8, 1, [("fc", 40 - layer) for layer in range(n_layers)])
        machine = cluster(cores)
        ours = least(partial(optimise, table, machine, JOB, Limits(machines)), 3)
        theirs = least(partial(try_all, table, machine, machines), 1)
        every = sum(all_taus(table, machine, n, 100).size for n in range(1, machines + 1))
        print(f"{n_layers} layers, {machines} machines, {cores} threads: {ours:.4f} s; all {every:,} plans: {theirs:.4f} s")


def main() -> None:
    """Print a line a case."""
    curve(IMAGENET100)
    curve(fifty_layers())
    beside_brute_force()


if __name__ == "__main__":
    main()
