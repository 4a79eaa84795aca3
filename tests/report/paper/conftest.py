"""Campaigns to draw: asynchronous runs whose costs are known exactly, and the small bundled one with its model."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets import TABLES, read_campaign, write_table
from mlperf.datasets.campaigns.write import write_csv
from mlperf.specs import CnnSpec, write_cnn
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.systems.base.times import SPREADS, ComponentTimes, RunGrid
from mlperf.systems.sprint.equations import solve_iterations
from mlperf.systems.sprint.outputs import epoch_outputs

NET = CnnSpec.from_sprint("net", 14, (3, 8, 16, 256, 10), pools_after=(2,), n_conv=2)
EMULATED, REAL = "emulated gradient+memory+network x5", "real"
DATASET_SIZE, N_REPEATS, NOISE = 100_000, 3, 0.01
SETTINGS = tuple(product((1, 2, 4), (1, 2), (4, 8)))
REST = {column.name: 0 if column.zero_when else 1 for column in TABLES["details"].columns if column.is_numeric}


def times_of(n_nodes: int, subbatch: int) -> ComponentTimes:
    """Costs: vectors proportional to parameters or to a node's share of them, gradients to the sub-batch."""
    w, share = NET.n_params, NET.n_params / n_nodes
    whole = dict.fromkeys(("fetch_weights", "compute_update_value", "update_gradient", "sum_gradient", "update_weights"), 5e-08 * w)
    parts = dict.fromkeys(("update_old_weights", "add_momentum", "update_momentum"), 3e-08 * share)
    rest = {"load_image": 2e-4 * subbatch, "deform_image": 1e-4 * subbatch, "compute_gradient": 0.01 * subbatch}
    rest["allreduce"] = 2e-7 * w * (n_nodes - 1) / n_nodes
    spreads = {name: 0.1 * seconds for name, seconds in whole.items() if name in SPREADS}
    spreads["update_work"] = 0.3 * parts["add_momentum"]
    return ComponentTimes(
        **{f"{name}_s": np.array([seconds]) for name, seconds in (whole | parts | rest).items()},
        **{f"{name}_std_s": np.array([seconds]) for name, seconds in spreads.items()},
        gpu_work_std_s=np.array([0.0005 * subbatch]),
    )


def runs(mode: str, settings: tuple[tuple[int, int, int], ...], n_repeats: int, first: int) -> Iterator[tuple[dict[str, Any], ...]]:
    """Rows of components, runs and details, solved by the equations; outputs of repeats differ by a percent."""
    rng = np.random.default_rng(first)
    for number, (setting, _) in enumerate(product(settings, range(n_repeats)), start=first):
        n_nodes, n_gpus, subbatch = setting
        times, run = times_of(n_nodes, subbatch), RunGrid(*(np.array([each]) for each in (*setting, DATASET_SIZE)))
        state = solve_iterations(times, run, "phases")
        outputs = epoch_outputs(times, state, run)
        key = {"run": number, "mode": mode, "cnn": NET.name, "n_nodes": n_nodes, "n_gpus_per_node": n_gpus}
        key |= {"subbatch_size": subbatch, "n_params": NET.n_params}
        solved = {f"{name}_s": value.item() for name, value in (outputs.gpu_breakdown_s | outputs.update_breakdown_s).items()}
        solved |= {"fetch_weights_s": times.fetch_weights_s.item(), "sum_gradient_s": times.sum_gradient_s.item()}
        shares = {"fetch_probability": state.fetch_probability.item(), "ready_probability": state.ready_probability.item()}
        factor = 1.0 + NOISE * rng.uniform(-1, 1)
        done = {
            "gpu_iteration_s": factor * state.gpu_iteration_s.item(),
            "update_iteration_s": factor * state.update_iteration_s.item(),
            "mean_minibatch_size": outputs.mean_minibatch_size.item(),
            "epoch_s": factor * outputs.epoch_s.item(),
            "staleness": outputs.mean_staleness.item(),
        }
        beside = REST | {"run": number, "mode": mode, "gpu_work_std_s": times.gpu_work_std_s.item(), "cores_per_worker": 0.5}
        beside |= {"allreduce_payload_s": times.allreduce_s.item(), "barrier_wait_s": state.barrier_wait_s.item()}
        beside |= {f"{name}_std_s": getattr(times, f"{name}_std_s").item() for name in SPREADS}
        yield key | solved | shares, key | done, beside


def write_runs(folder: Path, rows: list[tuple[dict[str, Any], ...]]) -> Path:
    """A campaign's folder."""
    write_cnn(NET, folder / "cnns" / "net.toml")
    (folder / "asgd").mkdir()
    for position, name in enumerate(("components", "runs")):
        write_table(pd.DataFrame([row[position] for row in rows]), folder / f"{name}.csv", name)
    write_csv(pd.DataFrame([row[2] for row in rows]), folder / "asgd" / "details.csv")
    return folder


@pytest.fixture(scope="session")
def runs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Emulated runs, three repeats of twelve settings."""
    return write_runs(tmp_path_factory.mktemp("paper") / "runs", list(runs(EMULATED, SETTINGS, N_REPEATS, 1)))


@pytest.fixture(scope="session")
def runs_material(runs_folder: Path) -> FigureInputs:
    """What is drawn of the emulated runs."""
    return FigureInputs(read_campaign(runs_folder))


@pytest.fixture(scope="session")
def mixed_material(tmp_path_factory: pytest.TempPathFactory) -> FigureInputs:
    """A few emulated runs and fewer real ones, one repeat."""
    rows = [*runs(EMULATED, SETTINGS[::2], 1, 1), *runs(REAL, SETTINGS[:3], 1, 100)]
    return FigureInputs(read_campaign(write_runs(tmp_path_factory.mktemp("paper") / "mixed", rows)))


@pytest.fixture(scope="session")
def small_material(small_campaign: Path, small_model: Any) -> FigureInputs:
    """Kernels, steps, products and updates of a few networks, and a model that left out two of them."""
    return FigureInputs(read_campaign(small_campaign), given=small_model)
