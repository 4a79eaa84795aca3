"""The noise floor on tables whose answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.protocol.floor import noise_floor


def test_equals_the_hand_computed_difference_of_odd_and_even_medians() -> None:
    frame = pd.DataFrame(
        {"cnn": ["a"] * 4 + ["b"] * 4, "round": [1, 2, 3, 4] * 2, "step_s": [1.0, 1.0, 1.2, 1.0, 3.0, 4.0, 3.0, 4.0]}
    )
    found = noise_floor(frame, ["cnn"], "step_s")
    assert found.mape == pytest.approx((0.1 + 0.25) / 2)
    assert (found.n_configurations, found.n_rounds) == (2, 4)


def test_of_independent_noise_follows_from_its_spread() -> None:
    """Two five-round medians of 5 % normal noise: standard error 1.198 * 5 % / sqrt 5 each, mean absolute difference 3.0 %."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"cnn": np.repeat(np.arange(2000), 10), "round": np.tile(np.arange(1, 11), 2000)})
    frame["step_s"] = rng.normal(1, 0.05, len(frame))
    assert noise_floor(frame, ["cnn"], "step_s").mape == pytest.approx(0.030, abs=0.0015)


def test_one_round_has_no_floor() -> None:
    found = noise_floor(pd.DataFrame({"cnn": ["a"], "round": [1], "step_s": [1.0]}), ["cnn"], "step_s")
    assert np.isnan(found.mape)
