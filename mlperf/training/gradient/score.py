"""How well the gradient's time is predicted for networks that were left out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.shown import Shown


@dataclass(frozen=True, slots=True, eq=False)
class GradientScore(Shown):
    """Left-out-CNN accuracy of the gradient model and the residuals its intervals come from.

    Attributes
    ----------
    predictions : DataFrame
        ``cnn, subbatch_size, measured_s`` and ``<method>_s`` of CNNs that were left out, seconds; of a device also
        ``measured_busy_s`` and ``<method>_busy_s``.
    accuracy : DataFrame
        One row a method, fractions (see `mlperf.training.gradient.gradient_accuracy.accuracy_table`).
    kernels : DataFrame
        Left-out errors by kernel and method, fractions (see `mlperf.training.gradient.gradient_accuracy.kernel_accuracy`), and
        ``noise_floor`` of the kernel: how far halves of its rounds differ.
    step_cv : float
        Spread of one step around the median of its configuration, fraction.
    noise_floor : float
        How far odd and even rounds differ, a fraction (see `mlperf.models.validation.scores.HalvesDifference`).
    """

    predictions: pd.DataFrame
    accuracy: pd.DataFrame
    kernels: pd.DataFrame
    step_cv: float
    noise_floor: float

    @classmethod
    def unknown(cls) -> GradientScore:
        """The score of a model without kernels: whole steps were fitted, and nothing was left out kernel by kernel."""
        steps = pd.DataFrame(columns=["cnn", "subbatch_size", "measured_s"])
        return cls(steps, pd.DataFrame(), pd.DataFrame(columns=["kernel", "method", "noise_floor"]), float("nan"), float("nan"))

    def step_residuals(self, method: str) -> pd.DataFrame:
        """One row a left-out pair that could be predicted: ``cnn`` and ``log_residual``, log(measured / predicted)."""
        if f"{method}_s" not in self.predictions:
            return pd.DataFrame({"cnn": pd.Series(dtype=str), "log_residual": pd.Series(dtype=float)})
        rows = self.predictions.dropna(subset=[f"{method}_s"])
        return pd.DataFrame({"cnn": rows["cnn"].to_numpy(), "log_residual": self.log_residuals(method)})

    def log_residuals(self, method: str, part: str = "") -> FloatArray:
        """log(measured / predicted) of left-out pairs that were predicted, shape (n_pairs,); of a device's ``part`` ``busy_``."""
        measured, predicted = f"measured_{part}s", f"{method}_{part}s"
        rows = self.predictions.dropna(subset=[measured, predicted])
        return np.asarray(np.log(rows[measured].to_numpy(float) / rows[predicted].to_numpy(float)))
