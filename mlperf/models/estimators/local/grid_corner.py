"""The time of a product whose cell has an unmeasured corner and no larger complete cell around it."""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree

from mlperf.core.arrays import FloatArray
from mlperf.models.estimators.local.grid_lattice import Lattice
from mlperf.models.estimators.local.neighbours import mean_log_ratio, nearest

N_NEIGHBOURS = 8


def corner_time(lattice: Lattice, sizes: FloatArray) -> FloatArray:
    """Operations over the rate of the nearest measured nodes, shape (n_queries,), seconds.

    The distance-weighted mean of log(time / mnk) over the eight nearest nodes in log2 sizes: unmeasured corners are the largest
    products, where the rate of operations hardly changes.
    """
    nodes = lattice.node_sizes()
    measured = np.stack([lattice.axes[d][nodes[:, d]] for d in range(3)], axis=1)
    log_cost = np.log(lattice.time_s[tuple(nodes.T)] / measured.prod(axis=1))
    near = nearest(cKDTree(np.log2(measured)), np.log2(sizes), N_NEIGHBOURS)
    return np.asarray(sizes.prod(axis=1) * np.exp(mean_log_ratio(log_cost, near)))
