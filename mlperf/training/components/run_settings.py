"""Asynchronous runs as one row a setting: components, outputs, and spreads where the trainer wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.trainer_schema import OLD_WEIGHTS
from mlperf.systems.base.times import SPREADS, ComponentTimes, RunGrid
from mlperf.systems.sprint.components import FITTED
from mlperf.systems.sprint.outputs import OUTPUTS

if TYPE_CHECKING:
    from mlperf.core.arrays import FloatArray
    from mlperf.datasets import Campaign
    from mlperf.specs.network.cnn import CnnSpec

CONFIG = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
GPU_WORK_S = ("load_image_s", "deform_image_s", "compute_gradient_s", "compute_update_value_s")
OWN_UPDATE_WORK_S = ("update_old_weights_s", "add_momentum_s", "update_momentum_s")
PAYLOAD, BARRIER = "allreduce_payload_s", "barrier_wait_s"


def run_settings(campaigns: Sequence[Campaign]) -> tuple[pd.DataFrame, dict[str, CnnSpec]]:
    """Means over the repeats of each setting of all campaigns, and the networks by name.

    Returns
    -------
    DataFrame
        One row a setting: `CONFIG`, the components (seconds), ``ready_probability``, ``fetch_probability``, the outputs, and where
        every campaign has ``asgd/details.csv`` the spreads, the barrier's wait and the payload of the all-reduce.

    Raises
    ------
    DataError
        Two campaigns name different networks alike, workers read old weights on purpose (``--delay``), or the runs of a campaign
        are of several modes.
    """
    cnns: dict[str, CnnSpec] = {}
    for campaign in campaigns:
        for name, cnn in campaign.cnns.items():
            if cnns.setdefault(name, cnn) != cnn:
                raise DataError(f"got two different networks called {name!r}", place=str(campaign.path), hint="Rename one of them.")
    tables = [_table(campaign) for campaign in campaigns]
    shared = [name for name in tables[0] if all(name in table for table in tables)]
    table = pd.concat([part[shared] for part in tables], ignore_index=True)
    numeric = [name for name in table.select_dtypes("number").columns if name not in {*CONFIG, "run"}]
    return table.groupby(CONFIG, sort=True)[numeric].mean().reset_index(), cnns


def run_outputs(campaigns: Sequence[Campaign]) -> pd.DataFrame:
    """One row a run: `CONFIG` and the outputs; none where a campaign has no ``runs.csv``."""
    if any(campaign.runs is None for campaign in campaigns):
        return pd.DataFrame(columns=[*CONFIG, *OUTPUTS])
    tables: list[pd.DataFrame] = [campaign.table("runs") for campaign in campaigns]
    for campaign, table in zip(campaigns, tables, strict=True):
        check_networks(campaign, table)
    return pd.concat([table[[*CONFIG, *OUTPUTS]] for table in tables], ignore_index=True)


def check_networks(campaign: Campaign, runs: pd.DataFrame) -> None:
    """Refuse runs whose network has another number of parameters than the specification of its name.

    Raises
    ------
    DataError
        Names the run and both numbers.
    """
    if "n_params" not in runs:
        return
    known = runs["cnn"].map({name: cnn.n_params for name, cnn in campaign.cnns.items()})
    wrong = runs[known.notna() & (runs["n_params"] != known)]
    if len(wrong):
        row, told = wrong.iloc[0], int(known[wrong.index[0]])
        got = f"got n_params {int(row['n_params'])} in run {row['run']}, expected the {told} of cnns/{row['cnn']}.toml"
        raise DataError(got, place=f"{campaign.path}, runs", hint="One of the two is of another network: rename it.")


def _table(campaign: Campaign) -> pd.DataFrame:
    table: pd.DataFrame = campaign.runs_of("components")
    old = table["mode"].str.contains(OLD_WEIGHTS, regex=False)
    if old.any():
        raise DataError(
            f"got {int(old.sum())} runs of the mode {table.loc[old, 'mode'].iloc[0]!r}, expected runs that read the latest weights",
            place=f"{campaign.path}, components",
            hint="Such runs tell how learning depends on staleness (--target-accuracy), not how long anything takes.",
        )
    modes = list(dict.fromkeys(table["mode"].astype(str)))
    if len(modes) > 1:
        raise DataError(
            f"got runs of the modes {', '.join(map(repr, modes))}, expected one of them",
            place=f"{campaign.path}, components",
            hint="Waits, slowed waits, real work and lockstep take different times: keep the runs of each in a folder of its own.",
        )
    if campaign.runs is not None:
        table = table.merge(campaign.runs_of("runs")[["run", *OUTPUTS]], on="run", validate="one_to_one")
    if campaign.details is not None:
        spreads = [f"{name}_std_s" for name in ("gpu_work", *SPREADS)]
        table = table.merge(campaign.runs_of("details")[["run", *spreads, BARRIER, PAYLOAD]], on="run", validate="one_to_one")
    return table


def grid_of(settings: pd.DataFrame) -> RunGrid:
    """The settings as the equations read them; the data set's size does not enter iterations."""
    counts = [settings[name].to_numpy(int) for name in CONFIG[1:]]
    nodes, gpus, subbatch = counts
    return RunGrid(nodes, gpus, subbatch, np.ones(len(settings), int))


def spread_times(seconds: Mapping[str, FloatArray], variation: Mapping[str, float | FloatArray]) -> ComponentTimes:
    """Component times with spreads of these coefficients of variation.

    Parameters
    ----------
    seconds : mapping of str to array
        Mean seconds by column, ``"fetch_weights_s"``: every component that is not a lock wait.
    variation : mapping of str to float or array
        By name of the spread: ``gpu_work``, ``update_work`` and the holds; of all configurations or of each.
    """
    stds = {f"{name}_std_s": each * _mean_of(name, seconds) for name, each in variation.items()}
    return ComponentTimes(**{"gpu_work_std_s": 0.0 * seconds["compute_gradient_s"], **seconds, **stds})


def variations(settings: pd.DataFrame) -> dict[str, float]:
    """Coefficient of variation of every measured spread: root mean square over the settings of deviation over mean."""
    seconds = measured_seconds(settings)
    ratios = {name: settings[f"{name}_std_s"].to_numpy(float) / _mean_of(name, seconds) for name in ("gpu_work", *SPREADS)}
    return {name: float(np.sqrt(np.mean(ratio**2))) for name, ratio in ratios.items()}


def measured_seconds(settings: pd.DataFrame) -> dict[str, FloatArray]:
    """Measured means of every component that is not a lock wait, by column."""
    return {component.column: settings[component.column].to_numpy(float) for component in FITTED}


def _mean_of(name: str, seconds: Mapping[str, FloatArray]) -> FloatArray:
    columns = {"gpu_work": GPU_WORK_S, "update_work": OWN_UPDATE_WORK_S}.get(name, (f"{name}_s",))
    return np.asarray(np.sum([seconds[column] for column in columns], axis=0))
