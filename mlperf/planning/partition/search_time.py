"""How long a search among configurations takes, by the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.core.errors import DataError


def expected_search_time(
    epoch_s: FloatArray | Sequence[float], accepted: BoolArray | Sequence[bool], order: Sequence[int] | None = None
) -> float:
    """Mean time until the first accepted configuration has run, its own time included.

    Parameters
    ----------
    epoch_s : array, shape (n_configs,)
        Time of a trial of each configuration; the result has the same unit.
    accepted : array of bool, shape (n_configs,)
        Whether its outcome, such as its accuracy, is good enough.
    order : sequence of int, optional
        The order of trials; by default random, where each rejected configuration comes before all of k accepted ones with
        probability 1 / (k + 1).

    Raises
    ------
    DataError
        Nothing is accepted, or the order is no permutation.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), the study of 66 configurations.
    """
    times, good = np.asarray(epoch_s, dtype=np.float64), np.asarray(accepted, dtype=bool)
    if times.shape != good.shape or not good.any():
        raise DataError(f"got {int(good.sum())} accepted of {times.size} times, expected at least one", place="search time")
    if order is None:
        return float(times[~good].sum() / (good.sum() + 1.0) + times[good].mean())
    if sorted(order) != list(range(times.size)):
        raise DataError(f"got an order of {len(order)}, expected each of {times.size} configurations once", place="search time")
    tried = np.asarray(order)
    first = int(np.argmax(good[tried]))
    return float(times[tried[: first + 1]].sum())
