"""Remote volumes of square tiles against walking over every machine, sample and place of a map."""

from __future__ import annotations

import math

import numpy as np
import pytest
from partition_examples import MNIST, network

from mlperf.core.errors import DataError
from mlperf.systems.model_parallel.layers import LayerTable, stripe_bounds
from mlperf.systems.model_parallel.tiles import remote_values_tiles, tile_side
from mlperf.systems.model_parallel.volumes import remote_values

SMALL = network(
    "small", 14, 3, [("conv", 4, 3, 1, 1), ("pool", 2, 2), ("conv", 2, 3, 1, 0), ("conv", 2, 1, 1, 0), ("fc", 7), ("fc", 5)]
)
Place = tuple[int, int]


def places_of(table: LayerTable, layer: int, n_tiles: int, tile: int) -> set[Place]:
    """Places (row, column) that a tile owns; a neuron is a place of column 0."""
    rows = int(table.rows[layer])
    if table.is_fc[layer]:
        bounds = stripe_bounds(rows, n_tiles)
        return {(row, 0) for row in range(bounds[tile], bounds[tile + 1])}
    side = math.isqrt(n_tiles)
    bounds = stripe_bounds(rows, side)
    down, across = divmod(tile, side)
    return {(row, column) for row in range(bounds[down], bounds[down + 1]) for column in range(bounds[across], bounds[across + 1])}


def wanted_by(table: LayerTable, source: int, target: int, places: set[Place]) -> set[Place]:
    """Places of ``source`` that share a window with one of ``places``: the rectangle around them."""
    upper, rows = max(source, target), int(table.rows[source])
    whole = {(row, column) for row in range(rows) for column in range(1 if table.is_fc[source] else rows)}
    if table.is_fc[upper]:
        return whole
    kernel, stride, pad = (int(each[upper]) for each in (table.kernel, table.stride, table.pad))

    def near(own: int, other: int) -> bool:
        below, above = (other, own) if target > source else (own, other)
        return 0 <= below + pad - above * stride < kernel

    rectangle = []
    for axis in (0, 1):
        along = [other for other in range(rows) if any(near(place[axis], other) for place in places)]
        rectangle.append(range(along[0], along[-1] + 1) if along else range(0))
    return {(row, column) for row in rectangle[0] for column in rectangle[1]}


def by_walking(table: LayerTable, source: int, target: int, plan_s: Place, plan_d: Place) -> float:
    (p_s, r_s), (p_d, r_d) = plan_s, plan_d
    n_samples, worst = math.lcm(r_s, r_d), 0.0
    owned = [places_of(table, source, p_s, tile) for tile in range(p_s)]
    wanted = [wanted_by(table, source, target, places_of(table, target, p_d, tile)) for tile in range(p_d)]
    for machine in range(p_d * r_d):
        copy, tile = divmod(machine, p_d)
        samples = [sample for sample in range(n_samples) if sample % r_d == copy]
        remote = 0
        for sample in samples:
            there = machine < p_s * r_s and machine // p_s == sample % r_s
            remote += len(wanted[tile] - (owned[machine % p_s] if there else set()))
        worst = max(worst, remote / len(samples))
    per = float(table.per[source]) / (1 if table.is_fc[source] else int(table.rows[source]))
    return worst * per


def plans(table: LayerTable, layer: int, most: int = 12) -> list[Place]:
    counts = [p for p in range(1, most + 1) if table.is_fc[layer] or math.isqrt(p) ** 2 == p]
    return [(p, r) for p in counts if p <= int(table.rows[layer]) ** 2 for r in range(1, most // p + 1) if _fits(table, layer, p)]


def _fits(table: LayerTable, layer: int, n_tiles: int) -> bool:
    side = n_tiles if table.is_fc[layer] else math.isqrt(n_tiles)
    return side <= int(table.rows[layer])


@pytest.mark.parametrize("low", range(5))
@pytest.mark.parametrize("forward", [True, False])
def test_closed_form_is_the_walk(low: int, forward: bool) -> None:
    source, target = (low, low + 1) if forward else (low + 1, low)
    ratios = []
    for plan_s in plans(SMALL, source):
        for plan_d in plans(SMALL, target):
            truth = by_walking(SMALL, source, target, plan_s, plan_d)
            found = remote_values_tiles(SMALL, source, target, plan_s, plan_d)
            where = f"{source} {plan_s} -> {target} {plan_d}"
            assert found >= truth - 1e-9, where
            assert (found < 1e-9) == (truth < 1e-9), where
            ratios.append(found / truth if truth else 1.0)
    most, exact = (1.0, 1.0) if SMALL.is_fc[low + 1] else (4.0, 0.5)
    assert max(ratios) <= most + 1e-12
    assert np.mean(np.isclose(ratios, 1.0)) >= exact


def test_many_tiles_send_less_than_as_many_stripes() -> None:
    # 64 x 64, a window of 3: a stripe of 4 rows needs 2 more of 64; a tile of 16 x 16 its rim of 18 * 18 - 16 * 16 = 68.
    table = network("wide", 64, 1, [("conv", 1, 1, 1, 0), ("conv", 1, 3, 1, 1)])
    many, one = np.array([[16]]), np.array([[1]])
    assert float(remote_values(table, 0, 1, many, one, many, one)[0, 0]) == 2 * 64
    assert remote_values_tiles(table, 0, 1, (16, 1), (16, 1)) == 68
    # Two halves the other way round: four tiles have two neighbours' rims, two stripes one.
    assert remote_values_tiles(table, 0, 1, (1, 1), (1, 1)) == 0.0


def test_tiles_are_square_and_no_smaller_than_a_place() -> None:
    with pytest.raises(DataError, match="got 6 square tiles, expected a square number"):
        tile_side(SMALL, 0, 6)
    with pytest.raises(DataError, match="expected 1 to its 5 rows"):
        tile_side(SMALL, 2, 36)
    assert tile_side(MNIST, 0, 6) == 6
