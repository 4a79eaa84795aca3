"""Groups of left-out kernels: edges from training rows, scores against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, cohen_kappa_score, matthews_corrcoef

from mlperf.models.estimators.learning.groups import group_edges, group_of
from mlperf.models.validation.folds import Fold, grouped_folds
from mlperf.studies.kernels.group_study import binned, classified


def test_binned_predictions_score_as_scikit_learn_says() -> None:
    rng = np.random.default_rng(5)
    time_s = np.exp(rng.standard_normal(300))
    predicted = time_s * np.exp(0.3 * rng.standard_normal(300))
    folds = grouped_folds(np.arange(300), 5, 0)
    guess, truth = np.zeros(300, int), np.zeros(300, int)
    for fold in folds:
        edges = np.quantile(time_s[fold.train], [0.25, 0.5, 0.75])
        guess[fold.test] = np.searchsorted(edges, predicted[fold.test], side="right")
        truth[fold.test] = np.searchsorted(edges, time_s[fold.test], side="right")
    scores, _ = binned(predicted, time_s, folds)
    assert scores.accuracy == pytest.approx(accuracy_score(truth, guess), abs=0.01)
    assert scores.kappa == pytest.approx(cohen_kappa_score(truth, guess, weights="quadratic"), abs=0.01)
    assert scores.mcc == pytest.approx(matthews_corrcoef(truth, guess), abs=0.015)


def test_a_classifier_sees_training_rows_only() -> None:
    """Labels that features do not know are guessed no better than the majority, whatever the rows left out are."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.standard_normal((400, 3)), columns=list("abc"))
    time_s = np.exp(rng.standard_normal(400))
    scores, majority = classified("logistic", X, time_s, grouped_folds(np.arange(400), 5, 0))
    assert scores.accuracy == pytest.approx(0.25, abs=0.08)
    assert majority == pytest.approx(0.25, abs=0.08)


@pytest.mark.parametrize("edges", ["quantile", "kmeans", (0.5, 1.0, 2.0)])
def test_every_way_of_cutting(edges: str | tuple[float, ...]) -> None:
    time_s = np.exp(np.random.default_rng(0).standard_normal(200))
    X = pd.DataFrame({"log": np.log(time_s)})
    scores, _ = classified("logistic", X, time_s, grouped_folds(np.arange(200), 4, 0), edges=edges)
    assert scores.accuracy > 0.9
    assert scores.confusion.sum() == 200
    assert scores.confusion.shape == (4, 4)


def test_edges_are_those_of_the_training_rows() -> None:
    """One fold whose left-out rows are all slow: by edges of the training rows they are all of the last group."""
    time_s = np.concatenate([np.linspace(1.0, 2.0, 40), np.linspace(10.0, 20.0, 10)])
    fold = Fold("slow", np.arange(40), np.arange(40, 50))
    scores, _ = binned(time_s, time_s, [fold])
    assert scores.confusion[3, 3] == 10
    assert set(group_of(time_s[40:], group_edges(time_s[:40]))) == {3}
