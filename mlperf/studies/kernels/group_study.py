"""Performance groups: two ways of predicting them, beside the majority and the repeatability ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.shown import Shown
from mlperf.models.estimators.learning.groups import GroupScores, group_edges, group_of, group_scores, make_classifier
from mlperf.models.validation.folds import Fold

SCORES = ("accuracy", "balanced_accuracy", "macro_f1", "mcc", "kappa", "within_one")


@dataclass(frozen=True, slots=True, eq=False)
class GroupScore(Shown):
    """How well one method tells performance groups of left-out rows.

    Attributes
    ----------
    features, method, way : str
        Feature set; learner; ``"classify"`` or ``"bin the regression"``.
    scores : GroupScores
        Against measured groups; edges are those of each fold's training rows.
    majority : float
        Accuracy of always saying the training rows' largest group.
    """

    features: str
    method: str
    way: str
    scores: GroupScores
    majority: float

    def row(self) -> dict[str, Any]:
        """One line of a table."""
        named = {name: getattr(self.scores, name) for name in SCORES}
        return {"features": self.features, "learner": self.method, "way": self.way} | named | {"majority": self.majority}


def classified(
    kind: str,
    X: pd.DataFrame,
    time_s: FloatArray,
    folds: Sequence[Fold],
    *,
    n_groups: int = 4,
    edges: str | Sequence[float] = "quantile",
    seed: int = 0,
) -> tuple[GroupScores, float]:
    """Classify left-out rows.

    Parameters
    ----------
    kind : str
        As `make_classifier`.
    X : DataFrame, shape (n_rows, n_columns)
    time_s : array, shape (n_rows,)
    folds : sequence of Fold
    n_groups : int
        Ignored where edges are given.
    edges : {"quantile", "kmeans"} or sequence of float
        How groups are cut; always on the training rows.
    seed : int
        Of the classifier.

    Returns
    -------
    tuple
        Scores, and the accuracy of the training rows' largest group.
    """

    def answer(fold: Fold, cuts: FloatArray) -> IntArray:
        labels = group_of(time_s[fold.train], cuts)
        model = make_classifier(kind, seed).fit(X.iloc[fold.train], labels)
        return np.asarray(model.predict(X.iloc[fold.test]), dtype=np.int64)

    return over_folds(answer, time_s, folds, n_groups, edges)


def binned(
    predicted_s: FloatArray,
    time_s: FloatArray,
    folds: Sequence[Fold],
    *,
    n_groups: int = 4,
    edges: str | Sequence[float] = "quantile",
) -> tuple[GroupScores, float]:
    """Groups from left-out predictions of a regression; parameters as `classified`."""
    return over_folds(lambda fold, cuts: group_of(predicted_s[fold.test], cuts), time_s, folds, n_groups, edges)


def over_folds(
    answer: Callable[[Fold, FloatArray], IntArray],
    time_s: FloatArray,
    folds: Sequence[Fold],
    n_groups: int,
    edges: str | Sequence[float],
) -> tuple[GroupScores, float]:
    """Scores of ``answer(fold, edges)`` over all folds, and the accuracy of the majority."""
    guessed, measured, common, n_labels = [], [], 0, n_groups
    for fold in folds:
        cuts = group_edges(time_s[fold.train], n_groups, edges)
        n_labels = len(cuts) + 1
        truth = group_of(time_s[fold.test], cuts)
        guessed.append(answer(fold, cuts))
        measured.append(truth)
        common += int(np.sum(truth == np.bincount(group_of(time_s[fold.train], cuts)).argmax()))
    labels = np.concatenate(measured)
    return group_scores(np.concatenate(guessed), labels, n_labels), common / len(labels)
