"""An invented cluster and the two networks of KDD'15, and random small ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlperf.features.network.partition import layer_table
from mlperf.planning.partition.machine import equation_constants
from mlperf.specs.constants import read_constants
from mlperf.specs.network.cnn_toml import read_cnn
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.layers import LayerTable

HERE = Path(__file__).parents[1] / "reference/partition"
CLUSTER = equation_constants(read_constants(HERE / "cluster.toml"))
MNIST, IMAGENET = (layer_table(read_cnn(HERE / f"{name}.toml")) for name in ("mnist", "imagenet100"))


def random_network(rng: np.random.Generator, n_layers: int) -> LayerTable:
    """Convolutions and pools, then fully connected layers."""
    n_windows = int(rng.integers(0, n_layers + 1))
    kinds, rows, per, kernel, stride, pad, macs, params = [], [], [], [], [], [], [], []
    size, maps = int(rng.integers(6, 20)), 3
    for layer in range(n_layers):
        if layer < n_windows and size >= 3:
            kind = str(rng.choice(["conv", "pool"]))
            window, step, padding = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(0, 2))
            window = max(window, padding + 1)
            size = (size + 2 * padding - window) // step + 1
            new = int(rng.integers(1, 9)) if kind == "conv" else maps
            values = size * size * new
            row = (kind, size, float(size * new), window, step, padding, float(values * window**2))
            row = (*row[:6], row[6] * (maps if kind == "conv" else 1), float(new * (window**2 * maps + 1)) * (kind == "conv"))
            maps = new
        else:
            inputs = 40 if not rows else int(rows[-1] * per[-1])
            new = int(rng.integers(3, 60))
            row = ("fc", new, 1.0, 1, 1, 0, float(new * inputs), float(new * (inputs + 1)))
            size = 0
        for column, value in zip((kinds, rows, per, kernel, stride, pad, macs, params), row, strict=True):
            column.append(value)
    names = tuple(f"layer{number}" for number in range(n_layers))
    arrays = (np.array(each) for each in (rows, per, macs, params, kernel, stride, pad))
    return LayerTable("random", names, tuple(kinds), *arrays)


def random_machine(rng: np.random.Generator, cores: int = 2) -> Constants:
    """Latency, bandwidth, cache and interference over the ranges that clusters have."""
    hit = 10.0 ** rng.uniform(-10, -8)
    cache = 10.0 ** rng.uniform(2, 5)
    latency = 10.0 ** rng.uniform(-6, -3)
    return Constants(
        np.array([cache, 2 * cache]),
        np.array([hit, hit * rng.uniform(1, 5)]),
        10.0 ** rng.uniform(-9, -8),
        10.0 ** rng.uniform(-9, -8),
        1.0 + rng.uniform(0, 0.6) * np.arange(cores),
        latency * (1.0 + rng.uniform(0, 0.5) * np.arange(cores)),
        10.0 ** rng.uniform(7, 10),
        10.0 ** rng.uniform(-10, -8),
        4.0,
        cache,
    )


def period_behind_servers_s(par: float, machine: Constants, a: int, n: int, s: int, compute: float, *, synchronous: bool) -> float:
    """From one mini-batch of a replica to the next: written out a second time, without arrays."""
    if not s:
        return compute
    u = par * machine.value_bytes / machine.bandwidth_bytes_per_s
    latency, add = float(machine.latency_s[0]), par * machine.add_s
    link, answers, gradients = 2 * (latency + u / n), a * u / s, a * (u + add) / s
    if not synchronous:
        return max(compute, link, answers + gradients)
    last_gradient = compute + 2 * latency + u / s + (s - 1) * u / (n * s)
    return max(compute + link, last_gradient + gradients, answers + gradients)
