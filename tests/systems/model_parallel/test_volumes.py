"""Remote volumes of stripes against walking over every machine and sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from partition_examples import MNIST, network

from mlperf.systems.model_parallel.layers import LayerTable, stripe_bounds
from mlperf.systems.model_parallel.volumes import remote_values

MOST = 8
SMALL = network(
    "small", 17, 3, [("conv", 4, 3, 1, 1), ("pool", 2, 2), ("conv", 2, 3, 2, 0), ("conv", 2, 1, 1, 0), ("fc", 7), ("fc", 5)]
)


def by_walking(table: LayerTable, source: int, target: int, plan_s: tuple[int, int], plan_d: tuple[int, int]) -> float:
    """Values a sample of the worst segment, machine by machine: whoever uses a row names it, whoever owns it does not send it."""
    (p_s, r_s), (p_d, r_d) = plan_s, plan_d
    rows_s, rows_d = int(table.rows[source]), int(table.rows[target])
    bounds_s, bounds_d = stripe_bounds(rows_s, p_s), stripe_bounds(rows_d, p_d)
    n_samples = math.lcm(r_s, r_d)
    worst = 0.0
    for copy in range(r_d):
        for stripe in range(p_d):
            wanted = rows_wanted(table, source, target, range(bounds_d[stripe], bounds_d[stripe + 1]))
            machine = copy * p_d + stripe
            samples = [sample for sample in range(n_samples) if sample % r_d == copy]
            remote = 0
            for sample in samples:
                own: set[int] = set()
                if machine < p_s * r_s and machine // p_s == sample % r_s:
                    own = set(range(bounds_s[machine % p_s], bounds_s[machine % p_s + 1]))
                remote += len(wanted - own)
            worst = max(worst, remote / len(samples))
    return worst * float(table.per[source])


def rows_wanted(table: LayerTable, source: int, target: int, rows: range) -> set[int]:
    """Rows of ``source`` in a window with one of ``rows``; every row of the range between the first and the last of them."""
    upper, rows_s = max(source, target), int(table.rows[source])
    if table.is_fc[upper]:
        return set(range(rows_s))
    kernel, stride, pad = (int(each[upper]) for each in (table.kernel, table.stride, table.pad))
    if target > source:
        found = {row * stride - pad + at for row in rows for at in range(kernel)}
    else:
        found = {above for above in range(rows_s) for row in rows if 0 <= row + pad - above * stride < kernel}
    inside = sorted(each for each in found if 0 <= each < rows_s)
    return set(range(inside[0], inside[-1] + 1)) if inside else set()


def plans(rows: int, most: int = MOST) -> list[tuple[int, int]]:
    return [(p, r) for p in range(1, min(rows, most) + 1) for r in range(1, most // p + 1)]


def closed(table: LayerTable, source: int, target: int, plan_s: tuple[int, int], plan_d: tuple[int, int]) -> float:
    p_s, r_s, p_d, r_d = (np.array([[each]]) for each in (*plan_s, *plan_d))
    return float(remote_values(table, source, target, p_s, r_s, p_d, r_d)[0, 0])


@pytest.mark.parametrize(("low", "high"), [(at, at + 1) for at in range(5)])
@pytest.mark.parametrize("forward", [True, False])
def test_closed_form_is_the_walk(low: int, high: int, forward: bool) -> None:
    source, target = (low, high) if forward else (high, low)
    ratios = []
    for plan_s in plans(int(SMALL.rows[source])):
        for plan_d in plans(int(SMALL.rows[target])):
            truth = by_walking(SMALL, source, target, plan_s, plan_d)
            found = closed(SMALL, source, target, plan_s, plan_d)
            where = f"{source} {plan_s} -> {target} {plan_d}"
            assert found >= truth - 1e-9, where
            assert (found == 0.0) == (truth == 0.0), where
            ratios.append(found / truth if truth else 1.0)
    most, exact = (1.0, 1.0) if SMALL.is_fc[high] else (3.0, 0.5)
    assert max(ratios) <= most + 1e-12
    assert np.mean(np.isclose(ratios, 1.0)) >= exact


def test_one_value_a_pair_of_plans() -> None:
    table, (p_s, r_s), (p_d, r_d) = MNIST, np.array(plans(9)).T, np.array(plans(9)).T
    found = remote_values(table, 0, 1, p_s[:, None], r_s[:, None], p_d[None, :], r_d[None, :])
    assert found.shape == (len(p_s), len(p_d))
    for row, column in ((0, 3), (4, 4), (7, 2)):
        assert found[row, column] == closed(table, 0, 1, (p_s[row], r_s[row]), (p_d[column], r_d[column]))


def test_the_same_cut_with_filters_of_one_sends_nothing() -> None:
    table = network("ones", 12, 2, [("conv", 3, 1, 1, 0), ("conv", 4, 1, 1, 0)])
    for plan in plans(12, 12):
        needs = closed(table, 0, 1, plan, plan)
        assert needs == pytest.approx(0.0), plan


def test_neighbours_send_the_rows_that_a_window_reaches_over() -> None:
    # 12 rows in 3 stripes of 4; a window of 3 needs one row of either neighbour: two rows of 12 values of 3 maps in the middle.
    table = network("halo", 12, 2, [("conv", 3, 1, 1, 0), ("conv", 4, 3, 1, 1)])
    assert closed(table, 0, 1, (3, 1), (3, 1)) == 2 * 12 * 3
    assert closed(table, 0, 1, (2, 1), (2, 1)) == 1 * 12 * 3
