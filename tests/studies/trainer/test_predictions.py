"""Training and predicting on SIMULATED runs whose costs have none of the forms that training offers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.datasets import read_campaign
from mlperf.datasets.campaigns.trainer_runs import TrainerRuns, read_runs, settings_table
from mlperf.studies.trainer.predictions import (
    MODEL,
    NEAREST,
    PAPER,
    STEP_ALONE,
    dataset_sizes,
    nearest,
    predict_settings,
    split_rows,
    train_split,
    with_paper_terms,
)
from mlperf.studies.trainer.protocols import LEFT_OUT, ONE, Split, splits
from mlperf.systems.sprint.outputs import OUTPUTS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(simulated_campaign: Path, simulated_others: Path) -> TrainerRuns:
    return read_runs([simulated_campaign, simulated_others])


def chosen(runs: TrainerRuns, protocol: str, trained_on: str) -> Split:
    return next(each for each in splits(runs.table, kernels=False) if (each.protocol, each.trained_on) == (protocol, trained_on))


@pytest.fixture(scope="module")
def trained(runs: TrainerRuns) -> mlperf.training.Model:
    """On all networks but ``one``."""
    return train_split(chosen(runs, LEFT_OUT, "all but one"), runs, None)


@pytest.fixture(scope="module")
def rows(runs: TrainerRuns, trained: mlperf.training.Model) -> pd.DataFrame:
    return split_rows(chosen(runs, LEFT_OUT, "all but one"), trained, runs.cnns)


def test_training_on_other_rows_is_what_leaving_a_network_out_does(
    runs: TrainerRuns, trained: mlperf.training.Model, simulated_campaign: Path, simulated_others: Path
) -> None:
    """And predicted means do not depend on whether runs were left out in turn."""
    told = mlperf.train(simulated_campaign, runs=[simulated_others], leave_out=["one"], scored=False, left_out_runs=False)
    assert trained.runs is not None
    assert told.runs.setting_residuals.empty
    assert len(trained.runs.setting_residuals)
    settings = settings_table(chosen(runs, LEFT_OUT, "all but one").test)
    ours, theirs = (predict_settings(each, settings, runs.cnns) for each in (trained, told))
    for name in OUTPUTS:
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-12)
    assert trained.cnns == ("three", "two")


def test_every_setting_stands_beside_every_answer(rows: pd.DataFrame) -> None:
    counts = rows.groupby(["method", "quantity"]).size()
    assert set(counts) == {18}
    assert {*counts.index.get_level_values("method")} == {MODEL, PAPER, NEAREST, STEP_ALONE}
    assert counts[STEP_ALONE].index.tolist() == ["epoch_s"]


def test_a_network_left_out_is_predicted_better_than_by_trivial_answers(rows: pd.DataFrame) -> None:
    errors = rows.assign(error=rows["relative_error"].abs()).groupby(["quantity", "method"])["error"].mean()
    for quantity in ("epoch_s", "update_iteration_s", "mean_minibatch_size"):
        # Two networks of like size are too few to tell a line from a cache's end: the paper's terms are no worse here.
        assert errors[quantity, MODEL] < 0.2 * errors[quantity].drop([MODEL, PAPER]).min()
        assert errors[quantity, MODEL] < 0.05


def test_the_share_of_repeats_inside_is_counted(runs: TrainerRuns, rows: pd.DataFrame) -> None:
    row = rows[(rows["method"] == MODEL) & (rows["quantity"] == "update_iteration_s")].iloc[4]
    keys = ["cnn", "n_nodes", "n_gpus_per_node", "subbatch_size"]
    own = runs.table[(runs.table[keys] == row[keys]).all(axis=1)]["update_iteration_s"]
    assert len(own) == 2
    assert row["inside"] == np.mean((own >= row["lower"]) & (own <= row["upper"]))


def test_one_network_is_enough_and_its_intervals_are_wide(runs: TrainerRuns) -> None:
    split = chosen(runs, ONE, "two")
    found = split_rows(split, train_split(split, runs, None), runs.cnns)
    own = found[(found["method"] == MODEL) & (found["quantity"] == "epoch_s")]
    assert own["inside"].mean() > 0.9
    assert own["relative_error"].abs().mean() < 0.15


def test_the_papers_terms_are_those_of_the_components(runs: TrainerRuns) -> None:
    split = chosen(runs, ONE, "one")
    model = train_split(split, runs, None, left_out_runs=False)
    paper = with_paper_terms(model)
    settings = settings_table(split.test)
    found = predict_settings(paper, settings, runs.cnns, closed="paper")
    n_params = np.array([runs.cnns[name].n_params for name in settings["cnn"]], float)
    expected = model.components["update_weights"].paper.predict(pd.DataFrame({"n_params": n_params}))
    assert found.update_breakdown_s["update_weights"] == pytest.approx(expected)


def test_the_nearest_setting_is_near_by_factors(runs: TrainerRuns) -> None:
    settings = settings_table(runs.table)
    found = nearest(settings[settings["cnn"] == "one"], settings[settings["cnn"] == "two"], runs.cnns)
    keys = ["n_nodes", "n_gpus_per_node", "subbatch_size"]
    assert found[keys].equals(settings.loc[settings["cnn"] == "two", keys].reset_index(drop=True))


def test_the_data_set_is_as_large_as_the_epochs_were(runs: TrainerRuns) -> None:
    """100,000 samples; the simulation's epochs are counted by updates."""
    assert dataset_sizes(settings_table(runs.table)) == pytest.approx(100_000, rel=0.05)


def test_kernels_that_were_measured_alone_stay_as_they_are(runs: TrainerRuns, small_model: mlperf.training.Model) -> None:
    split = Split("network left out, kernels known", "m", "all but one", *(runs.table[runs.table["cnn"] != "one"],) * 2)
    model = train_split(split, runs, small_model, left_out_runs=False)
    assert model.gradient is small_model.gradient
    assert model.runs is not None
    assert set(model.cnns) == {*small_model.cnns, "two", "three"}
    assert set(model.provenance["data_sha256"]) >= {read_campaign(each.path).name for each in runs.campaigns_of(split.train)}


def test_what_kernels_do_not_decide_is_as_trained_on_the_runs_alone(
    runs: TrainerRuns, trained: mlperf.training.Model, small_model: mlperf.training.Model
) -> None:
    split = chosen(runs, LEFT_OUT, "all but one")
    whole, taken = (train_split(split, runs, small_model, like=like) for like in (None, trained))
    assert whole.runs is not None
    assert taken.runs is not None
    assert taken.runs.to_dict() == whole.runs.to_dict()
    assert taken.runs.fits is trained.runs.fits
    assert set(taken.components) == set(whole.components)
    for name, component in trained.components.items():
        assert taken.components[name] is component
        assert component.selected.estimator.coef_.tolist() == whole.components[name].selected.estimator.coef_.tolist()
