"""Runs through `mlperf.train` and `mlperf.predict_epoch`: networks left out, stored files, one network alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.datasets import Campaign
from mlperf.planning import Prediction
from mlperf.specs import JobSpec, load_machine
from mlperf.training.components.run_fits import RunFits
from mlperf.training.components.run_settings import run_settings
from mlperf.training.model import Model
from mlperf.training.run_errors import AskedRuns, half_widths
from mlperf.training.run_model import RunModel

pytestmark = pytest.mark.slow


def predicted(model: Model, campaign: Campaign, name: str) -> Prediction:
    return mlperf.predict_epoch(
        model,
        campaign.cnns[name],
        load_machine("kfc"),
        JobSpec(60_000, 4),
        n_nodes=[1, 2, 4],
        n_gpus_per_node=2,
        subbatch_size=4,
    )


def test_a_network_that_was_run_keeps_its_ratio_between_its_subbatches() -> None:
    """Measured 1.1 and 0.9 times the prediction at 4 and 16: their geometric mean at 8, the last one beyond, 1 for a namesake."""
    steps = pd.DataFrame({"cnn": "a", "n_params": 100, "subbatch_size": [4, 16], "learnt": np.log([1.1, 0.9])})
    runs = RunModel(RunFits({}, {}), {}, pd.DataFrame(), 1, steps)
    asked = pd.DataFrame(
        {"cnn": ["a", "a", "a", "a", "b"], "n_params": [100, 100, 100, 101, 100], "subbatch_size": [4, 8, 64, 4, 4]}
    )
    found = runs.step_ratios(asked, "learnt")
    assert found.ratio == pytest.approx([1.1, np.sqrt(1.1 * 0.9), 0.9, 1.0, 1.0])
    assert found.measured.tolist() == [True, False, False, False, False]


def test_the_gradient_of_a_step_that_was_run_is_the_measured_one(runs_model: Model, runs_campaign: Campaign) -> None:
    settings, _ = run_settings([runs_campaign])
    measured_s = settings[settings["subbatch_size"] == 4].groupby("cnn")["compute_gradient_s"].mean()
    for name, expected_s in measured_s.items():
        found_s = predicted(runs_model, runs_campaign, str(name)).gpu_breakdown_s["compute_gradient"]
        assert found_s == pytest.approx(expected_s)


def test_left_out_networks_are_within_the_interval_of_most(runs_model: Model) -> None:
    runs = runs_model.runs
    assert runs is not None
    assert set(runs.residuals["cnn"]) == set(runs_model.cnns)
    for output, most in (("epoch_s", 0.06), ("update_iteration_s", 0.025), ("mean_minibatch_size", 0.07)):
        errors = runs.residuals[output].abs()
        assert errors.groupby(runs.residuals["cnn"]).mean().mean() < most
        half = half_widths(runs.residuals, output, AskedRuns.of(runs.residuals), 0.95, runs_model.score.step_residuals("learnt"))
        assert (errors <= half).mean() >= 0.9


def test_a_step_that_was_run_has_the_errors_of_settings_left_out(runs_model: Model) -> None:
    """T_GPU of the very step is known to a fraction of what it is for a network that nobody ran; another sub-batch is not."""
    runs, steps = runs_model.runs, runs_model.score.step_residuals("learnt")
    assert runs is not None
    known = runs.steps[["cnn", "n_params", "subbatch_size"]].head(1).assign(n_nodes=2)
    asked = pd.concat([known, known.assign(cnn="another"), known.assign(subbatch_size=1000)])
    own, *others = runs.half_width("gpu_iteration_s", asked, 0.95, steps, "learnt")
    assert others[0] == others[1] > 3.0 * own
    errors = runs.setting_residuals["gpu_iteration_s"].abs()
    assert (errors <= own).mean() >= 0.9


def test_beyond_the_nodes_that_were_run_open_forms_and_left_out_errors_add_up(runs_model: Model, runs_campaign: Campaign) -> None:
    """The runs are on one and two nodes: on four the ends of the interval lie beyond a ring and a tree, by errors of settings."""
    few = replace(
        runs_campaign, **{name: runs_campaign.table(name)[lambda rows: rows["n_nodes"] <= 2] for name in ("components", "runs")}
    )
    model = mlperf.train(few, scored=False)
    assert model.runs.beyond_nodes(np.array([1, 2, 3])).tolist() == [False, False, True]
    found = predicted(model, runs_campaign, "cnn14")
    mean, run = (each["update_iteration_s"] for each in (found.confidence_interval, found.prediction_interval))
    assert (run.upper / run.lower)[-1] > 1.25
    assert run.lower[-1] < mean.lower[-1] < found.update_iteration_s[-1] < mean.upper[-1] < run.upper[-1]
    whole = predicted(runs_model, runs_campaign, "cnn14").update_iteration_s[-1]
    assert run.lower[-1] < whole < run.upper[-1]


def test_a_stored_model_predicts_bit_equal(runs_model: Model, runs_campaign: Campaign, tmp_path: Path) -> None:
    mlperf.save_model(runs_model, tmp_path / "runs.json")
    again = mlperf.load_model(tmp_path / "runs.json")
    first, second = (predicted(each, runs_campaign, "cnn14") for each in (runs_model, again))
    assert first.epoch_s.tolist() == second.epoch_s.tolist()
    assert first.prediction_interval["epoch_s"].lower.tolist() == second.prediction_interval["epoch_s"].lower.tolist()


def test_a_network_that_was_left_out_was_not_looked_at(runs_model: Model, runs_campaign: Campaign) -> None:
    without = mlperf.train(runs_campaign, leave_out=["cnn14", "cnn31"], scored=False)
    assert "cnn14" not in without.cnns
    assert "cnn14" not in set(without.runs.residuals["cnn"])
    one, other = predicted(runs_model, runs_campaign, "cnn14"), predicted(without, runs_campaign, "cnn14")
    assert one.epoch_s.tolist() != other.epoch_s.tolist()
    assert other.epoch_s == pytest.approx(one.epoch_s, rel=0.15)


def test_one_network_trains_with_a_wide_interval_rather_than_a_refusal(runs_model: Model, runs_campaign: Campaign) -> None:
    others = [name for name in runs_campaign.cnns if name != "cnn31"]
    lone = mlperf.train(runs_campaign, leave_out=others)
    assert lone.runs.residuals.empty
    asked = pd.DataFrame({"cnn": ["cnn03"], "n_params": 1e6, "subbatch_size": 4, "n_nodes": 2})
    assert np.isnan(lone.runs.half_width("epoch_s", asked, 0.95, lone.score.step_residuals("learnt"), "learnt")).all()
    of_all, of_one = (predicted(each, runs_campaign, "cnn03") for each in (runs_model, lone))
    wide, narrow = (each.prediction_interval["epoch_s"] for each in (of_one, of_all))
    assert (wide.upper / wide.lower > narrow.upper / narrow.lower).all()
    assert (wide.lower <= of_all.epoch_s).all()
    assert (of_all.epoch_s <= wide.upper).all()


def test_components_alone_train_without_outputs_and_details(runs_campaign: Campaign) -> None:
    bare = mlperf.train(replace(runs_campaign, runs=None, details=None), leave_out=["cnn14", "cnn18", "cnn31"])
    assert bare.runs.residuals.empty
    assert np.isfinite(predicted(bare, runs_campaign, "cnn00").update_iteration_s).all()
