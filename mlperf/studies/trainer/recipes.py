"""Three ways to model the components of Tables 3 and 4: the paper's regressors, terms chosen by AIC, and one-size laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError
from mlperf.datasets.campaigns.trainer_runs import CONFIG
from mlperf.features.network.components import component_columns
from mlperf.specs.network.cnn import CnnSpec
from mlperf.studies.trainer.costs import MEASURED, Costs, barrier_waits, fit_costs, spread_times, variation
from mlperf.studies.trainer.forms import PREDICTING
from mlperf.studies.trainer.gradient_transfer import works
from mlperf.systems.base.times import ComponentTimes
from mlperf.systems.sprint.components import FITTED, Component
from mlperf.training.components.component_fit import ComponentModel, fit_component, fit_components
from mlperf.training.components.component_rows import asynchronous_rows
from mlperf.training.fits.ratio_model import Scaled

GRADIENT = "compute_gradient"
GRADIENT_COMPONENT = Component(GRADIENT, "gpu", "work", None, ("work",), ("n_params", "subbatch_size"))
"""Eq. 4 with the work of a step in place of its kernels' times, which runs do not hold."""

PAYLOAD = Component(
    "allreduce",
    "update",
    "collective",
    None,
    ("n_params * log2(n_nodes)", "n_params"),
    ("log2(n_nodes)", "n_params * (n_nodes - 1) / n_nodes"),
)
"""The all-reduce without the wait at its barrier, which the equations compute: it has no regressor for it."""

FORM_OF: Mapping[str, str] = {"paper": "paper", "aic": PREDICTING, "laws": PREDICTING}
"""Closed form that goes with each recipe, end to end."""

NOISE = "relative"


@dataclass(frozen=True, slots=True, eq=False)
class Recipes:
    """All three, fitted on the same settings.

    Attributes
    ----------
    components : mapping of str to ComponentModel
        Each holds the terms chosen by AIC and the paper's; the paper's all-reduce has its barrier in it (eq. 8).
    payload : ComponentModel
        The all-reduce less the wait that the equations compute.
    costs : Costs
        The laws.
    variation : mapping of str to float
        Measured coefficients of variation.
    cnns : mapping
        Specifications.
    """

    components: Mapping[str, ComponentModel]
    payload: ComponentModel
    costs: Costs
    variation: Mapping[str, float]
    cnns: Mapping[str, CnnSpec]

    def component_s(self, recipe: str, settings: pd.DataFrame) -> dict[str, FloatArray]:
        """Predicted seconds of every component of measured settings, by name; all-reduces with the waits at their barrier.

        What the equations compute (buffers added, the wait at the barrier) follows from the other components as measured: it is
        the components that are judged.
        """
        inputs = component_inputs(settings, self.cnns)
        if recipe == "laws":
            times = self.costs.times(settings)
            found = {component.name: np.asarray(getattr(times, component.column)) for component in FITTED}
        else:
            found = {name: _of(model, recipe).predict(inputs) for name, model in self.components.items()}
        if recipe == "aic":
            found["allreduce"] = self.payload.selected.predict(inputs)
        if FORM_OF[recipe] != "paper":
            found["allreduce"] = found["allreduce"] + barrier_waits(settings, self.variation)
        return found

    def times(self, recipe: str, settings: pd.DataFrame) -> ComponentTimes:
        """Component times of configurations for the equations: nothing of them is taken from the settings' measurements."""
        if recipe == "laws":
            return self.costs.times(settings)
        inputs = component_inputs(settings, self.cnns)
        blank = inputs.assign(n_buffers_added=inputs["n_gpus_per_node"], barrier_buffers=0.0)
        seconds = {f"{name}_s": np.maximum(_of(model, recipe).predict(blank), 0.0) for name, model in self.components.items()}
        per_buffer_s = None
        if recipe == "paper":
            one_more = self.components["allreduce"].paper.predict(blank.assign(barrier_buffers=1.0))
            per_buffer_s = np.maximum(one_more - seconds["allreduce_s"], 0.0)
        else:
            seconds["allreduce_s"] = np.maximum(self.payload.selected.predict(blank), 0.0)
        seconds["allreduce_s"] = np.where(inputs["n_nodes"] > 1, seconds["allreduce_s"], 0.0)
        return spread_times(seconds, self.variation, per_buffer_s)


def fit_recipes(train: pd.DataFrame, cnns: Mapping[str, CnnSpec], cache_bytes: Mapping[str, int]) -> Recipes:
    """Fit all recipes on settings (means over repeats).

    Raises
    ------
    FitError
        A component has no rows, or none of its terms can be evaluated.
    """
    rows = asynchronous_rows(train, cnns)
    absent = [component.name for component in FITTED if component.name not in (*rows, GRADIENT)]
    if absent:
        raise FitError(f"got no measured row of component {absent[0]!r}, expected some")
    components = fit_components(rows, NOISE, cache_bytes, left_out=False)
    gradient = component_inputs(train, cnns).assign(time_s=train["compute_gradient_s"], group=_groups(train))
    components[GRADIENT] = fit_component(GRADIENT_COMPONENT, gradient, NOISE, left_out=False)
    varied = variation(train, MEASURED)
    payload_s = train["allreduce_s"] - barrier_waits(train, varied)
    payload = fit_component(
        PAYLOAD, asynchronous_rows(train.assign(allreduce_s=payload_s), cnns)["allreduce"], NOISE, left_out=False
    )
    return Recipes(components, payload, fit_costs(train, cnns, MEASURED), varied, cnns)


def component_inputs(settings: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """Columns of the components' terms and the work of a step, for measured settings in their order."""
    return component_columns(settings, cnns).assign(work=works(cnns, settings))


def _groups(settings: pd.DataFrame) -> pd.Series:
    return settings[CONFIG].astype(str).agg(" x ".join, axis=1)


def _of(model: ComponentModel, recipe: str) -> Scaled:
    return model.paper if recipe == "paper" else model.selected
