"""Other networks from one, on a SIMULATED machine; order and regret of configurations by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.core.errors import DataError
from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.studies.trainer.gates import gates_table, headline_gates, ranking_gates
from mlperf.studies.trainer.headline import headline_errors, headline_summary
from mlperf.studies.trainer.limits import TrainerLimits, read_trainer_limits
from mlperf.studies.trainer.ranking import TOGETHER, rank_windows, ranking, window

LIMITS = TrainerLimits(
    other_networks=dict.fromkeys(("epoch_s", "update_iteration_s", "mean_minibatch_size"), 0.06),
    ranking={"pairs in wrong order beyond noise": 0.0, "regret": 0.03},
)


def test_networks_that_obey_the_laws_are_predicted(simulated_campaign: Path, simulated_others: Path) -> None:
    """Vectors of all networks follow one curve, which the shares of one network show; steps follow their work."""
    runs = read_runs([simulated_campaign, simulated_others])
    errors = headline_errors(runs, "one", forms=("convolution",))
    assert set(errors["cnn"]) == {"two", "three"}
    assert gates_table(list(headline_gates(errors, LIMITS)))["met"].all()
    found = headline_summary(errors).set_index(["inputs", "cnn", "quantity"])["mean_error"]
    assert found["Oyama et al., Table 9", "CNN-C", "mean_minibatch_size"] == pytest.approx(0.116)


def test_a_window_is_widened_until_enough_lie_inside() -> None:
    lower, upper = window([[10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0]], least=3)
    assert lower < 40.0
    assert upper > 160.0
    assert upper < 320.0
    assert window([[100.0, 101.0, 99.0]], least=3) == pytest.approx((80.0, 125.0))


def test_order_and_regret_are_counted_against_the_noise() -> None:
    """Predicted order a b c; measured 10.2, 10, 20: a before b is wrong but inside 3 % of noise, the best was missed by 2 %."""
    rows = pd.DataFrame({"measured_s": [20.0, 10.2, 10.0], "predicted_s": [19.0, 9.0, 10.0]})
    found = ranking("machine", "net", "convolution", (40.0, 60.0), rows, noise=0.03)
    assert (found.n_pairs, found.n_beyond_noise, found.n_tied, found.n_wrong) == (3, 2, 0, 0)
    assert found.regret == pytest.approx(0.02)
    assert found.table["measured_rank"].tolist() == [2, 1, 3]
    strict = ranking("machine", "net", "convolution", (40.0, 60.0), rows, noise=0.0)
    assert strict.n_wrong == 1
    tied = ranking("machine", "net", "convolution", (40.0, 60.0), rows.assign(predicted_s=[19.0, 9.99, 10.0]), noise=0.01)
    assert (tied.n_beyond_noise, tied.n_tied, tied.n_wrong) == (3, 1, 0)
    assert not gates_table(list(ranking_gates([strict], LIMITS)))["met"].all()


def test_a_window_holds_enough_configurations_of_every_machine() -> None:
    lower, upper = window([[100.0, 101.0, 99.0], [10.0, 11.0, 100.0]], least=2)
    assert lower < 11.0
    assert upper > 100.0


def test_rankings_cover_the_networks_of_a_machine(simulated_campaign: Path, simulated_others: Path) -> None:
    found = rank_windows(read_runs([simulated_campaign, simulated_others]), "one")
    assert {each.cnn for each in found} == {"one", "two", "three"}
    for each in found:
        assert len(each.table) >= 6
        assert np.all(np.diff(each.table["predicted_s"]) >= 0.0)
        # Of the network itself only runs on one and two nodes were fitted, of the others none.
        own = each.table["n_nodes"] < 4 if each.cnn == "one" else np.zeros(len(each.table), bool)
        assert each.table["fitted_on"].tolist() == list(own)


def test_machines_are_ranked_together_in_one_window(simulated_campaign: Path) -> None:
    """The same campaign again as a machine four times slower: its configurations come behind."""
    runs = read_runs([simulated_campaign])
    slow = runs.table.assign(machine="slow", campaign="slow")
    seconds = [name for name in slow.columns if name.endswith("_s")]
    both = pd.concat([runs.table, slow.assign(**{name: 4.0 * slow[name] for name in seconds})], ignore_index=True)
    found = rank_windows(replace(runs, table=both), "one")
    together = found[-1]
    assert together.machine == TOGETHER
    assert len(together.table) == len(found[0].table) + len(found[1].table)
    assert together.regret < 0.03
    assert (found[0].lower, found[0].upper) == (found[1].lower, found[1].upper)


def test_limits_are_read_strictly(tmp_path: Path) -> None:
    path = tmp_path / "limits.toml"
    path.write_text("[ranking]\nregret = 0.03\n[other_networks]\nepoch_s = 0.05\n", encoding="utf-8")
    assert read_trainer_limits(path) == TrainerLimits(other_networks={"epoch_s": 0.05}, ranking={"regret": 0.03})
    for wrong in ("[rankings]\nregret = 0.03", "[ranking]\nregrets = 0.03", "[ranking]\nregret = true", "[ranking]\nregret = -1"):
        path.write_text(wrong, encoding="utf-8")
        with pytest.raises(DataError, match=r"limits\.toml"):
            read_trainer_limits(path)
