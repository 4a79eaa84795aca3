"""SIMULATED campaigns of the trainer: the discrete-event simulation stands in for ranks and threads.

The costs are none of the forms that training offers: vectors leave a cache smoothly, kernels are bound by operations or by memory
one by one, images have a root, and the exchange suffers from every further node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets import TABLES, write_table
from mlperf.datasets.campaigns.write import write_csv
from mlperf.specs import CnnSpec, write_cnn
from mlperf.specs.kernels.kernels import GEMM_KERNELS, KernelCall, kernel_calls
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.simulate import Simulation, SimulationPlan, simulate_iterations

DATASET_SIZE = 100_000
MODE = "emulated gradient+memory+network x5"
REST = {column.name: 0 if column.zero_when else 1 for column in TABLES["details"].columns if column.is_numeric}
SIMULATED_UPDATES = 500
HOLD_VARIATION, WORK_VARIATION, NOISE = 0.2, 0.06, 0.002
BYTES_PER_S = 4e8


def network(name: str, width: int) -> CnnSpec:
    """A small network whose last layers hold most parameters."""
    return CnnSpec.from_sprint(name, 14, (3, 8, 16, width, 10), pools_after=(2,), n_conv=2)


NETWORKS = {name: network(name, width) for name, width in (("one", 256), ("two", 320), ("three", 200))}


@dataclass(frozen=True, slots=True)
class Setting:
    """What one simulated run is of."""

    cnn: CnnSpec
    n_nodes: int
    n_gpus: int
    subbatch: int


def vector_s(length: float, seconds_per_number: float) -> float:
    """Three times as much for each number beyond a cache of 40,000, which fills smoothly."""
    return seconds_per_number * length * (1.0 + 2.0 / (1.0 + (40_000.0 / length) ** 2))


def kernel_s(call: KernelCall) -> float:
    """Operations or memory, whichever takes longer, and 20 microseconds to begin."""
    if call.kernel not in GEMM_KERNELS:
        return 2e-5 + 2.5e-8 * call.access_bytes
    products, numbers = call.m * call.n * call.k, call.m * call.k + call.k * call.n + call.m * call.n
    return 2e-5 + call.groups * max(8e-9 * products, 4 * 2.5e-8 * numbers)


def true_times(setting: Setting, bytes_per_s: float = BYTES_PER_S) -> ComponentTimes:
    """Costs of one setting."""
    w, share = setting.cnn.n_params, setting.cnn.n_params / setting.n_nodes
    images = setting.subbatch * 588
    sent_s = 1600.0 * w / bytes_per_s
    seconds = {
        "fetch_weights_s": vector_s(w, 3e-8),
        "load_image_s": 5e-5 + 2e-6 * images**0.8,
        "deform_image_s": 1e-4 + 1e-6 * images**0.8,
        "compute_gradient_s": sum(kernel_s(call) for call in kernel_calls(setting.cnn, setting.subbatch)),
        "compute_update_value_s": vector_s(w, 1.5e-8),
        "update_gradient_s": vector_s(w, 2.5e-8),
        "sum_gradient_s": vector_s(w, 3e-8),
        "update_old_weights_s": vector_s(share, 1.5e-8),
        "add_momentum_s": vector_s(share, 6e-8),
        "update_momentum_s": vector_s(share, 3e-8),
        "allreduce_s": sent_s * (1.0 - 1.0 / setting.n_nodes) * (1.0 + 0.05 * setting.n_nodes),
        "update_weights_s": vector_s(w, 3.5e-8),
    }
    work = seconds["compute_gradient_s"] + seconds["load_image_s"]
    stds = {
        f"{name}_std_s": HOLD_VARIATION * seconds[f"{name}_s"]
        for name in ("fetch_weights", "update_gradient", "sum_gradient", "update_weights")
    }
    return ComponentTimes(
        **{name: np.array([value]) for name, value in (seconds | stds).items()},
        gpu_work_std_s=np.array([WORK_VARIATION * work]),
        update_work_std_s=np.array([0.2 * seconds["add_momentum_s"]]),
    )


def simulated(setting: Setting, seed: int, bytes_per_s: float) -> tuple[ComponentTimes, Simulation]:
    """The run, and its true costs."""
    run = RunGrid(*(np.array([value]) for value in (setting.n_nodes, setting.n_gpus, setting.subbatch, DATASET_SIZE)))
    times = true_times(setting, bytes_per_s)
    return times, simulate_iterations(times, run, seed, SimulationPlan(n_updates=SIMULATED_UPDATES, warmup=40))


def rows_of(
    setting: Setting, number: int, bytes_per_s: float
) -> tuple[dict[str, object], dict[str, object], dict[str, object], pd.DataFrame]:
    """Rows of components.csv, runs.csv, details.csv and histograms.csv, with a little noise on the costs."""
    times, found = simulated(setting, number, bytes_per_s)
    rng = np.random.default_rng(number)
    key = {
        "run": number,
        "mode": MODE,
        "cnn": setting.cnn.name,
        "n_nodes": setting.n_nodes,
        "n_gpus_per_node": setting.n_gpus,
        "subbatch_size": setting.subbatch,
        "n_params": setting.cnn.n_params,
    }
    waits = {name: getattr(found, name) for name in LOCK_WAITS}
    costs = {name: getattr(times, name).item() * (1.0 + NOISE * rng.standard_normal()) for name in COSTS}
    payload_s = costs["allreduce_s"]
    costs["allreduce_s"] = payload_s + found.barrier_wait_s
    shares = {"fetch_probability": min(found.fetch_probability, 1.0), "ready_probability": min(found.ready_probability, 1.0)}
    outputs = {
        "gpu_iteration_s": found.gpu_iteration_s,
        "update_iteration_s": found.update_iteration_s,
        "mean_minibatch_size": found.mean_minibatch_size,
        "epoch_s": DATASET_SIZE * found.update_iteration_s / found.mean_minibatch_size,
        "staleness": found.mean_staleness,
    }
    stds = {name: getattr(times, name).item() for name in times.__slots__ if name.endswith("_std_s")}
    details = REST | {
        "run": number,
        "mode": MODE,
        **stds,
        "barrier_wait_s": found.barrier_wait_s,
        "allreduce_payload_s": payload_s,
        "overshoot_share": 0.01 if number % 7 else 0.2,
        "cores_per_worker": 2 / (setting.n_nodes * setting.n_gpus),
    }
    return key | waits | costs | shares, key | outputs, details, histogram_rows(found, number)


LOCK_WAITS = ("lock_weights_gpu_s", "lock_gradient_gpu_s", "lock_gradient_update_s", "lock_weights_update_s")
COSTS = (
    "fetch_weights_s",
    "load_image_s",
    "deform_image_s",
    "compute_gradient_s",
    "compute_update_value_s",
    "update_gradient_s",
    "sum_gradient_s",
    "update_old_weights_s",
    "add_momentum_s",
    "allreduce_s",
    "update_momentum_s",
    "update_weights_s",
)


def histogram_rows(found: Simulation, number: int) -> pd.DataFrame:
    """Counts of 1000 updates."""
    parts = []
    for quantity, distribution in (("minibatch_size", found.minibatch), ("staleness", found.staleness)):
        counts = np.rint(1000 * distribution.probabilities).astype(int)
        seen = counts > 0
        parts.append(pd.DataFrame({"quantity": quantity, "value": distribution.values[seen].astype(int), "count": counts[seen]}))
    return pd.concat(parts, ignore_index=True).assign(run=number, mode=MODE)


def settings(names: tuple[str, ...], gpus: tuple[int, ...]) -> Iterator[Setting]:
    """1, 2 and 4 nodes, sub-batches of 4 and 8."""
    for name, n_nodes, n_gpus in product(names, (1, 2, 4), gpus):
        for subbatch in (4, 8):
            yield Setting(NETWORKS[name], n_nodes, n_gpus, subbatch)


Write = Callable[[Path, tuple[str, ...], float], Path]


def write_campaign(
    folder: Path, names: tuple[str, ...], bytes_per_s: float, n_repeats: int = 2, gpus: tuple[int, ...] = (1, 2, 4)
) -> Path:
    """A campaign's folder as the trainer writes it, SIMULATED."""
    (folder / "cnns").mkdir(parents=True)
    (folder / "asgd").mkdir()
    for name in names:
        write_cnn(NETWORKS[name], folder / "cnns" / f"{name}.toml")
    runs = [each for _ in range(n_repeats) for each in settings(names, gpus)]
    found = [rows_of(setting, number, bytes_per_s) for number, setting in enumerate(runs, start=1)]
    for position, name in enumerate(("components", "runs")):
        write_table(pd.DataFrame([row[position] for row in found]), folder / f"{name}.csv", name)
    write_csv(pd.DataFrame([row[2] for row in found]), folder / "asgd" / "details.csv")
    write_csv(pd.concat([row[3] for row in found], ignore_index=True), folder / "asgd" / "histograms.csv")
    return folder


@pytest.fixture(scope="session")
def simulated_campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One network, two repeats."""
    return write_campaign(tmp_path_factory.mktemp("trainer") / "one", ("one",), BYTES_PER_S)


@pytest.fixture(scope="session")
def simulated_others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two more networks on the same machine, one repeat."""
    return write_campaign(tmp_path_factory.mktemp("trainer") / "others", ("two", "three"), BYTES_PER_S, n_repeats=1)


@pytest.fixture(scope="session")
def simulated_few(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same networks on one or two GPUs a node, for studies that train again and again."""
    return write_both(tmp_path_factory.mktemp("trainer"), (1, 2))


@pytest.fixture(scope="session")
def simulated_fewest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same networks on one GPU a node: enough for every part of a study, too little to judge one by."""
    return write_both(tmp_path_factory.mktemp("trainer"), (1,))


def write_both(folder: Path, gpus: tuple[int, ...]) -> tuple[Path, Path]:
    one = write_campaign(folder / "one", ("one",), BYTES_PER_S, gpus=gpus)
    return one, write_campaign(folder / "others", ("two", "three"), BYTES_PER_S, n_repeats=1, gpus=gpus)
