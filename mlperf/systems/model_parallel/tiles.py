"""Values that the worst segment reads from other machines where maps are divided into square tiles in place of stripes."""

from __future__ import annotations

import math

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.errors import DataError
from mlperf.systems.model_parallel.layers import WHOLE, LayerTable, stripe_bounds
from mlperf.systems.model_parallel.volumes import needed_rows


def remote_values_tiles(
    table: LayerTable, source: int, target: int, source_plan: tuple[int, int], target_plan: tuple[int, int]
) -> float:
    """Values a sample that the worst tile of ``target`` reads from other machines than its own.

    A layer of maps has P = a * a tiles: a stripes of its rows times a stripes of its columns, maps being square. Tile (i, j) of
    copy r sits on machine r P + i a + j. The neurons of a fully connected layer are divided into P stripes as ever.

    Parameters
    ----------
    table : LayerTable
        The network; rows are as many as columns.
    source, target : int
        Neighbouring layers; ``source`` lies below going forward, above going backward.
    source_plan, target_plan : (int, int)
        Segments P and copies R of the two.

    Returns
    -------
    float
        Never below an enumeration over machines, equal where a layer is fully connected; 0 exactly where that is 0.

    Raises
    ------
    DataError
        A number of tiles that is no square, or more tiles a side than rows.

    References
    ----------
    Yan, Ruwase, He, Chilimbi (KDD 2015), footnote 3 (fixed-size squares); the closed form is ours.
    """
    (p_s, r_s), (p_d, r_d) = source_plan, target_plan
    per, held, least_own = _segments(table, source, p_s)
    side_d = tile_side(table, target, p_d)
    common = math.gcd(r_s, r_d)
    likely = common / r_s
    fits = p_d * r_d <= p_s * r_s
    if table.is_fc[max(source, target)]:
        own = least_own * likely if fits and (common == 1 or p_s == p_d) else 0.0
        return per * (held - own)
    needs, overlaps = _along_one_side(table, source, target, side_d)
    if p_s == p_d and fits:
        return per * float(np.max(np.outer(needs, needs) - np.outer(overlaps, overlaps) * likely))
    most = float(needs.max()) ** 2
    if p_d == 1 < p_s and common == 1 and fits and most == held:
        return per * (held - least_own / r_s)
    return per * most


def tile_side(table: LayerTable, layer: int, n_tiles: int) -> int:
    """Tiles along one side of a layer's maps; of a fully connected layer, its stripes.

    Raises
    ------
    DataError
        Not a square number, or more than there are rows.
    """
    place = f"network {table.name!r}, layer {table.layers[layer]!r}"
    rows = int(table.rows[layer])
    side = n_tiles if table.kind[layer] in WHOLE else math.isqrt(n_tiles)
    if table.kind[layer] not in WHOLE and side * side != n_tiles:
        raise DataError(f"got {n_tiles} square tiles, expected a square number", place=place, hint="As in 1, 4, 9, 16.")
    if not 1 <= side <= rows:
        raise DataError(f"got {side} tiles a side, expected 1 to its {rows} rows", place=place)
    return side


def _segments(table: LayerTable, layer: int, n_tiles: int) -> tuple[float, float, float]:
    """Values of one place, places of the layer, and places of its smallest segment."""
    rows, side = int(table.rows[layer]), tile_side(table, layer, n_tiles)
    if table.kind[layer] in WHOLE:
        return float(table.per[layer]), float(rows), float(rows // side)
    return float(table.per[layer]) / rows, float(rows) ** 2, float(rows // side) ** 2


def _along_one_side(table: LayerTable, source: int, target: int, side: int) -> tuple[IntArray, IntArray]:
    """Rows that each stripe along a side needs, and those of them that the same stripe of the source holds."""
    bounds = stripe_bounds(int(table.rows[target]), side)
    first, end = needed_rows(table, source, target, bounds[:-1], bounds[1:])
    own = stripe_bounds(int(table.rows[source]), side)
    overlap = np.minimum(end, own[1:]) - np.maximum(first, own[:-1])
    return np.maximum(end - first, 0), np.maximum(overlap, 0)
