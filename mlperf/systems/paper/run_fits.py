"""Component times of asynchronous runs, fitted on some settings of a campaign and asked for at others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, FitError
from mlperf.datasets import Campaign
from mlperf.models import StepwiseOLS
from mlperf.models.language.expressions import names, parse
from mlperf.specs.cnn import CnnSpec
from mlperf.systems.component_rows import component_rows
from mlperf.systems.component_times import component_inputs
from mlperf.systems.components import BY_NAME, FITTED, Component
from mlperf.systems.outputs import EpochOutputs, epoch_outputs
from mlperf.systems.scaled import Scaled, fit_scaled
from mlperf.systems.sprint import State, solve_iterations
from mlperf.systems.times import GPU_WORK, ComponentTimes, RunGrid

GRADIENT = "compute_gradient"
LEAST_SETTINGS = 3
SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")


@dataclass(frozen=True, slots=True, eq=False)
class GradientOfRuns:
    """Gradient time in runs: a mean for each network and sub-batch size that was run, a straight line in between and beyond."""

    mean_s: Mapping[tuple[str, int], float]

    def predict(self, cnn: str, subbatch_size: int) -> float:
        """Seconds.

        Raises
        ------
        DataError
            The network was not run, or only at one other sub-batch size.
        """
        if (cnn, subbatch_size) in self.mean_s:
            return self.mean_s[(cnn, subbatch_size)]
        sizes = sorted(size for name, size in self.mean_s if name == cnn)
        if len(sizes) < 2:
            raise DataError(
                f"got gradient times of {cnn!r} at {len(sizes)} sub-batch sizes, expected two to reach {subbatch_size}",
                hint="A model given (--model) predicts the gradient time from the network's layers.",
            )
        slope, constant = np.polyfit(sizes, [self.mean_s[(cnn, size)] for size in sizes], 1)
        return max(float(slope * subbatch_size + constant), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class RunFits:
    """What was fitted on some rows of ``components.csv``: every component by name, gradient times, and the work's variation."""

    components: Mapping[str, Scaled]
    gradient: GradientOfRuns
    work_cv: float

    def times(self, cnns: Mapping[str, CnnSpec], settings: pd.DataFrame) -> ComponentTimes:
        """Component times of ``settings`` (``cnn`` by name, and `SIZES`), arrays of shape (n_settings,).

        Raises
        ------
        DataError
            A component was not measured, or a gradient time is out of reach.
        """
        order = sorted(settings["cnn"].unique())
        position = settings["cnn"].map({name: number for number, name in enumerate(order)})
        inputs = component_inputs([cnns[name] for name in order], settings[list(SIZES)].assign(cnn=position))
        gradient_s = np.array(
            [self.gradient.predict(cnn, int(size)) for cnn, size in zip(settings["cnn"], settings["subbatch_size"], strict=True)]
        )
        seconds = {part.name: self._seconds(part, inputs) for part in FITTED if part.name != GRADIENT} | {GRADIENT: gradient_s}
        work_s = sum(seconds[name] for name in GPU_WORK)
        return ComponentTimes(
            **{f"{name}_s": value for name, value in seconds.items()}, gpu_work_std_s=np.asarray(self.work_cv * work_s)
        )

    def _seconds(self, part: Component, inputs: pd.DataFrame) -> FloatArray:
        alone = (inputs["n_nodes"] == 1).to_numpy(bool)
        if part.kind == "collective" and alone.all():
            return np.zeros(len(inputs))
        if part.name not in self.components:
            raise DataError(f"component {part.name!r} was not measured in enough settings", hint="Run more settings.")
        predicted = np.maximum(self.components[part.name].predict(inputs), 0.0)
        return np.where(alone, 0.0, predicted) if part.kind == "collective" else predicted


def fit_runs(campaign: Campaign, rows: pd.DataFrame, details: pd.DataFrame | None) -> RunFits:
    """Fit every component on ``rows`` of the campaign's ``components.csv``, terms chosen by AIC.

    Parameters
    ----------
    campaign : Campaign
        Where the rows are from.
    rows : DataFrame
        Some of its ``components``.
    details : DataFrame or None
        ``asgd/details.csv``: gives the deviation of the GPU's work; None takes none.

    Raises
    ------
    FitError
        Too few settings, or a component that cannot be fitted.
    """
    n_settings = len(rows[["cnn", *SIZES]].drop_duplicates())
    if n_settings < LEAST_SETTINGS:
        raise FitError(f"got {n_settings} settings to fit on, expected at least {LEAST_SETTINGS}")
    tables = component_rows(replace(campaign, components=rows, updates=None))
    return RunFits(
        {name: fit_part(BY_NAME[name], table) for name, table in tables.items()},
        GradientOfRuns(
            {(str(cnn), int(size)): float(value) for (cnn, size), value in rows.groupby(["cnn", "subbatch_size"])[f"{GRADIENT}_s"].mean().items()}
        ),
        work_variation(rows, details),
    )


def fit_part(component: Component, table: pd.DataFrame) -> Scaled:
    """One component on its rows, weights 1/t**2, the total preserved."""
    offered = tuple(term for term in component.terms if set(names(parse(term))) <= set(table.columns))
    inputs = table.drop(columns=["time_s", "group"]).select_dtypes(include=np.number)
    estimator = StepwiseOLS(terms=offered, noise="relative", report="none")
    return fit_scaled(estimator, inputs, table["time_s"].to_numpy(float), keep_totals=True)


def work_variation(rows: pd.DataFrame, details: pd.DataFrame | None) -> float:
    """Mean over runs of the deviation of the GPU's work over its mean, a fraction; 0 where nothing tells it."""
    if details is None or "gpu_work_std_s" not in details:
        return 0.0
    merged = rows.merge(details[["run", "mode", "gpu_work_std_s"]], on=["run", "mode"], how="inner")
    if merged.empty:
        return 0.0
    return float((merged["gpu_work_std_s"] / merged[[f"{name}_s" for name in GPU_WORK]].sum(axis=1)).mean())


def solve_settings(
    fits: RunFits, cnns: Mapping[str, CnnSpec], settings: pd.DataFrame, dataset_size: FloatArray
) -> tuple[State, EpochOutputs]:
    """Solve the SPRINT equations (form convolution) for each row of ``settings``."""
    times = fits.times(cnns, settings)
    run = RunGrid(*(settings[name].to_numpy(int) for name in SIZES), np.maximum(np.rint(dataset_size), 1).astype(np.int64))
    state = solve_iterations(times, run)
    return state, epoch_outputs(times, state, run)
