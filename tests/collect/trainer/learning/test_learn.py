"""Learning without a clock: the same runs anywhere, the weights of plain momentum SGD, and the epochs of real ranks and threads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.collect.trainer.learning.learn import MODE, Learning, LearningSetting, learn_once, learn_without_clock
from mlperf.collect.trainer.learning.schedule import Pacing
from mlperf.collect.trainer.sequential import states
from mlperf.core.errors import UsageError
from mlperf.datasets import read_campaign
from mlperf.datasets.campaigns.trainer_runs import trainer_table
from mlperf.training.quality.epochs import quality_rows

pytestmark = pytest.mark.slow

SHORT = Learning(epochs=2)
FEW = LearningSetting("digits", 2, 2, 8, Pacing(0.5, 0.2, 1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two settings of two epochs."""
    out = tmp_path_factory.mktemp("learning")
    assert learn_without_clock(out, [FEW, replace(FEW, data="gratings")], SHORT) == 2
    return out


def test_the_tables_are_those_of_the_dictionary(folder: Path) -> None:
    campaign = read_campaign(folder)
    learning, epochs = campaign.table("learning"), trainer_table(campaign, "epochs")
    assert learning["mode"].unique().tolist() == [MODE]
    assert learning["data"].tolist() == ["digits", "gratings"]
    assert sorted(epochs["run"].unique()) == [1, 2]
    assert (epochs["elapsed_s"] == 0.0).all()
    assert campaign.runs is None
    assert learning["mean_minibatch_size"].to_numpy() == pytest.approx(FEW.mean_minibatch_size, rel=0.1)
    assert learning["staleness"].to_numpy() == pytest.approx(FEW.pacing.staleness, rel=0.1)


def test_what_was_learnt_is_not_learnt_again(folder: Path) -> None:
    before = (folder / "asgd" / "learning.csv").read_bytes()
    assert learn_without_clock(folder, [FEW], SHORT) == 0
    assert (folder / "asgd" / "learning.csv").read_bytes() == before


def test_two_epochs_do_not_suffice_and_say_so(folder: Path) -> None:
    rows = quality_rows([read_campaign(folder)], 0.9, "digits")
    assert rows["epochs_to_target"].isna().all()
    assert rows["n_epochs"].tolist() == pytest.approx([2.0], abs=0.2)


def test_a_run_repeats_to_the_bit() -> None:
    pd.testing.assert_frame_equal(learn_once(FEW, SHORT), learn_once(FEW, SHORT), check_exact=True)


def test_weights_that_are_not_finite_never_learn() -> None:
    epochs = learn_once(FEW, Learning(learning_rate=1e6, epochs=7))
    assert len(epochs) == 1
    assert epochs["epoch"].iloc[-1] == 7.0
    assert epochs["test_accuracy"].iloc[-1] == 0.0


def test_an_unknown_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="'digit', expected one of digits, gratings"):
        learn_without_clock(tmp_path, [replace(FEW, data="digit")], SHORT)


def test_states_of_a_real_run_end_with_its_weights(delayed: Any) -> None:
    """The steps that runs without a clock are made of, on the record of two ranks: their last weights are the ranks' own."""
    n_updates = int(delayed.records.updates["update"].max()) + 1
    every = list(states(delayed.job, delayed.records.uses, n_updates, delayed.folder))
    with np.load(delayed.folder / "weights.npz") as stored:
        final = stored["final"]
    assert np.abs(every[-1].weights - final).max() <= 1e-5 * np.abs(final).max()
    losses = delayed.records.uses.sort_values(["update", "node"])["loss"].to_numpy()
    assert np.concatenate([each.losses for each in every]) == pytest.approx(losses, rel=1e-4)
