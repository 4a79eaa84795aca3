"""Other networks from one, on a SIMULATED machine; order and regret of configurations by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.systems.trainer_accuracy.gates import gates_table, headline_gates, ranking_gates
from mlperf.systems.trainer_accuracy.headline import headline_errors, headline_summary
from mlperf.systems.trainer_accuracy.ranking import _ranking, rank_windows, window
from mlperf.systems.trainer_accuracy.runs import CONFIG, read_runs


def test_networks_that_obey_the_laws_are_predicted(simulated_campaign: Path, simulated_others: Path) -> None:
    """Costs proportional to parameters and work; only the powers of a share make one network's coefficients wrong for others."""
    runs = read_runs([simulated_campaign, simulated_others])
    errors = headline_errors(runs, "one", forms=("convolution",))
    assert set(errors["cnn"]) == {"two", "three"}
    assert gates_table(list(headline_gates(errors)))["met"].all()
    found = headline_summary(errors).set_index(["inputs", "cnn", "quantity"])["mean_error"]
    assert found["Oyama et al., Table 9", "CNN-C", "mean_minibatch_size"] == pytest.approx(0.116)


def test_a_window_is_widened_until_enough_lie_inside() -> None:
    lower, upper = window([10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0], least=3)
    assert lower < 40.0
    assert upper > 160.0
    assert upper < 320.0
    assert window([100.0, 101.0, 99.0], least=3) == pytest.approx((80.0, 125.0))


def test_order_and_regret_are_counted_against_the_noise() -> None:
    """Predicted order a b c; measured 10.2, 10, 20: a before b is wrong but inside 3 % of noise, the best was missed by 2 %."""
    measured = pd.DataFrame(
        {**{name: [1, 2, 3] for name in CONFIG}, "epoch_s": [10.2, 10.0, 20.0], "mean_minibatch_size": [50.0, 50.0, 50.0]}
    )
    predicted = pd.DataFrame({"epoch_s": [9.0, 10.0, 19.0], "mean_minibatch_size": [50.0, 50.0, 50.0]})
    found = _ranking("machine", "net", measured, predicted, noise=0.03)
    assert (found.n_pairs, found.n_beyond_noise, found.n_wrong) == (3, 2, 0)
    assert found.regret == pytest.approx(0.02)
    strict = _ranking("machine", "net", measured, predicted, noise=0.0)
    assert strict.n_wrong == 1
    assert not gates_table(list(ranking_gates([strict])))["met"].all()


def test_rankings_cover_the_networks_of_a_machine(simulated_campaign: Path, simulated_others: Path) -> None:
    found = rank_windows(read_runs([simulated_campaign, simulated_others]), "one")
    assert {each.cnn for each in found} == {"one", "two", "three"}
    for each in found:
        assert len(each.table) >= 6
        assert np.all(np.diff(each.table["predicted_s"]) >= 0.0)
