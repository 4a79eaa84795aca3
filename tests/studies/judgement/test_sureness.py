"""What draws say of orders and windows, counted by how sure they are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets.campaigns.trainer_runs import read_runs
from mlperf.studies.judgement.seen import judged_splits
from mlperf.studies.judgement.sureness import NEVER_KNOWS, band_table, brier_score, drawn_settings, order_table, told_and_held
from mlperf.studies.trainer.predictions import train_split
from mlperf.studies.trainer.protocols import LEFT_OUT


def test_pairs_are_told_as_most_draws_order_them() -> None:
    drawn = np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [2.0, 1.0, 3.0], [1.0, 2.0, 3.0]])
    found = order_table(drawn, np.array([5.0, 4.0, 6.0]))
    assert found.to_dict("list") == {"told": [0.75, 1.0, 0.75], "held": [False, True, True]}


def test_what_most_draws_say_may_be_that_it_is_not_so() -> None:
    found = told_and_held(np.array([0.1, 0.6, 0.5]), np.array([False, False, True]))
    assert found.to_dict("list") == {"told": [0.9, 0.6, 0.5], "held": [True, False, True]}


def test_bands_hold_every_case_once() -> None:
    rows = pd.DataFrame({"told": [0.5, 0.69, 0.7, 0.98, 1.0, 1.0], "held": [True, False, True, True, True, False]})
    found = band_table(rows)
    assert found["n"].tolist() == [2, 1, 0, 3]
    assert found["held"].tolist()[:2] == [0.5, 1.0]
    assert found["held"].iloc[3] == pytest.approx(2 / 3)
    assert np.isnan(found["told"].iloc[2])


def test_the_brier_score_of_an_oracle_and_of_one_who_never_knows() -> None:
    held = np.array([True, False, True])
    assert brier_score(pd.DataFrame({"told": [1.0, 0.0, 1.0], "held": held})) == 0.0
    assert brier_score(pd.DataFrame({"told": 0.5, "held": held})) == NEVER_KNOWS


@pytest.mark.slow
def test_settings_of_a_left_out_network_are_drawn_and_held_to_what_was_measured(simulated_few: tuple[Path, Path]) -> None:
    runs = read_runs(simulated_few)
    runs.table["dataset_size"] = 100_000
    split = next(each for each in judged_splits(runs.table) if each.protocol == LEFT_OUT)
    model = train_split(split, runs, None)
    orders, windows = drawn_settings(model, split, runs)
    n_settings = len(split.test.drop_duplicates(["n_nodes", "n_gpus_per_node", "subbatch_size"]))
    assert len(orders) == n_settings * (n_settings - 1) // 2
    assert len(windows) == 2 * n_settings * (n_settings - 1)
    for rows in (orders, windows):
        assert rows["told"].between(0.5, 1.0).all()
        assert brier_score(rows) < 0.5 * NEVER_KNOWS
    # Measured the other way round, what was told is wrong.
    epochs = 1.0 / split.test["epoch_s"]
    other, _ = drawn_settings(model, replace(split, test=split.test.assign(epoch_s=epochs)), runs)
    assert (other["held"] != orders["held"]).all()
