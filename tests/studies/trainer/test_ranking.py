"""Windows, order and regret by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from mlperf.studies.trainer.predictions import MODEL, STEP_ALONE
from mlperf.studies.trainer.ranking import rank_windows, regret, reversed_pairs, windows


def test_windows_reach_25_percent_to_either_side_and_hold_two_or_more() -> None:
    found = list(windows(np.array([100.0, 300.0, 120.0, 1000.0])))
    assert [(lower, upper) for lower, upper, _ in found] == [pytest.approx((75.0, 125.0))]
    assert found[0][2].tolist() == [True, False, True, False]


def test_a_reversed_pair_counts_only_beyond_the_noise_and_a_tie_is_no_order() -> None:
    """Measured 10, 10.2, 20, all said the other way round: of three pairs two are further apart than 3 %."""
    measured = np.array([10.0, 10.2, 20.0])
    assert reversed_pairs(measured, np.array([3.0, 2.0, 1.0]), 0.03) == (2, 2)
    assert reversed_pairs(measured, np.array([3.0, 2.0, 1.0]), 0.0) == (3, 3)
    assert reversed_pairs(measured, np.array([2.0, 1.0, 3.0]), 0.03) == (0, 2)
    assert reversed_pairs(measured, np.ones(3), 0.03) == (2, 2)


def test_regret_is_what_the_chosen_one_takes_longer_than_the_best() -> None:
    assert regret(np.array([12.0, 10.0, 11.0]), np.array([5.0, 7.0, 6.0])) == pytest.approx(0.2)


def test_windows_are_ranked_beside_the_gradient_alone() -> None:
    """Two configurations of like mini-batch: the model has their order, the gradient alone the other one."""
    said = {(MODEL, "mean_minibatch_size"): (40.0, 44.0), (MODEL, "epoch_s"): (90.0, 100.0), (STEP_ALONE, "epoch_s"): (60.0, 50.0)}
    key = {"protocol": "p", "machine": "m", "trained_on": "all but net", "cnn": "net", "n_gpus_per_node": 2, "subbatch_size": 4}
    rows = [
        {**key, "n_nodes": n, "method": method, "quantity": quantity, "predicted": value, "measured": time}
        for (method, quantity), values in said.items()
        for n, value, time in zip((1, 2), values, (95.0, 105.0), strict=True)
    ]
    noise = pd.DataFrame({"machine": ["m"], "cnn": ["net"], "noise": [0.01]})
    (found,) = rank_windows(pd.DataFrame(rows), noise).to_dict("records")
    assert (found["n_configs"], found["n_pairs"], found["n_reversed"], found["n_reversed_alone"]) == (2, 1, 0, 1)
    assert (found["regret"], found["regret_alone"]) == (0.0, pytest.approx(105.0 / 95.0 - 1.0))
