"""Performance groups: classes of times, and how well they are predicted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.errors import FitError, UsageError
from mlperf.core.shown import Shown

EDGES = ("quantile", "kmeans")


@dataclass(frozen=True, slots=True, eq=False)
class GroupScores(Shown):
    """How well classes are predicted.

    ``confusion`` (n_groups, n_groups) counts rows by measured (row) and predicted (column) group; the other fields are shares or
    coefficients in [-1, 1]: ``accuracy``, ``balanced_accuracy`` (mean recall), ``macro_f1``, ``mcc`` (Matthews), ``kappa``
    (quadratic weights), ``within_one`` (at most one group off).
    """

    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    mcc: float
    kappa: float
    within_one: float
    confusion: IntArray


def group_edges(time_s: ArrayLike, n_groups: int = 4, method: str | Sequence[float] = "quantile") -> FloatArray:
    """Times that separate the groups, ascending, shape (n_groups - 1,).

    Parameters
    ----------
    time_s : array-like, shape (n_rows,)
        Positive times.
    n_groups : int
        Ignored where edges are given.
    method : {"quantile", "kmeans"} or sequence of float
        Equal shares of the rows, clusters of log time (midpoints between their centres), or edges of your own.

    Raises
    ------
    FitError
        Fewer distinct times than groups.
    UsageError
        Unknown method, or given edges that do not rise.
    """
    if not isinstance(method, str):
        edges = np.asarray(method, dtype=float)
        if np.any(np.diff(edges) <= 0):
            raise UsageError(f"got edges {edges.tolist()}, expected rising ones")
        return edges
    if method not in EDGES:
        raise UsageError(f"got method {method!r}, expected one of {', '.join(EDGES)}")
    logs = np.sort(np.log(np.asarray(time_s, dtype=float)))
    if len(np.unique(logs)) < n_groups:
        raise FitError(f"got {len(np.unique(logs))} distinct times, expected at least {n_groups}")
    inner = np.arange(1, n_groups) / n_groups
    if method == "quantile":
        return np.asarray(np.exp(np.quantile(logs, inner)))
    return np.exp(_kmeans_edges(logs, np.quantile(logs, (np.arange(n_groups) + 0.5) / n_groups)))


def _kmeans_edges(logs: FloatArray, centres: FloatArray) -> FloatArray:
    """Lloyd's iteration in one dimension, from quantiles: no random start is needed."""
    edges = 0.5 * (centres[1:] + centres[:-1])
    for _ in range(200):
        label = np.searchsorted(edges, logs)
        counts = np.bincount(label, minlength=len(centres))
        sums = np.bincount(label, logs, minlength=len(centres))
        centres = np.where(counts > 0, sums / np.maximum(counts, 1), centres)
        moved = 0.5 * (centres[1:] + centres[:-1])
        if np.array_equal(moved, edges):
            break
        edges = moved
    return edges


def group_of(time_s: ArrayLike, edges: FloatArray) -> IntArray:
    """Group of each time, 0 for the fastest, shape (n_rows,)."""
    return np.asarray(np.searchsorted(edges, np.asarray(time_s, dtype=float), side="right"), dtype=np.int64)


def group_scores(predicted: ArrayLike, actual: ArrayLike, n_groups: int) -> GroupScores:
    """Compare predicted with measured groups, numbers 0 to n_groups - 1.

    References
    ----------
    Matthews (1975); Cohen (1968) for weighted kappa; Gorodkin (2004) for more than two classes.
    """
    guess, truth = np.asarray(predicted, dtype=np.int64), np.asarray(actual, dtype=np.int64)
    confusion = np.bincount(truth * n_groups + guess, minlength=n_groups**2).reshape(n_groups, n_groups)
    total, right = float(confusion.sum()), np.diag(confusion).astype(float)
    rows, columns = confusion.sum(axis=1).astype(float), confusion.sum(axis=0).astype(float)
    present = rows > 0
    recall = right[present] / rows[present]
    f1 = np.divide(2.0 * right, rows + columns, out=np.zeros(n_groups), where=rows + columns > 0)
    spread = np.sqrt((total**2 - columns @ columns) * (total**2 - rows @ rows))
    weights = np.subtract.outer(np.arange(n_groups), np.arange(n_groups)) ** 2
    by_chance = float((weights * np.outer(rows, columns)).sum()) / total
    return GroupScores(
        accuracy=float(right.sum()) / total,
        balanced_accuracy=float(recall.mean()),
        macro_f1=float(f1[(rows + columns) > 0].mean()),
        mcc=float((right.sum() * total - rows @ columns) / spread) if spread > 0 else 0.0,
        kappa=1.0 - float((weights * confusion).sum()) / by_chance if by_chance > 0 else 1.0,
        within_one=float(np.mean(np.abs(guess - truth) <= 1)),
        confusion=confusion.astype(np.int64),
    )


def _logistic(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000, random_state=seed)


def _svm(seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(C=10.0, random_state=seed)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=200, random_state=seed)


def _boosting(seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=150, early_stopping=False, random_state=seed)


CLASSIFIERS: Mapping[str, Callable[[int], Any]] = {"logistic": _logistic, "svm": _svm, "forest": _forest, "boosting": _boosting}


def make_classifier(kind: str, seed: int = 0) -> Any:
    """A scikit-learn pipeline (standard scaling, classifier) that predicts group numbers.

    Parameters
    ----------
    kind : {"logistic", "svm", "forest", "boosting"}
    seed : int

    Raises
    ------
    UsageError
        An unknown kind.
    """
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind not in CLASSIFIERS:
        raise UsageError(f"got classifier {kind!r}, expected one of {', '.join(CLASSIFIERS)}")
    return make_pipeline(StandardScaler(), CLASSIFIERS[kind](seed))
