"""Variation of the iterations from what components.csv says: how often buffers were fresh and weights were new."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from mlperf.core.arrays import FloatArray
from mlperf.systems.coupling.probabilities import expected_shorter
from mlperf.systems.sprint.components import COMPONENTS

LARGEST = 0.6


def iterations_of(settings: pd.DataFrame) -> tuple[FloatArray, FloatArray]:
    """T_GPU and T_Update as the sums of their components, seconds, each of shape (n_settings,)."""
    occurrences = {
        "fetch_weights": settings["fetch_probability"].to_numpy(float),
        "sum_gradient": (settings["n_gpus_per_node"] * settings["ready_probability"]).to_numpy(float),
    }
    sums = []
    for activity in ("gpu", "update"):
        parts = [
            settings[component.column].to_numpy(float) * occurrences.get(component.name, 1.0)
            for component in COMPONENTS
            if component.activity == activity
        ]
        sums.append(np.sum(parts, axis=0))
    return sums[0], sums[1]


def variation_of_iterations(settings: pd.DataFrame) -> float:
    """Coefficient of variation of T_GPU that explains the measured probabilities best (least squares), between 0 and 0.6.

    p = E min(G, U) / G and q = E min(G, U) / U fall below min(U / G, 1) and min(G / U, 1) only because G varies.
    """
    gpu_s, update_s = iterations_of(settings)
    p, q = (settings[name].to_numpy(float) for name in ("ready_probability", "fetch_probability"))

    def misfit(variation: float) -> float:
        shorter_s = expected_shorter(gpu_s, variation * gpu_s, update_s)
        return float(np.sum((shorter_s / gpu_s - p) ** 2 + (shorter_s / update_s - q) ** 2))

    return float(minimize_scalar(misfit, bounds=(0.0, LARGEST), method="bounded").x)
