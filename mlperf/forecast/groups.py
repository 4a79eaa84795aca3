"""Performance groups a horizon ahead: forecasts put into bins, and a classifier that learns online, compared with persistence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.models.estimators.learning.groups import group_edges, group_of, group_scores
from mlperf.models.online.forecaster import Forecast

FIRST_SHARE = 0.25
"""Part of a stream whose quantiles are the edges; it is not scored."""
CLASSIFIER = "sgd_classifier"
MAJORITY = "majority"
SCORES = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "kappa", "within_one")


def group_table(
    levels: Sequence[float],
    terms: Sequence[FloatArray],
    forecasts: Sequence[Forecast],
    names: Sequence[str],
    horizon_steps: int,
    n_groups: int = 4,
) -> pd.DataFrame:
    """How well the group ``horizon_steps`` samples ahead is known.

    Parameters
    ----------
    levels : sequence of float, length n_samples
        Log performance.
    terms : sequence of array
        What was known with each.
    forecasts : sequence of Forecast
        Made at each.
    names : sequence of str
        Of the forecasters in ``Forecast.each``.
    horizon_steps : int
        Samples ahead.
    n_groups : int
        Groups of equal size in the first quarter of the stream, whose quantiles stay the edges.

    Returns
    -------
    DataFrame
        One row a forecaster, a classifier that learns online, and the most frequent group: accuracy, balanced accuracy, macro-F1,
        Matthews correlation, quadratic-weighted kappa, share within one group; empty where the first quarter holds fewer
        distinct values than groups.
    """
    observed = np.asarray(levels)
    first = max(horizon_steps, int(FIRST_SHARE * len(observed)))
    if len(observed) <= first or len(np.unique(observed[:first])) < n_groups:
        return pd.DataFrame()
    edges = np.log(group_edges(np.exp(observed[:first]), n_groups))
    groups = group_of(observed, edges)
    made = np.array([[forecast.hedged, *forecast.each] for forecast in forecasts])
    guesses = {name: group_of(made[:, index], edges) for index, name in enumerate(("hedge", *names))}
    guesses[CLASSIFIER] = classified(terms, groups, horizon_steps, n_groups)
    guesses[MAJORITY] = np.full(len(groups), np.bincount(groups[:first]).argmax())
    rows = []
    for name, guess in guesses.items():
        found = group_scores(guess[first - horizon_steps : len(groups) - horizon_steps], groups[first:], n_groups)
        rows.append({"forecast": name, **{score: getattr(found, score) for score in SCORES}})
    return pd.DataFrame(rows)


def classified(terms: Sequence[FloatArray], groups: IntArray, horizon_steps: int, n_groups: int) -> IntArray:
    """Group forecast at each sample ``horizon_steps`` ahead by a logistic classifier that learns each outcome when it is known."""
    learner = logistic()
    indicators = np.eye(n_groups)
    said = np.empty(len(groups), dtype=np.int64)
    rows: list[FloatArray] = []
    for step, group in enumerate(groups):
        rows.append(np.concatenate([indicators[group], terms[step]]))
        if step >= horizon_steps:
            learner.partial_fit(rows[step - horizon_steps][None], [group], classes=np.arange(n_groups))
        said[step] = learner.predict(rows[step][None])[0] if step >= horizon_steps else group
    return said


def logistic() -> Any:
    """Logistic regression by stochastic gradient descent with a constant step, which does not stop following."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.1, random_state=0)
