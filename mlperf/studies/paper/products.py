"""Figures 4 and 6: times of matrix products over their sizes, and how well a local model and one global model predict them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.features.network.sgemm import GLOBAL_TERMS
from mlperf.models import GridLocal, StepwiseOLS
from mlperf.training.gradient.gradient_data import CLOCK

KEYS = ["trans", "m", "n", "k"]
PREFERRED = "NN"
# The plane is drawn at the largest inner length that has nearly as many measured sizes as any: long times are exact times.
NEARLY = 0.9


def product_times(sgemm: pd.DataFrame, purpose: str) -> pd.DataFrame:
    """One row a size: ``trans, m, n, k, time_s`` (median over repeats), ``min_s``, ``max_s``, ``n_repeats``."""
    rows = sgemm[sgemm["purpose"] == purpose]
    times = rows.groupby(KEYS, sort=True, observed=True)[CLOCK]
    return times.agg(time_s="median", min_s="min", max_s="max", n_repeats="size").reset_index()


def product_plane(sgemm: pd.DataFrame) -> pd.DataFrame:
    """Measured times over m and n at one inner length k (figure 4).

    Returns
    -------
    DataFrame
        `product_times` of the grid at one k and one pair of flags (NN where it was measured), and ``flop_per_s``, 2 m n k / time.
    """
    nodes = product_times(sgemm, "grid")
    if nodes.empty:
        raise DataError("got no product of purpose grid", place="sgemm.csv", hint="mlperf collect sgemm measures a grid.")
    pairs = sorted(nodes["trans"].unique(), key=lambda pair: (pair != PREFERRED, pair))
    of_pair = nodes[nodes["trans"] == pairs[0]]
    counts = of_pair.groupby("k").size()
    plane: pd.DataFrame = of_pair[of_pair["k"] == counts[counts >= NEARLY * counts.max()].index.max()].reset_index(drop=True)
    return plane.assign(flop_per_s=2.0 * plane["m"] * plane["n"] * plane["k"] / plane["time_s"])


def product_errors(sgemm: pd.DataFrame, local: GridLocal) -> pd.DataFrame:
    """Predictions of products between the nodes of the grid (figure 6).

    Returns
    -------
    DataFrame
        `product_times` of the validation points with ``local_s`` (eight surrounding nodes, eq. 6), ``global_s`` (the same terms
        through all nodes, weights 1/t**2), seconds, and ``local_error``, ``global_error``: predicted / measured - 1.

    Raises
    ------
    DataError
        No validation points were measured.
    """
    tests = product_times(sgemm, "validation")
    if tests.empty:
        raise DataError("got no product of purpose validation", place="sgemm.csv", hint="mlperf collect sgemm measures some.")
    nodes = product_times(sgemm, "grid")
    parts = []
    for pair, points in tests.groupby("trans", sort=True, observed=True):
        fitted = StepwiseOLS(terms=GLOBAL_TERMS, lower=GLOBAL_TERMS, noise="relative", report="none")
        own = nodes[nodes["trans"] == pair]
        fitted.fit(own[["m", "n", "k"]], own["time_s"])
        local_s = local.predict(points["m"], points["n"], points["k"], points["trans"])
        parts.append(points.assign(local_s=local_s, global_s=np.asarray(fitted.predict(points[["m", "n", "k"]]))))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(
        local_error=table["local_s"] / table["time_s"] - 1.0, global_error=table["global_s"] / table["time_s"] - 1.0
    )
