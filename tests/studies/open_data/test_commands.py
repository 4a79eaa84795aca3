"""The judged commands are the shipped ones; shares, coverage and grounds are what they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.models.validation.folds import Fold
from mlperf.studies.open_data.commands import (
    GROUNDS,
    SUBJECTS_BY_TASK,
    TrainedTable,
    command_findings,
    one,
    operator_trials,
    score_stated,
    score_unstated,
    scored,
    share_near,
    stated_methods,
    trials_of,
)
from mlperf.studies.open_data.scoring.trial import Method, Trial

pytestmark = pytest.mark.slow

SUBJECT = "A1 V100"
N_ROWS, N_TRAINED = 90, 60


@pytest.fixture(scope="module")
def trial() -> Trial:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(2.0 ** rng.uniform(3, 9, (N_ROWS, 3)), columns=list("mnk"))
    times = np.asarray((1e-5 + 2e-11 * frame.prod(axis=1)) * np.exp(0.05 * rng.standard_normal(N_ROWS)))
    return Trial("A1", "V100", frame, times, [Fold("rest", np.arange(N_TRAINED), np.arange(N_TRAINED, N_ROWS))], 7)


@pytest.fixture(autouse=True)
def three_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that is trained here, by the study and by the command: how many there are is not what is asked."""
    monkeypatch.setattr("mlperf.training.table.train_table.FOLDS", 3)


@pytest.fixture
def ground(monkeypatch: pytest.MonkeyPatch, trial: Trial) -> None:
    from dataclasses import replace

    made = replace(GROUNDS["A1"], trials=one(lambda *_: trial))
    monkeypatch.setattr("mlperf.studies.open_data.commands.GROUNDS", {"A1": made})


def test_the_judged_predictions_are_those_of_train_and_predict(trial: Trial) -> None:
    judged = TrainedTable(["m*n*k"]).fit(trial.X, trial.y)
    model = mlperf.train(trial.X.assign(time_s=trial.y), target="time_s", terms=["m*n*k"])
    np.testing.assert_array_equal(judged.predict(trial.X), model.predict(trial.X))
    np.testing.assert_array_equal(judged.in_domain(trial.X), model.in_domain(trial.X))
    np.testing.assert_array_equal(judged.predict_interval(trial.X).upper, model.predict_interval(trial.X).upper)


def test_coverage_is_that_of_rows_in_domain(trial: Trial) -> None:
    found = scored("T1", SUBJECT, trial, Method("train", "default", lambda: TrainedTable(["m*n*k"])))
    assert (found.task, found.device, found.n_test) == ("T1", SUBJECT, N_ROWS - N_TRAINED)
    assert found.coverage >= 0.85
    assert [each.what for each in command_findings([found])] == ["MAPE", "coverage in domain", "predictions not positive"]


@pytest.mark.usefixtures("ground")
def test_both_tasks_bring_their_findings() -> None:
    stated = score_stated(SUBJECT, None)
    assert stated.findings[0].value < 0.08
    unstated = score_unstated(SUBJECT, None)
    assert unstated.findings[-1].value < 1.5
    near, largest = share_near(unstated.scores)
    assert near.value == 1.0
    assert largest.value == unstated.scores[0].mape
    assert trials_of(SUBJECT, None)[1][0].n_groups == N_ROWS


def test_every_method_with_terms_is_the_measure() -> None:
    assert next(stated_methods(["m"])).name == "--method ols --terms"


@pytest.mark.data
def test_grounds_are_devices_of_the_other_tasks(shared_data: Path) -> None:
    assert len(SUBJECTS_BY_TASK) == sum(len(ground.devices) for ground in GROUNDS.values())
    assert len(operator_trials("V100", shared_data)) == 7
