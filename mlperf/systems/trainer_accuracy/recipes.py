"""Three ways to model the components of Tables 3 and 4: the paper's regressors, terms chosen by AIC, and one-size laws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import FitError
from mlperf.specs.cnn import CnnSpec
from mlperf.systems.component_fit import ComponentModel, fit_component, fit_components
from mlperf.systems.component_rows import asynchronous_rows
from mlperf.systems.components import FITTED, Component
from mlperf.systems.scaled import Scaled
from mlperf.systems.times import ComponentTimes
from mlperf.systems.trainer_accuracy.costs import MEASURED, Costs, fit_costs, spread_times, variation
from mlperf.systems.trainer_accuracy.gradient_transfer import works
from mlperf.systems.trainer_accuracy.runs import CONFIG

GRADIENT = "compute_gradient"
GRADIENT_COMPONENT = Component(GRADIENT, "gpu", "work", None, ("work",), ("n_params", "subbatch_size"))
"""Eq. 4 with the work of a step in place of its kernels' times, which runs do not hold."""

FORM_OF: Mapping[str, str] = {"paper": "paper", "aic": "convolution", "laws": "convolution"}
"""Closed form that goes with each recipe, end to end."""

NOISE = "relative"


@dataclass(frozen=True, slots=True, eq=False)
class Recipes:
    """All three, fitted on the same settings.

    Attributes
    ----------
    components : mapping of str to ComponentModel
        Each holds the terms chosen by AIC and the paper's; a component that could not be fitted is absent.
    costs : Costs
        The laws.
    variation : mapping of str to float
        Measured coefficients of variation.
    cnns : mapping
        Specifications.
    """

    components: Mapping[str, ComponentModel]
    costs: Costs
    variation: Mapping[str, float]
    cnns: Mapping[str, CnnSpec]

    def component_s(self, recipe: str, settings: pd.DataFrame) -> dict[str, FloatArray]:
        """Predicted seconds of every component of measured settings, by name; all-reduces with the waits at their barrier.

        Regressors that the equations compute (buffers added) are taken as measured: it is the components that are judged.
        """
        if recipe == "laws":
            return self._laws(settings)
        inputs = component_inputs(settings, self.cnns)
        return {name: _of(model, recipe).predict(inputs) for name, model in self.components.items()}

    def _laws(self, settings: pd.DataFrame) -> dict[str, FloatArray]:
        times = self.costs.times(settings)
        found = {component.name: np.asarray(getattr(times, component.column)) for component in FITTED}
        return found | {"allreduce": found["allreduce"] + settings["barrier_wait_s"].to_numpy(float)}

    def times(self, recipe: str, settings: pd.DataFrame) -> ComponentTimes:
        """Component times of configurations for the equations: nothing of them is taken from the settings' measurements."""
        if recipe == "laws":
            return self.costs.times(settings)
        inputs = component_inputs(settings, self.cnns)
        blank = inputs.assign(n_buffers_added=inputs["n_gpus_per_node"], barrier_buffers=0.0)
        seconds = {f"{name}_s": np.maximum(_of(model, recipe).predict(blank), 0.0) for name, model in self.components.items()}
        one_more = np.maximum(_of(self.components["allreduce"], recipe).predict(blank.assign(barrier_buffers=1.0)), 0.0)
        per_buffer_s = np.maximum(one_more - seconds["allreduce_s"], 0.0)
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
    return Recipes(components, fit_costs(train, cnns, MEASURED), variation(train, MEASURED), cnns)


def component_inputs(settings: pd.DataFrame, cnns: Mapping[str, CnnSpec]) -> pd.DataFrame:
    """Columns of the components' terms for measured settings, in their order."""
    marked = settings.assign(fetch_weights_s=1.0)
    inputs = asynchronous_rows(marked, cnns)["fetch_weights"].drop(columns=["time_s", "group"])
    return inputs.assign(work=works(cnns, settings))


def _groups(settings: pd.DataFrame) -> pd.Series:
    return settings[CONFIG].astype(str).agg(" x ".join, axis=1)


def _of(model: ComponentModel, recipe: str) -> Scaled:
    return model.paper if recipe == "paper" else model.selected
