"""Static characteristics of many sub-batches of one network: the cache model at some, straight lines between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.progress import tracked

EXACT_UP_TO = 8
CALL_KEYS = ["cnn", "subbatch_size", "kernel", "layer"]


def knots_around(subbatch_sizes: IntArray) -> tuple[IntArray, IntArray]:
    """Sub-batches at which the cache model is worked out, next below and above each of ``subbatch_sizes`` (equal at a knot).

    Every sub-batch up to 8, powers of two and the middles between them: what misses a cache grows with the samples by straight
    pieces.
    """
    sizes = np.asarray(subbatch_sizes, int)
    powers = 2 ** np.arange(int(sizes.max(initial=1)).bit_length() + 1)
    knots = np.unique(np.concatenate([np.arange(1, EXACT_UP_TO + 1), powers, 3 * powers[:-1]]))
    upper = np.searchsorted(knots, sizes)
    lower = np.where(knots[upper] == sizes, upper, upper - 1)
    return knots[lower], knots[upper]


def columns_between(exact: Callable[[int], pd.DataFrame], subbatch_sizes: Sequence[int]) -> pd.DataFrame:
    """Columns of every kernel call at several sub-batches of one network.

    Parameters
    ----------
    exact : callable
        Table at one sub-batch: ``cnn, subbatch_size, kernel, layer`` and numbers, calls in the same order at each.
    subbatch_sizes : sequence of int
        Each at least 1.

    Returns
    -------
    DataFrame
        The tables one below the other, in the order of ``subbatch_sizes``.
    """
    sizes = np.asarray(subbatch_sizes, int)
    lower, upper = knots_around(sizes)
    knots = np.union1d(lower, upper)
    tables = [exact(int(knot)) for knot in tracked(knots, "sub-batches described")]
    calls = tables[0][CALL_KEYS]
    names = tables[0].columns.difference(CALL_KEYS, sort=False)
    at_knots = np.array([table[names].to_numpy(float) for table in tables])
    share = ((sizes - lower) / np.maximum(upper - lower, 1))[:, None, None]
    between = (1.0 - share) * at_knots[np.searchsorted(knots, lower)] + share * at_knots[np.searchsorted(knots, upper)]
    keys = calls.iloc[np.tile(np.arange(len(calls)), len(sizes))].reset_index(drop=True)
    return keys.assign(subbatch_size=np.repeat(sizes, len(calls))).join(
        pd.DataFrame(between.reshape(-1, len(names)), columns=names)
    )
