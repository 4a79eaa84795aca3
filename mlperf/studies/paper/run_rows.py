"""Figures 9 to 11: iterations of both threads and their parts, measured over repeats and predicted from other settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.datasets.campaigns.trainer_runs import ALL_WAITED, only_runs
from mlperf.datasets.dictionary.schema import SETTING
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.trainer.predictions import RUNS, predict_settings
from mlperf.systems.sprint.components import COMPONENTS
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.model import Model
from mlperf.training.training import train_campaign

KEYS = [name for name in SETTING if name != "n_params"]
FEWEST_DRAWS = 2
"""The figures show no intervals."""


@dataclass(frozen=True, slots=True, eq=False)
class RunRows:
    """Settings of the runs of one mode.

    Attributes
    ----------
    mode : str
        What was real and what was emulated.
    table : DataFrame
        One row a setting: ``mode, cnn``, nodes, GPUs, sub-batch, ``n_runs`` and, for each output of a run, its mean, ``_min``,
        ``_max`` over repeats and ``_predicted``; NaN where nothing could be predicted.
    parts : DataFrame
        One row a setting and component: the setting, ``activity, component, measured_s, min_s, max_s, predicted_s``, seconds of
        one iteration.
    how : str
        How the predictions were made, or why there are none.
    """

    mode: str
    table: pd.DataFrame
    parts: pd.DataFrame
    how: str


@lru_cache(maxsize=4)
def run_rows(material: FigureInputs) -> tuple[RunRows, ...]:
    """The settings of every mode, the mode with most runs first; real and emulated rows are never mixed.

    Three figures ask for the same rows: the last answers are kept.

    Raises
    ------
    DataError
        ``runs.csv`` or ``components.csv`` is missing, or the networks asked for were not run.
    """
    runs, components = wanted(material, "runs"), wanted(material, "components")
    order = runs["mode"].value_counts().index
    return tuple(
        rows_of_mode(material, str(mode), runs[runs["mode"] == mode], components[components["mode"] == mode]) for mode in order
    )


def wanted(material: FigureInputs, name: str) -> pd.DataFrame:
    """Rows of a table that belong to the networks asked for."""
    table = material.campaign.table(name)
    rows: pd.DataFrame = table[table["cnn"].isin(material.cnns)] if material.cnns else table
    if rows.empty:
        raise DataError(f"got no row of {', '.join(material.cnns)} in {name}.csv", place=str(material.campaign.path))
    return rows


def rows_of_mode(material: FigureInputs, mode: str, runs: pd.DataFrame, components: pd.DataFrame) -> RunRows:
    """Measured means and ends of every setting, predictions beside them."""
    settings = spread(runs, {name: name for name in OUTPUTS}).reset_index()
    measured = measured_parts(components)
    predict = predicted_by_model if material.given is not None else predicted_by_others
    outputs, parts, how = predict(material, settings)
    how += crowding(material, mode)
    table = settings.assign(**{f"{name}_predicted": values for name, values in outputs.items()})
    return RunRows(mode, table, measured.merge(parts, on=[*KEYS, "component"], how="left"), how)


def crowding(material: FigureInputs, mode: str) -> str:
    """A warning where workers with real work had less than a core each: such runs do not judge the equations."""
    details = material.campaign.details
    if details is None or mode.startswith(ALL_WAITED):
        return ""
    cores = details.loc[details["mode"] == mode, "cores_per_worker"]
    n_crowded = int((cores < 1).sum())
    return f"; workers share cores in {n_crowded} of {len(cores)} runs, which stretches them" if n_crowded else ""


def spread(rows: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    """Mean, least and greatest over the repeats of a setting: ``name, name_min, name_max`` for each column, and ``n_runs``."""
    grouped = rows.groupby(KEYS, sort=True)
    parts = {"n_runs": grouped.size()}
    for column, name in columns.items():
        parts |= {name: grouped[column].mean(), f"{name}_min": grouped[column].min(), f"{name}_max": grouped[column].max()}
    return pd.DataFrame(parts)


def measured_parts(components: pd.DataFrame) -> pd.DataFrame:
    """Seconds of every component in one iteration: occurrences times how many of them an iteration has."""
    occurrences = {
        "fetch_weights": components["fetch_probability"],
        "sum_gradient": components["n_gpus_per_node"] * components["ready_probability"],
    }
    parts = []
    for component in COMPONENTS:
        seconds = components[component.column] * occurrences.get(component.name, 1.0)
        means = spread(components.assign(seconds=seconds), {"seconds": "measured_s"}).reset_index()
        means = means.rename(columns={"measured_s_min": "min_s", "measured_s_max": "max_s"})
        parts.append(means.assign(activity=component.activity, component=component.name))
    columns = [*KEYS, "activity", "component", "measured_s", "min_s", "max_s", "n_runs"]
    return pd.concat(parts, ignore_index=True)[columns]


Predicted = tuple[dict[str, FloatArray], pd.DataFrame, str]


def predicted_by_others(material: FigureInputs, settings: pd.DataFrame) -> Predicted:
    """Each network from the runs of the others; where the mode has one network, each setting from all others."""
    runs = material.campaign.table("runs")
    every = runs[runs["mode"] == settings["mode"].iloc[0]]
    by, how = (["cnn"], "networks") if every["cnn"].nunique() > 1 else (KEYS, "settings")
    outputs = {name: np.full(len(settings), np.nan) for name in OUTPUTS}
    parts, reasons = [pd.DataFrame(columns=[*KEYS, "component", "predicted_s"])], []
    for _, test in settings.groupby(by, sort=False):
        is_own = every.merge(test[by].drop_duplicates(), on=by, how="left", indicator=True)["_merge"] == "both"
        try:
            model = train_on(material, every[~is_own.to_numpy()])
            found = predict_settings(model, test, material.campaign.cnns, n_draws=FEWEST_DRAWS)
        except (DataError, FitError) as error:
            reasons.append(error.message)
            continue
        for name in OUTPUTS:
            outputs[name][test.index] = getattr(found, name)
        parts.append(broken_down(test, found.gpu_breakdown_s, found.update_breakdown_s))
    told = [f"each predicted by a model trained on the other {how}"] if len(parts) > 1 else []
    told += [f"no prediction of {'some' if told else 'any'}: {reasons[0]}"] if reasons else []
    return outputs, pd.concat(parts[1:] or parts, ignore_index=True), "; ".join(told)


def train_on(material: FigureInputs, runs: pd.DataFrame) -> Model:
    """A model trained on some rows of runs.csv alone.

    Raises
    ------
    DataError
        There is none.
    """
    if runs.empty:
        raise DataError("got no other run to train on, expected one", place=str(material.campaign.path))
    campaign = replace(only_runs(material.campaign, runs), sgemm=None, kernels=None, steps=None, updates=None)
    return train_campaign(campaign, seed=material.seed, scored=False, left_out_runs=False)


def predicted_by_model(material: FigureInputs, settings: pd.DataFrame) -> Predicted:
    """Every setting from the given model."""
    machine = material.machines[0] if material.machines else RUNS
    found = predict_settings(material.model, settings, material.campaign.cnns, machine, n_draws=FEWEST_DRAWS)
    outputs = {name: np.asarray(getattr(found, name)) for name in OUTPUTS}
    seen = "was fitted on these runs: in-sample" if material.is_own_model else "has not seen these runs"
    parts = broken_down(settings, found.gpu_breakdown_s, found.update_breakdown_s)
    return outputs, parts, f"predicted by a model that {seen}"


def broken_down(settings: pd.DataFrame, *breakdowns: Mapping[str, FloatArray]) -> pd.DataFrame:
    """Predicted seconds of every component: the setting, ``component, predicted_s``."""
    keys = settings[KEYS].reset_index(drop=True)
    parts = [keys.assign(component=name, predicted_s=seconds) for parts in breakdowns for name, seconds in parts.items()]
    return pd.concat(parts, ignore_index=True)


def chosen_setting(rows: RunRows) -> pd.Series:
    """The setting whose parts are shown: many nodes, GPUs and a sub-batch in the middle, as in the paper."""
    table = rows.table
    most = table[table["n_nodes"] == table["n_nodes"].max()]
    gpus = sorted(most["n_gpus_per_node"].unique())
    of_gpus = most[most["n_gpus_per_node"] == gpus[len(gpus) // 2]].sort_values(["cnn", "subbatch_size"])
    chosen: pd.Series = of_gpus.iloc[(len(of_gpus) - 1) // 2]
    return chosen
