"""Whether epochs to a target can be told of a number of nodes that was not fitted: until they can, the answer is experimental."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import FitError
from mlperf.core.json_fields import Fields, frame_from_dict
from mlperf.core.shown import Shown
from mlperf.models import CensoredNormal
from mlperf.models.validation.folds import Fold, grouped_folds, leave_one_group_out
from mlperf.models.validation.left_out import left_out
from mlperf.models.validation.scores import relative_errors
from mlperf.training.fits.left_out import LEAST_GROUPS, MOST_FOLDS, LeftOutError

LIMIT = 1.5
"""Largest error factor on left-out node counts of a model that is not experimental."""
CENSORED = "censored"
LEAST_RUNS = 2


@dataclass(frozen=True, slots=True, eq=False)
class NodeJudgement(Shown):
    """Errors of epochs on node counts that were left out one at a time, terms chosen without them.

    Attributes
    ----------
    by_nodes : DataFrame
        One row a node count: ``n_nodes``, ``n_runs``, ``n_censored``, ``factor`` (exp of the mean absolute logarithm of predicted
        over measured epochs), ``largest`` (of one run), ``outside_share`` (of runs outside the domain of the others).
    """

    by_nodes: pd.DataFrame

    @property
    def factor(self) -> float:
        """The factor of the worst node count."""
        return float(self.by_nodes["factor"].max())

    @property
    def holds(self) -> bool:
        """Whether every node count is told within `LIMIT`."""
        return self.factor <= LIMIT

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], path: str = "$") -> NodeJudgement:
        """The judgement that `mlperf.core.shown.plain` wrote; DataError with the JSON path otherwise."""
        with Fields(document, path) as fields:
            return cls(frame_from_dict(fields.raw("by_nodes"), f"{path}.by_nodes"))


@dataclass(frozen=True, slots=True)
class CensoredEpochs:
    """An unfitted model of log epochs whose rows say in ``censored`` which epochs are only a lower bound.

    ``terms`` are candidates over ``columns``.
    """

    terms: tuple[str, ...]
    columns: tuple[str, ...]

    def fit(self, X: pd.DataFrame, y: FloatArray) -> CensoredNormal:
        """Fit log epochs ``y``, shape (n_rows,), on rows ``X`` with the columns and ``censored``."""
        if len(X) < LEAST_RUNS:
            raise FitError(f"got {len(X)} run, expected at least {LEAST_RUNS}")
        return CensoredNormal(list(self.terms)).fit(X[list(self.columns)], y, X[CENSORED].to_numpy(bool))


def judge_node_counts(make: CensoredEpochs, rows: pd.DataFrame, logs: FloatArray) -> NodeJudgement | None:
    """Leave every node count out in turn; None with a single one, or where the others do not suffice for a fit.

    Parameters
    ----------
    make : CensoredEpochs
    rows : DataFrame
        The columns of ``make``, ``censored`` and ``n_nodes``, shape (n_rows, ...).
    logs : array, shape (n_rows,)
        Log epochs, of censored rows their lower bound.
    """
    if "n_nodes" not in rows or rows["n_nodes"].nunique() < 2:
        return None
    nodes, censored = rows["n_nodes"].to_numpy(int), rows[CENSORED].to_numpy(bool)
    try:
        found = left_out(lambda: make, rows, logs, nodes, leave_one_group_out(nodes))
    except FitError:
        return None
    errors = log_errors(found.predicted, logs, censored)
    parts = []
    for count in np.unique(nodes):
        own = nodes == count
        parts.append(
            {
                "n_nodes": int(count),
                "n_runs": int(own.sum()),
                "n_censored": int(censored[own].sum()),
                "factor": float(np.exp(errors[own].mean())),
                "largest": float(np.exp(errors[own].max())),
                "outside_share": float(1.0 - found.in_domain[own].mean()),
            }
        )
    return NodeJudgement(pd.DataFrame(parts))


def log_errors(predicted: FloatArray, logs: FloatArray, censored: BoolArray) -> FloatArray:
    """Absolute errors of log epochs, shape (n_rows,); of a censored run only what its lower bound proves."""
    return np.asarray(np.where(censored, np.maximum(logs - predicted, 0.0), np.abs(logs - predicted)))


def left_out_settings(
    make: CensoredEpochs, rows: pd.DataFrame, logs: FloatArray, groups: ArrayLike, seed: int
) -> LeftOutError | None:
    """Errors of runs that reached the target, their settings left out in folds; None with fewer than three settings."""
    labels, censored = np.asarray(groups).astype(str), rows[CENSORED].to_numpy(bool)
    n_groups = len(np.unique(labels))
    if n_groups < LEAST_GROUPS:
        return None
    folds: list[Fold] = grouped_folds(labels, min(MOST_FOLDS, n_groups), seed)
    # A setting is what is left out; two of them may have the same mini-batch and staleness.
    found = left_out(lambda: make, rows, logs, labels, folds, equal_rows=True)
    errors = relative_errors(np.exp(found.predicted[~censored]), np.exp(logs[~censored]))
    return LeftOutError(errors, float(1.0 - found.in_domain.mean()))
