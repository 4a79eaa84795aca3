"""The constraints between two clocks that can matter when clocks drift: corners of a convex hull."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.jit import jit
from mlperf.traces.clocks.constraints import Constraints


def binding(found: Constraints, n_clocks: int) -> IntArray:
    """Rows of the constraints on the lower hull of (moment, bound) of each directed pair of clocks.

    A difference of offsets that changes in proportion to time lies below every bound as soon as it lies below those of the hull.
    Both moments of a constraint are taken as one here, which drops rows at most; what is kept is kept as it is, so that bounds
    from it are never too narrow.
    """
    pair = found.earlier * n_clocks + found.later
    order = np.lexsort((found.bound_ns, found.earlier_ns, pair))
    if not len(order):
        return order
    return order[_lower_hulls(pair[order], found.earlier_ns[order].astype(float), found.bound_ns[order].astype(float))]


@jit
def _lower_hulls(pair: IntArray, x: FloatArray, y: FloatArray) -> IntArray:
    """Corners of the lower hull of each run of equal ``pair``, in order; rows are sorted by pair, then by x, then by y."""
    kept = np.empty(len(pair), dtype=np.int64)
    n_kept, begin = 0, 0
    for row in range(len(pair)):
        if row == 0 or pair[row] != pair[row - 1]:
            begin = n_kept
        elif x[row] == x[row - 1]:
            continue
        while n_kept - begin > 1:
            last, before = kept[n_kept - 1], kept[n_kept - 2]
            if (y[last] - y[before]) * (x[row] - x[before]) < (y[row] - y[before]) * (x[last] - x[before]):
                break
            n_kept -= 1
        kept[n_kept] = row
        n_kept += 1
    return kept[:n_kept]
