"""Variation told from probabilities, against Monte Carlo."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.systems.sprint.components import COMPONENTS
from mlperf.training.components.jitter import iterations_of, variation_of_iterations


def settings(gpu_s: list[float], update_s: list[float], variation: float) -> pd.DataFrame:
    """T_GPU all gradient, T_Update all payload; p and q counted over random periods."""
    rng = np.random.default_rng(0)
    rows = []
    for gpu, update in zip(gpu_s, update_s, strict=True):
        drawn = gpu * (1.0 + variation * rng.standard_normal(200_000))
        shorter = np.minimum(drawn, update).mean()
        row = dict.fromkeys((component.column for component in COMPONENTS), 0.0)
        row |= {"compute_gradient_s": gpu, "allreduce_s": update, "n_gpus_per_node": 2}
        rows.append(row | {"ready_probability": shorter / gpu, "fetch_probability": shorter / update})
    return pd.DataFrame(rows)


def test_the_variation_of_random_periods_is_found() -> None:
    """Standard error of the counted probabilities is 5e-4: the variation is found to 1e-2 of itself."""
    table = settings([1.0, 1.0, 1.0], [0.8, 1.0, 1.3], 0.2)
    assert variation_of_iterations(table) == pytest.approx(0.2, rel=0.02)


def test_iterations_are_sums_of_what_occurs() -> None:
    """A fetch counts with its probability, sums with the buffers that were fresh."""
    row = {component.column: 1.0 for component in COMPONENTS}
    table = pd.DataFrame([row | {"n_gpus_per_node": 4, "ready_probability": 0.5, "fetch_probability": 0.25}])
    gpu_s, update_s = iterations_of(table)
    assert (gpu_s[0], update_s[0]) == pytest.approx((7 + 0.25, 7 + 4 * 0.5))
