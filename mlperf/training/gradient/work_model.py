"""Gradient time from whole steps alone: what a network computes and moves, where no kernel was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.features.network.steps import step_columns
from mlperf.models.estimators.choice.form_average import FormAverage
from mlperf.specs.network.cnn import CnnSpec
from mlperf.training.fits.ratio_model import Scaled
from mlperf.training.gradient.gradient import step_times

STEP = "step"
FORMS = (
    ("step_flops",),
    ("step_bytes",),
    ("step_flops", "step_bytes"),
    ("step_flops", "weight_bytes"),
    ("step_flops", "step_bytes", "weight_bytes"),
)
BALANCES = np.geomspace(1.0, 100.0, 81)
"""Operations that take as long as moving a byte: from processors that wait for nothing to those that wait for memory always."""

FORM_ERROR = 0.1
"""Relative error of a sum of operations and bytes as the time of a step, where one network says nothing of it."""


@dataclass(frozen=True, slots=True, eq=False)
class WorkModel:
    """Steps by what they compute and move; stands where a `mlperf.training.gradient.gradient.GradientModel` stands.

    Attributes
    ----------
    fitted : FormAverage
        Seconds of a step over ``step_flops``, ``step_bytes`` and ``weight_bytes``.
    """

    fitted: FormAverage

    @property
    def backend(self) -> str:
        """What ran the steps: the trainer itself."""
        return "runs"

    @property
    def kernels(self) -> Mapping[str, Mapping[str, Scaled]]:
        """No kernel was measured by itself."""
        return {}

    @property
    def sgemm(self) -> None:
        """No product was measured by itself."""

    def calls(self, runs: Iterable[tuple[CnnSpec, int]]) -> pd.DataFrame:
        """One row a step with the columns of its work; ``run`` is the pair's position."""
        pairs = list(runs)
        steps = pd.DataFrame({"cnn": range(len(pairs)), "subbatch_size": [size for _, size in pairs]})
        table = step_columns(steps, [cnn for cnn, _ in pairs])
        return table.assign(run=range(len(pairs)), kernel=STEP, cnn=[cnn.name for cnn, _ in pairs])

    def call_times(self, calls: pd.DataFrame, method: str = "") -> FloatArray:  # noqa: ARG002 - one method only
        """Seconds of each step."""
        return self.fitted.predict(calls)

    def step_times(self, calls: pd.DataFrame, call_times: FloatArray) -> FloatArray:
        """Seconds of each ``run``, which is one row."""
        return step_times(calls, call_times)

    busy_times = step_times

    def calls_in_domain(self, calls: pd.DataFrame) -> BoolArray:
        """Whether each step lies inside the work that was measured."""
        return self.fitted.in_domain(calls)

    def step_ratios(self, calls: pd.DataFrame, rng: np.random.Generator, size: int, kind: str) -> FloatArray:
        """Drawn step times over their mean, shape (size, n_steps)."""
        return np.asarray(self.fitted.sample(calls, rng, size, kind) / self.fitted.predict(calls))


def fit_work(steps: pd.DataFrame) -> WorkModel:
    """Fit measured steps.

    Parameters
    ----------
    steps : DataFrame
        Columns of `mlperf.features.network.steps.step_columns` and ``time_s``, one row a (network, sub-batch) pair.

    Returns
    -------
    WorkModel
        With one network, whose operations and bytes grow together, every balance of the two that its steps allow is averaged.
    """
    if steps["cnn"].nunique() > 1:
        return WorkModel(FormAverage(FORMS).fit(steps, steps["time_s"]))
    balanced = tuple((f"step_flops + {balance:.6g} * step_bytes",) for balance in BALANCES)
    return WorkModel(FormAverage(balanced, noise=FORM_ERROR).fit(steps, steps["time_s"]))
