"""Figure 5: times of memory-bound kernels over what they move, with the straight line of the paper."""

from __future__ import annotations

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.features.network.kernels import PAPER_MEMORY_TERMS
from mlperf.models import StepwiseOLS
from mlperf.training.gradient.gradient_data import CALL_KEYS, CLOCK

# The paper draws a random 5 % of its points. Most calls are small: a few of each stretch of sizes show the whole line.
N_STRETCHES, MOST_OF_STRETCH = 20, 4
LEAST_POINTS = 3


def kernel_lines(kernels: pd.DataFrame, backend: str, seed: int = 0) -> pd.DataFrame:
    """Some random calls of every memory-bound kernel from all over its sizes, with the line through all calls.

    Parameters
    ----------
    kernels : DataFrame
        ``kernels.csv``.
    backend : str
        Whose rows.
    seed : int
        Of the choice of points.

    Returns
    -------
    DataFrame
        One row a call drawn: ``kernel, cnn, subbatch_size, layer, access_bytes``, ``relative_access`` (to the kernel's largest,
        ``largest_bytes``), ``time_s``, ``min_s``, ``max_s`` (median, ends over rounds), ``line_s`` (least squares in
        ``access_bytes`` through all ``n_calls`` calls), ``r2_adj``.

    Raises
    ------
    DataError
        The backend has no kernel with ``access_bytes``.

    References
    ----------
    Oyama et al. (SPRINT), eq. 5.
    """
    rows = kernels[(kernels["backend"] == backend) & (kernels["access_bytes"] > 0) & (kernels[CLOCK] > 0)]
    calls = (
        rows.groupby([*CALL_KEYS, "access_bytes"], sort=True)[CLOCK].agg(time_s="median", min_s="min", max_s="max").reset_index()
    )
    rng = np.random.default_rng(seed)
    parts = [
        with_line(part, rng) for _, part in calls.groupby("kernel", sort=True) if part["access_bytes"].nunique() >= LEAST_POINTS
    ]
    if not parts:
        raise DataError(f"got no memory-bound kernel of backend {backend!r} at three sizes", place="kernels.csv")
    return pd.concat(parts, ignore_index=True)


def with_line(calls: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Fit one kernel on all its calls and keep some of every stretch of sizes."""
    fitted = StepwiseOLS(terms=PAPER_MEMORY_TERMS, lower=PAPER_MEMORY_TERMS, noise="absolute", report="none")
    fitted.fit(calls[["access_bytes"]], calls["time_s"])
    largest = calls["access_bytes"].max()
    table = calls.assign(
        relative_access=calls["access_bytes"] / largest,
        largest_bytes=largest,
        line_s=np.asarray(fitted.predict(calls[["access_bytes"]])),
        n_calls=len(calls),
        r2_adj=float(fitted.report_.r2_adj),
    )
    shuffled = table.iloc[rng.permutation(len(table))]
    stretch = np.minimum((N_STRETCHES * shuffled["relative_access"].to_numpy(float)).astype(int), N_STRETCHES - 1)
    return shuffled.groupby(stretch).head(MOST_OF_STRETCH).sort_index()
