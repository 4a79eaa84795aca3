"""Performance groups against scikit-learn's metrics and classifiers on separable data."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from mlperf.core.errors import FitError, UsageError
from mlperf.models.estimators.learning.groups import (
    CLASSIFIERS,
    group_edges,
    group_of,
    group_scores,
    make_classifier,
)


@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 300)
    guess = np.clip(truth + rng.integers(-1, 2, 300) * (rng.random(300) < 0.4), 0, 3)
    scores = group_scores(guess, truth, 4)
    assert scores.accuracy == pytest.approx(metrics.accuracy_score(truth, guess))
    assert scores.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(truth, guess))
    assert scores.macro_f1 == pytest.approx(metrics.f1_score(truth, guess, average="macro"))
    assert scores.mcc == pytest.approx(metrics.matthews_corrcoef(truth, guess))
    assert scores.kappa == pytest.approx(metrics.cohen_kappa_score(truth, guess, weights="quadratic"))
    assert scores.within_one == 1.0
    assert np.array_equal(scores.confusion, metrics.confusion_matrix(truth, guess))


def test_edges_by_quantile_kmeans_and_by_hand() -> None:
    times = np.concatenate([np.random.default_rng(0).lognormal(centre, 0.05, 200) for centre in (0.0, 3.0, 4.0)])
    assert np.bincount(group_of(times, group_edges(times, 4))).tolist() == [150, 150, 150, 150]
    edges = group_edges(times, 3, "kmeans")
    assert np.bincount(group_of(times, edges)).tolist() == [200, 200, 200]
    np.testing.assert_allclose(np.log(edges), [1.5, 3.5], atol=0.05)
    assert group_of([1.0, 2.0, 3.0], group_edges(times, method=[2.0])).tolist() == [0, 1, 1]
    with pytest.raises(UsageError, match="rising"):
        group_edges(times, method=[2.0, 1.0])
    with pytest.raises(FitError, match="distinct"):
        group_edges([1.0, 1.0, 2.0], 3)


@pytest.mark.parametrize("kind", sorted(CLASSIFIERS))
def test_classifiers_find_groups(kind: str) -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(0, 4, (400, 2))
    y = group_of(np.exp(X[:, 0]), np.exp([1.0, 2.0, 3.0]))
    assert group_scores(make_classifier(kind).fit(X[:300], y[:300]).predict(X[300:]), y[300:], 4).accuracy > 0.85
    with pytest.raises(UsageError, match="'deep'"):
        make_classifier("deep")
