"""Figures 12 and 13: epoch time and mean mini-batch size over nodes and sub-batch, the window and its fastest configuration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.planning.predict import predict_epoch
from mlperf.planning.search.search import search_runs
from mlperf.specs import load_machine
from mlperf.specs.job import JobSpec
from mlperf.specs.machine import MachineSpec
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.run_rows import FEWEST_DRAWS, KEYS, train_on
from mlperf.studies.trainer.predictions import RUNS

MOST_NODES, MOST_SUBBATCH = 16, 8
# The paper's window: 25 % to either side of a mini-batch size that is known to train well.
HALF_WIDTH = 0.25
DEFAULT_MACHINES = ("cpu-cluster", "kfc")


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """Predicted outputs over nodes and sub-batch on one machine.

    Attributes
    ----------
    cnn : str
        Network.
    title : str
        Network, machine and GPUs per node.
    mode : str
        ``measured``, or the mode of the runs behind it.
    table : DataFrame
        One row a configuration: ``n_nodes, subbatch_size, epoch_s, mean_minibatch_size, in_window, feasible, is_best``.
    window : (float, float)
        Samples per update.
    how : str
        What the predictions rest on.
    """

    cnn: str
    title: str
    mode: str
    table: pd.DataFrame
    window: tuple[float, float]
    how: str


Window = tuple[float, float] | None


@lru_cache(maxsize=1)
def first_plane(material: FigureInputs) -> Plane:
    """The plane of the first machine: of those asked for with a campaign of kernels, the first mode of a campaign of runs.

    Two figures ask for it: the last answer is kept.
    """
    return plane_makers(material)[0](material.window)


def second_plane(material: FigureInputs) -> Plane:
    """The plane of the next machine or mode, or of the second campaign, with the window of the first.

    Raises
    ------
    DataError
        There is none.
    """
    first = first_plane(material)
    makers = plane_makers(material)[1:]
    if material.second is not None:
        cnns = (first.cnn,) if first.cnn in material.second.cnns else ()
        makers = plane_makers(replace(material, campaign=material.second, second=None, cnns=cnns))
    if not makers:
        raise DataError("needs a second machine: name another --machine, or a --second campaign")
    return makers[0](first.window)


def plane_makers(material: FigureInputs) -> list[Callable[[Window], Plane]]:
    """What makes the planes of one campaign, from a window: a machine each where it has kernels, a mode each where it has runs."""
    if material.given is not None or material.campaign.kernels is not None:
        machines = material.machines or tuple(load_machine(name) for name in DEFAULT_MACHINES)
        return [partial(plane_of_machine, material, machine) for machine in machines]
    modes = material.campaign.table("runs")["mode"].value_counts().index
    return [partial(plane_of_runs, material, str(mode)) for mode in modes]


def plane_of_machine(material: FigureInputs, machine: MachineSpec, window: Window) -> Plane:
    """Kernel and component models of the campaign, nodes and network of a machine's specification."""
    cnn = material.campaign.cnns[chosen_cnn(material)]
    found = search_runs(
        material.model,
        cnn,
        machine,
        JobSpec(dataset_size=material.dataset_size),
        n_nodes=range(1, min(MOST_NODES, machine.max_nodes) + 1),
        subbatch_size=range(1, MOST_SUBBATCH + 1),
        top=1,
        seed=material.seed,
    )
    table, ends = with_window(found.grid, window)
    assumed = f", {' and '.join(found.assumed)} from the specification of {machine.name}" if found.assumed else ""
    how = f"predicted; component times of campaign {material.campaign.name}, nodes of {machine.name}{assumed}"
    title = f"{cnn.name} on {machine.name}, {machine.n_gpus_per_node} GPUs a node"
    return Plane(cnn.name, title, "measured", table, ends, how)


def plane_of_runs(material: FigureInputs, mode: str, window: Window) -> Plane:
    """A model trained on the runs of one mode, at the most GPUs of a node that were run."""
    runs = material.campaign.table("runs")
    own = runs[runs["mode"] == mode]
    settings = own.drop_duplicates(KEYS)
    several = settings.groupby("cnn").size().sort_values(kind="stable")
    cnn = next((name for name in material.cnns if name in several.index), str(several.index[-1]))
    n_gpus = int(settings.loc[settings["cnn"] == cnn, "n_gpus_per_node"].max())
    found = predict_epoch(
        train_on(material, own),
        material.campaign.cnns[cnn],
        replace(RUNS, max_nodes=MOST_NODES, n_gpus_per_node=n_gpus),
        JobSpec(dataset_size=material.dataset_size),
        n_nodes=range(1, MOST_NODES + 1),
        subbatch_size=range(1, MOST_SUBBATCH + 1),
        n_draws=FEWEST_DRAWS,
        distributions=False,
    )
    table, ends = with_window(found.to_frame().assign(feasible=True), window)
    how = (
        f"predicted by a model trained on settings with at most {settings['n_nodes'].max()} nodes and sub-batch "
        f"{settings['subbatch_size'].max()} ({len(settings)} in all), extrapolated beyond"
    )
    return Plane(cnn, f"{cnn}, {n_gpus} GPU{'s' * (n_gpus > 1)} a node", mode, table, ends, how)


def with_window(grid: pd.DataFrame, window: Window) -> tuple[pd.DataFrame, tuple[float, float]]:
    """Mark what lies in the window (by default 25 % around the middle of the grid) and the fastest configuration in it."""
    feasible = grid["feasible"].to_numpy(bool)
    if not feasible.any():
        raise DataError("no configuration fits the device's memory")
    size = grid["mean_minibatch_size"].to_numpy(float)
    middle = float(np.median(size[feasible]))
    low, high = window or (middle * (1 - HALF_WIDTH), middle * (1 + HALF_WIDTH))
    inside = feasible & (size >= low) & (size <= high)
    columns = ["n_nodes", "subbatch_size", "epoch_s", "mean_minibatch_size"]
    return grid[columns].assign(in_window=inside, feasible=feasible, is_best=fastest(grid, inside)), (low, high)


def fastest(grid: pd.DataFrame, inside: np.ndarray) -> np.ndarray:
    """Which row is the fastest of those inside; none where there are none."""
    epoch_s: FloatArray = np.where(inside, grid["epoch_s"].to_numpy(float), np.inf)
    best = np.zeros(len(grid), bool)
    best[int(np.argmin(epoch_s))] = bool(inside.any())
    return best


def chosen_cnn(material: FigureInputs) -> str:
    """The network asked for, else the one in the middle of the field by the time of its steps, or with most runs."""
    if material.cnns:
        return material.cnns[0]
    if material.campaign.kernels is None:
        return str(material.campaign.table("runs")["cnn"].mode().iloc[0])
    largest = material.gradient.steps.groupby("cnn")["step_s"].max().sort_values()
    return str(largest.index[len(largest) // 2])
