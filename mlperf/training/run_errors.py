"""How far runs that were left out went astray, and how wide that makes the interval of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.systems.sprint.outputs import OUTPUTS

UPDATE, GPU, MINIBATCH = "update_iteration_s", "gpu_iteration_s", "mean_minibatch_size"
SUBBATCH, OUTSIDE = "subbatch_size", "outside"
COLUMNS = ["cnn", "n_nodes", SUBBATCH, OUTSIDE, *OUTPUTS]
LEAST_COMPARABLE = 2
"""Networks that an interval rests on at least."""


def no_errors() -> pd.DataFrame:
    """The table of nothing left out."""
    return pd.DataFrame(columns=COLUMNS)


def outside_by(n_params: FloatArray, others: FloatArray) -> FloatArray:
    """How far lengths lie outside those of other networks, as a logarithm; 0 between them.

    Parameters
    ----------
    n_params : array, shape (n_asked,)
    others : array, shape (n_networks,)
        At least one.

    Returns
    -------
    array, shape (n_asked,)
    """
    asked = np.log(np.asarray(n_params, float))
    return np.asarray(np.maximum(0.0, np.maximum(np.log(others.min()) - asked, asked - np.log(others.max()))))


@dataclass(frozen=True, slots=True, eq=False)
class AskedRuns:
    """Runs whose intervals are asked for; arrays of shape (n_configs,).

    Attributes
    ----------
    n_nodes : array of int
    outside : array
        How far each network's length lies outside those that were run (see `outside_by`).
    """

    n_nodes: IntArray
    outside: FloatArray

    @classmethod
    def of(cls, errors: pd.DataFrame) -> AskedRuns:
        """The runs that were left out, as if they were asked about."""
        outside = errors[OUTSIDE].to_numpy(float) if OUTSIDE in errors else np.zeros(len(errors))
        return cls(errors["n_nodes"].to_numpy(int), outside)

    def take(self, rows: IntArray) -> AskedRuns:
        """Some of them."""
        return AskedRuns(self.n_nodes[rows], self.outside[rows])


def half_widths(errors: pd.DataFrame, output: str, asked: AskedRuns, level: float, steps: pd.DataFrame) -> FloatArray:
    """Half-width of the interval of an output's logarithm from runs left out, whose networks weigh alike.

    The wait for the slowest node grows with the nodes: errors of T_Update are those of runs on the nearest number of nodes, and of
    networks that were as far outside the others as the one asked about (see `comparable`): vectors longer than all others may leave
    a cache that those fit. On more nodes than were run nothing was left out: there the largest error counts.

    T_GPU is nearly all gradient, whatever the nodes: networks that were left out when kernels were fitted stand beside those of the
    runs. The mini-batch is in proportion to T_Update over T_GPU, whose errors have different causes: their squares add.

    Parameters
    ----------
    errors : DataFrame
        One row a run that was left out: ``cnn``, ``n_nodes``, ``outside`` and log(measured / predicted) of each output.
    output : str
        One of `OUTPUTS`.
    asked : AskedRuns
    level : float
        Of the interval.
    steps : DataFrame
        Left-out steps of kernels, as `mlperf.training.gradient.score.GradientScore.step_residuals` gives them; may be empty.

    Returns
    -------
    array, shape (n_configs,)
    """
    if output == MINIBATCH:
        return np.hypot(*(half_widths(errors, name, asked, level, steps) for name in (UPDATE, GPU)))
    own = errors.assign(distance=errors[output].astype(float).abs())
    if output != UPDATE:
        others = steps[~steps["cnn"].isin(own["cnn"])]
        columns = ["cnn", "distance"]
        tables = [own[columns], others.assign(distance=others["log_residual"].abs())[columns]]
        usual = quantile_of_networks(pd.concat([each for each in tables if len(each)]), level)
        return np.full(len(asked.n_nodes), usual)
    counts = np.unique(own["n_nodes"].to_numpy(float))
    nearest = counts[np.abs(np.log(np.asarray(asked.n_nodes, float)[:, None] / counts[None, :])).argmin(axis=1)]
    beyond = asked.n_nodes > counts.max()
    found = np.empty(len(asked.n_nodes))
    for place in dict.fromkeys(zip(nearest.tolist(), asked.outside.tolist(), strict=True)):
        count, outside = place
        rows = comparable(own[own["n_nodes"] == count], outside)
        here = (nearest == count) & (asked.outside == outside)
        found[here] = np.where(beyond[here], rows["distance"].max(), quantile_of_networks(rows, level))
    return found


def comparable(errors: pd.DataFrame, outside: float) -> pd.DataFrame:
    """Rows of networks that were left out no further outside the others, and of the next one further out where that is asked.

    Parameters
    ----------
    errors : DataFrame
        ``cnn``, ``outside``.
    outside : float
        Of the network asked about. Between the others, networks between others say what to expect; beyond them, the next one beyond
        it counts as well, so that no interval is narrower than what was seen further in.

    Returns
    -------
    DataFrame
        Of at least two networks, where there are two.
    """
    if OUTSIDE not in errors:
        return errors
    distances = errors.groupby("cnn")[OUTSIDE].first().sort_values(kind="stable")
    n_within = int((distances.to_numpy(float) <= outside).sum())
    kept = max(n_within + (outside > 0.0), LEAST_COMPARABLE)
    return errors[errors["cnn"].isin(distances.index[:kept])]


def quantile_of_networks(table: pd.DataFrame, level: float) -> float:
    """Quantile of ``distance`` over rows whose networks (``cnn``) weigh alike."""
    weight = 1.0 / table.groupby("cnn")["cnn"].transform("size")
    return weighted_quantile(table["distance"].to_numpy(float), weight.to_numpy(float), level)


def weighted_quantile(values: FloatArray, weights: FloatArray, level: float) -> float:
    """The smallest value at which the weights of those up to it reach ``level`` of their sum."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(reached, level - 1e-12)), len(values) - 1)])
