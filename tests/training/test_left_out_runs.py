"""Runs left out and predicted: nothing of them is looked at, and costs that follow a law leave no error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from mlperf.datasets import read_campaign
from mlperf.systems.sprint.outputs import OUTPUTS
from mlperf.training.components.run_settings import CONFIG, run_outputs, run_settings
from mlperf.training.left_out_runs import LeftOutRuns, measured_steps

pytestmark = pytest.mark.slow

CACHES = {"L3": 2**25}


def steps_as_told(train: pd.DataFrame, test: pd.DataFrame) -> np.ndarray:
    """The truth, as if a perfect model of steps had said it: errors are those of the other components."""
    assert not set(train["cnn"]) & set(test["cnn"])
    return test["compute_gradient_s"].to_numpy(float)


@pytest.fixture(scope="module")
def chain() -> LeftOutRuns:
    campaign = read_campaign("asgd-networks")
    settings, cnns = run_settings([campaign])
    return LeftOutRuns(settings, run_outputs([campaign]), cnns, CACHES, steps_as_told)


@pytest.fixture(scope="module")
def networks(chain: LeftOutRuns) -> pd.DataFrame:
    """Errors of networks left out."""
    return chain.of_networks()


@pytest.fixture(scope="module")
def settings(chain: LeftOutRuns) -> pd.DataFrame:
    """Errors of settings left out."""
    return chain.of_settings()


def test_every_run_of_every_network_is_left_out_once(chain: LeftOutRuns, networks: pd.DataFrame) -> None:
    found = networks
    assert len(found) == len(chain.runs)
    assert found["cnn"].value_counts().to_dict() == chain.runs["cnn"].value_counts().to_dict()
    sizes = {name: chain.cnns[name].n_params for name in found["cnn"].unique()}
    beyond = set(found.loc[found["outside"] > 0.0, "cnn"])
    assert beyond == {min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)}


def test_settings_whose_step_was_measured_are_nearer_than_networks_nobody_ran(
    chain: LeftOutRuns, settings: pd.DataFrame, networks: pd.DataFrame
) -> None:
    steps = measured_steps(chain.settings).set_index(["cnn", "subbatch_size"])
    assert len(settings) <= len(chain.runs)
    assert (settings["outside"] == 0.0).all()
    assert steps.index.is_unique
    for output in OUTPUTS:
        assert settings[output].abs().mean() < 1.5 * networks[output].abs().mean(), output
    assert settings["update_iteration_s"].abs().mean() < 0.02


def test_what_is_left_out_is_not_looked_at(chain: LeftOutRuns, settings: pd.DataFrame) -> None:
    """Other runs of a setting move its errors by themselves alone: twice the time is log 2 more."""
    twice = chain.runs.assign(**{name: 2.0 * chain.runs[name] for name in OUTPUTS})
    second = replace(chain, runs=twice).of_settings()
    for output in OUTPUTS:
        np.testing.assert_allclose(second[output] - settings[output], np.log(2.0))


def test_a_setting_of_a_step_that_no_other_has_says_nothing(chain: LeftOutRuns) -> None:
    alone = chain.settings.groupby("cnn").head(1).reset_index(drop=True)
    assert replace(chain, settings=alone, runs=chain.runs.merge(alone[CONFIG], on=CONFIG)).of_settings().empty


def test_two_networks_are_too_few_to_leave_one_out(chain: LeftOutRuns) -> None:
    two = chain.settings[chain.settings["cnn"].isin(chain.settings["cnn"].unique()[:2])]
    assert replace(chain, settings=two).of_networks().empty
