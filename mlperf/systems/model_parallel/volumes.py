"""Values that the worst segment of a layer reads from other machines: stripes in closed form."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.systems.model_parallel.layers import LayerTable, stripe_bounds


def remote_values(
    table: LayerTable,
    source: int,
    target: int,
    source_stripes: IntArray,
    source_copies: IntArray,
    target_stripes: IntArray,
    target_copies: IntArray,
) -> FloatArray:
    """Values a sample that the worst stripe of ``target`` reads from other machines than its own.

    Forward, ``source`` lies below ``target``; backward above. Segment (copy r, stripe p) of a layer sits on machine r P + p, and
    sample i is the work of copy i mod R.

    Parameters
    ----------
    table : LayerTable
        The network.
    source, target : int
        Neighbouring layers.
    source_stripes, source_copies : array of int, shape (n_sources, 1)
        P and R of the layer that is read.
    target_stripes, target_copies : array of int, shape (1, n_targets)
        P and R of the layer that reads.

    Returns
    -------
    array, shape (n_sources, n_targets)
        Never below an enumeration over machines, equal for fully connected layers; 0 exactly where that is 0.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), section 4.1.1 (A and E); the closed form with copies is ours.
    """
    p_s, r_s, p_d, r_d = np.broadcast_arrays(source_stripes, source_copies, target_stripes, target_copies)
    per, rows = float(table.per[source]), int(table.rows[source])
    common = np.gcd(r_s, r_d)
    fits = p_d * r_d <= p_s * r_s
    likely = common / r_s
    if table.is_fc[max(source, target)]:
        own = np.where(fits & ((common == 1) | (p_s == p_d)), rows // p_s * likely, 0.0)
        return np.asarray(per * (rows - own))
    geometry = _geometry(table, source, target)
    most = np.array([_most_needed(geometry, int(count)) for count in np.unique(p_d)], np.float64)
    needed = most[np.searchsorted(np.unique(p_d), p_d)]
    found = needed.copy()
    alone = (p_d == 1) & (p_s > 1) & (common == 1) & fits & (needed == rows)
    found[alone] = (rows - rows // p_s / r_s)[alone]
    same = (p_s == p_d) & fits
    for count in np.unique(p_s[same]):
        at = same & (p_s == count)
        pairs = _needs(geometry, int(count))
        found[at] = np.max(pairs[:, 0] - pairs[:, 1] * likely[at][:, None], axis=1)
    return np.asarray(per * found)


def needed_rows(table: LayerTable, source: int, target: int, first: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of ``source`` that rows [first, end) of ``target`` need: first and end."""
    if table.is_fc[max(source, target)]:
        return np.zeros_like(first), np.full_like(end, int(table.rows[source]))
    return _reach(_geometry(table, source, target), first, end)


Geometry = tuple[int, int, int, int, int, bool]


def _geometry(table: LayerTable, source: int, target: int) -> Geometry:
    upper = max(source, target)
    shape = (int(table.kernel[upper]), int(table.stride[upper]), int(table.pad[upper]))
    return (int(table.rows[source]), int(table.rows[target]), *shape, target > source)


@lru_cache(maxsize=65536)
def _needs(geometry: Geometry, n_stripes: int) -> FloatArray:
    """Distinct pairs (rows needed, of them its own) of the stripes of a layer divided as its source, shape (n_pairs, 2)."""
    first, end = _needed(geometry, n_stripes)
    own = stripe_bounds(geometry[0], n_stripes)
    overlap = np.maximum(0, np.minimum(end, own[1:]) - np.maximum(first, own[:-1]))
    return np.array(sorted(set(zip((end - first).tolist(), overlap.tolist(), strict=True))), np.float64)


@lru_cache(maxsize=65536)
def _most_needed(geometry: Geometry, n_stripes: int) -> int:
    first, end = _needed(geometry, n_stripes)
    return int((end - first).max())


def _needed(geometry: Geometry, n_stripes: int) -> tuple[IntArray, IntArray]:
    bounds = stripe_bounds(geometry[1], n_stripes)
    low, high = _reach(geometry, bounds[:-1], bounds[1:])
    return low, np.maximum(low, high)


def _reach(geometry: Geometry, first: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    rows_source, _, kernel, stride, pad, forward = geometry
    if forward:
        return np.maximum(0, first * stride - pad), np.minimum(rows_source, (end - 1) * stride + kernel - pad)
    low = -((kernel - 1 - first - pad) // stride)
    return np.maximum(0, low), np.minimum(rows_source, (end - 1 + pad) // stride + 1)
