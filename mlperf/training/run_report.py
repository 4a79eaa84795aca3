"""What asynchronous runs say of a model: the forms that predict, and how far networks that were left out went astray."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.components.run_fits import ALLREDUCE
from mlperf.training.gradient.gradient import PREDICTOR
from mlperf.training.gradient.work_model import WorkModel
from mlperf.training.run_errors import AskedRuns, half_widths

if TYPE_CHECKING:
    from mlperf.models.estimators.choice.form_average import FormAverage
    from mlperf.training.model import Model
    from mlperf.training.run_model import RunModel

GRADIENT, LEVEL = "compute_gradient", 0.95
PARTS_OF_EXCHANGE = (": payload", ": meeting")
"""What an all-reduce that was measured in two parts is made of."""


@dataclass(frozen=True, slots=True, eq=False)
class RunReport(Shown):
    """How a model predicts runs.

    Attributes
    ----------
    forms : DataFrame
        One row a form of a component's time: ``component, form, weight, rms_error`` (relative, of its points).
    left_out : DataFrame
        One row an output: ``mean_error`` (networks weighing alike) and ``max_error`` of networks left out, and
        ``half_width_error`` of a 95 % interval; fractions. Empty where nothing was left out.
    n_networks : int
        Networks of the runs.
    tells_exchange : bool
        Whether the runs tell one form of the exchange from all others; also without an exchange.
    """

    forms: pd.DataFrame
    left_out: pd.DataFrame
    n_networks: int
    tells_exchange: bool

    def to_frame(self) -> pd.DataFrame:
        """One row a form."""
        return self.forms


def run_report(model: Model) -> RunReport | None:
    """The report of a model that was trained on asynchronous runs; None of others."""
    runs = model.runs
    if runs is None:
        return None
    forms = pd.concat([part.table().assign(component=name) for name, part in _costs(model, runs)], ignore_index=True)
    errors = left_out_runs(runs, model.score.step_residuals(PREDICTOR)) if len(runs.residuals) else pd.DataFrame()
    tells = ALLREDUCE not in runs.fits.costs or runs.fits.tells_exchange
    return RunReport(forms[["component", "form", "weight", "rms_error"]], errors, runs.n_networks, tells)


def left_out_runs(runs: RunModel, steps: pd.DataFrame) -> pd.DataFrame:
    """One row an output: mean and largest relative error of networks left out, and the half-width of a 95 % interval.

    Parameters
    ----------
    runs : RunModel
        With ``residuals``.
    steps : DataFrame
        Left-out steps of kernels; may be empty.
    """
    rows, asked = [], AskedRuns.of(runs.residuals)
    for name in OUTPUTS:
        errors = np.expm1(-runs.residuals[name]).abs()
        alike = errors.groupby(runs.residuals["cnn"]).mean()
        half = np.expm1(half_widths(runs.residuals, name, asked, LEVEL, steps))
        rows.append({"output": name, "mean_error": alike.mean(), "max_error": errors.max(), "half_width_error": half.mean()})
    return pd.DataFrame(rows)


def _costs(model: Model, runs: RunModel) -> Iterator[tuple[str, FormAverage]]:
    if isinstance(model.gradient, WorkModel):
        yield GRADIENT, model.gradient.fitted
    for name, parts in runs.fits.costs.items():
        ends = PARTS_OF_EXCHANGE if len(parts) > 1 else ("",)
        for end, part in zip(ends, parts, strict=True):
            yield name + end, part
