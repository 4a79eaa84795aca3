"""The wait for input against draws, and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.input_stall import input_stall


def test_nothing_varies_nothing_waits_longer_than_the_difference() -> None:
    assert input_stall(np.array([2.0, 1.0]), np.array([1.0, 2.5])).tolist() == [0.0, 1.5]


@pytest.mark.parametrize(("load", "step_std", "load_std"), [(0.8, 0.1, 0.2), (1.0, 0.05, 0.05), (1.3, 0.3, 0.0)])
def test_the_mean_of_the_longer_one_is_that_of_draws(load: float, step_std: float, load_std: float) -> None:
    rng = np.random.default_rng(1)
    steps, loads = 1.0 + step_std * rng.standard_normal(400_000), load + load_std * rng.standard_normal(400_000)
    waits = np.maximum(loads - steps, 0.0)
    assert input_stall(1.0, load, step_std, load_std) == pytest.approx(waits.mean(), abs=4.0 * waits.std() / np.sqrt(waits.size))
