"""The invented cluster and the two networks on which model parallelism is checked, counted by hand from their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from partition_networks import period_behind_servers_s

from mlperf.core.arrays import FloatArray
from mlperf.planning.partition.optimize import PartitionJob
from mlperf.systems.model_parallel.constants import Constants
from mlperf.systems.model_parallel.layers import FC, LayerTable
from mlperf.systems.model_parallel.volumes import remote_values

LayerWords = tuple[str, int] | tuple[str, int, int, int, int] | tuple[str, int, int]


def cluster(cores: int = 16, **changes: Any) -> Constants:
    """Machines with 10 GbE and a cache of 20 MB; nobody measured them."""
    further = np.arange(cores)
    given = {
        "working_set_bytes": np.array([1.0, 2.0]),
        "muladd_s": np.array([2e-10, 6e-10]),
        "act_s": 2e-9,
        "err_s": 2e-9,
        "interference": 1.0 + 0.03 * further,
        "latency_s": 5e-5 + 5e-6 * further,
        "bandwidth_bytes_per_s": 1e9,
        "add_s": 4e-10,
        "cache_bytes": 20e6,
    }
    return Constants(**{**given, **changes})


def network(name: str, size: int, maps: int, layers: Sequence[LayerWords]) -> LayerTable:
    """Counts of ``("fc", neurons)``, ``("conv", maps, filter, stride, pad)`` and ``("pool", filter, stride)`` on square maps."""
    rows: list[tuple[float, ...]] = []
    flat = 0
    for kind, *numbers in layers:
        if kind == "fc":
            below = flat or size * size * maps
            flat = numbers[0]
            rows.append((flat, 1, below * flat, (below + 1) * flat, 1, 1, 0))
            continue
        wide = kind == "conv"
        kernel, stride, pad = numbers[1:] if wide else (*numbers, 0)
        size = (size + 2 * pad - kernel) // stride + 1
        inputs = maps if wide else 1
        maps = numbers[0] if wide else maps
        params = maps * (kernel * kernel * inputs + 1) if wide else 0
        rows.append((size, size * maps, size * size * maps * kernel * kernel * inputs, params, kernel, stride, pad))
    count, per, connections, params, kernel, stride, pad = (np.array(column) for column in zip(*rows, strict=True))
    kinds = tuple(str(layer[0]) for layer in layers)
    names = tuple(f"{kind}{at}" for at, kind in enumerate(kinds, 1))
    whole = (count, kernel, stride, pad)
    count, kernel, stride, pad = (each.astype(np.int64) for each in whole)
    return LayerTable(name, names, kinds, count, per * 1.0, connections * 1.0, params * 1.0, kernel, stride, pad)


MNIST = network("mnist", 28, 1, [("fc", 2000), ("fc", 1500), ("fc", 1000), ("fc", 10)])
IMAGENET100 = network(
    "imagenet100",
    200,
    3,
    [
        ("conv", 64, 9, 3, 0),
        ("pool", 2, 2),
        ("conv", 128, 5, 1, 0),
        ("pool", 2, 2),
        ("conv", 256, 3, 1, 0),
        ("conv", 256, 3, 1, 0),
        ("pool", 2, 2),
        ("fc", 4096),
        ("fc", 4096),
        ("fc", 100),
    ],
)


def random_instance(rng: np.random.Generator) -> tuple[LayerTable, Constants, int, int, bool]:
    """A small network, a machine, how many of it, a mini-batch, and whether the exchange is synchronous."""
    size, layers = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    convolutions = int(rng.integers(0, layers))
    words: list[LayerWords] = []
    left = size
    for _ in range(convolutions):
        if left >= 4 and rng.random() < 0.3:
            words.append(("pool", 2, 2))
            left //= 2
        else:
            kernel = int(rng.integers(1, 4))
            words.append(("conv", int(rng.integers(1, 5)), kernel, 1, kernel // 2))
            left = left + 2 * (kernel // 2) - kernel + 1
    words += [("fc", int(rng.integers(2, 40))) for _ in range(layers - convolutions)]
    cores = int(rng.integers(1, 3))
    constants = cluster(
        cores,
        interference=1.0 + rng.uniform(0.0, 0.9) * np.arange(cores),
        latency_s=10.0 ** rng.uniform(-7, -3) * (1.0 + rng.uniform(0, 0.5) * np.arange(cores)),
        bandwidth_bytes_per_s=10.0 ** rng.uniform(6, 10),
        muladd_s=np.array([2e-10, 2e-10 * rng.uniform(1, 6)]) * 10.0 ** rng.uniform(0, 3),
        cache_bytes=10.0 ** rng.uniform(2, 5),
    )
    table = network("random", size, int(rng.integers(1, 4)), words)
    return table, constants, int(rng.integers(2, 6)), int(rng.choice([1, 10, 100])), bool(rng.random() < 0.5)


def all_taus(
    table: LayerTable, constants: Constants, n_workers: int, minibatch_size: int, memory_bytes: float = np.inf
) -> FloatArray:
    """Tau of every plan (P, R, H) of all layers on n workers, written out from the equations; infinite beyond the memory."""
    byte_s = constants.value_bytes / constants.bandwidth_bytes_per_s
    n_cores, n_layers = len(constants.interference), table.n_layers
    plans = [
        np.array(
            [
                (p, r, h)
                for p in range(1, min(n_workers, int(table.rows[layer])) + 1)
                for r in range(1, n_workers // p + 1)
                for h in range(1, n_cores + 1)
            ]
        ).T
        for layer in range(n_layers)
    ]
    total: FloatArray = np.zeros([len(each[0]) for each in plans])
    filled = np.zeros(total.shape)
    for layer, (p, r, h) in enumerate(plans):
        rows, fc = table.rows[layer], table.kind[layer] == FC
        part = np.ceil(rows / p) / rows
        neurons = rows * table.per[layer] * part
        held = table.n_params[layer] * (part if fc else 1.0)
        size = constants.value_bytes * (held + neurons)
        hit = np.minimum(1.0, constants.cache_bytes / size)
        muladd = hit * constants.muladd_s[0] + (1.0 - hit) * constants.muladd_s[1]
        own = table.n_connections[layer] * part
        above = table.n_connections[layer + 1] * part if layer + 1 < n_layers else 0.0
        work = muladd * (own + above + own * (table.n_params[layer] > 0))
        work = work + (constants.act_s + constants.err_s) * neurons
        holders = r if fc else r * p
        ring = 2 * (holders - 1) * constants.latency_s[0] + 2 * (holders - 1) / holders * held * byte_s
        node = constants.interference[h - 1] * work / (r * h) + np.where(held > 0, ring, 0.0) / minibatch_size
        along = [-1 if at == layer else 1 for at in range(n_layers)]
        total, filled = total + node.reshape(along), filled + size.reshape(along)
    for low in range(n_layers - 1):
        (p_l, r_l, h_l), (p_h, r_h, h_h) = (each[:, :, None] for each in plans[low : low + 2])
        p_h, r_h, h_h = p_h.T, r_h.T, h_h.T
        sent = remote_values(table, low, low + 1, p_l, r_l, p_h, r_h)
        returned = remote_values(table, low + 1, low, p_h.T, r_h.T, p_l.T, r_l.T).T
        forward = np.where(sent > 0, constants.latency_s[h_h - 1] + sent * byte_s * h_h, 0.0) / (r_h * h_h)
        backward = np.where(returned > 0, constants.latency_s[h_l - 1] + returned * byte_s * h_l, 0.0) / (r_l * h_l)
        shape = [1] * n_layers
        shape[low : low + 2] = (forward + backward).shape
        total = total + (forward + backward).reshape(shape)
    return np.where(filled <= memory_bytes, total, np.inf)


def least_epoch(table: LayerTable, constants: Constants, machines: int, job: PartitionJob, memory_bytes: float = np.inf) -> float:
    """Every plan on every n, A and S."""
    batch, best = job.minibatch_size, np.inf
    for n_workers in range(1, machines + 1):
        tau = float(all_taus(table, constants, n_workers, int(batch), memory_bytes).min())
        for n_replicas in range(1, machines // n_workers + 1):
            for n_servers in range(machines - n_replicas * n_workers + 1):
                if n_replicas > 1 and not n_servers:
                    continue
                period = period_behind_servers_s(
                    table.all_params, constants, n_replicas, n_workers, n_servers, batch * tau, synchronous=job.synchronous
                )
                best = min(best, job.dataset_size / (n_replicas * batch) * period)
    return best
