"""Remote values against counting rows machine by machine."""

from __future__ import annotations

import dataclasses
from math import lcm

import numpy as np
import pytest
from partition_networks import IMAGENET, MNIST

from mlperf.systems.model_parallel.layers import LayerTable
from mlperf.systems.model_parallel.volumes import needed_rows, remote_values

pytestmark = pytest.mark.slow

STATES = [(p, r) for p in range(1, 13) for r in range(1, 12 // p + 1)]


def network() -> LayerTable:
    """Windows with and without padding and overlap, then two full connections."""
    return LayerTable(
        "windows",
        ("conv1", "conv2", "pool", "conv3", "fc1", "fc2"),
        ("conv", "conv", "pool", "conv", "fc", "fc"),
        np.array([26, 26, 13, 12, 30, 14]),
        np.array([5.0, 3.0, 3.0, 2.0, 1.0, 1.0]),
        np.ones(6),
        np.ones(6),
        np.array([3, 3, 2, 4, 1, 1]),
        np.array([1, 1, 2, 1, 1, 1]),
        np.array([1, 1, 0, 1, 0, 0]),
    )


def counted(table: LayerTable, source: int, target: int, one: tuple[int, int], two: tuple[int, int]) -> float:
    """Rows that the worst stripe reads from other machines, its mean over samples."""
    (p_s, r_s), (p_d, r_d) = one, two
    rows_s, rows_d = int(table.rows[source]), int(table.rows[target])
    upper = max(source, target)
    kernel, stride, pad = int(table.kernel[upper]), int(table.stride[upper]), int(table.pad[upper])
    owner = [q for q in range(p_s) for _ in range(rows_s * q // p_s, rows_s * (q + 1) // p_s)]
    # How many rows each stripe of the target needs of each stripe of the source, in whichever copy.
    held = []
    for p in range(p_d):
        mine = range(rows_d * p // p_d, rows_d * (p + 1) // p_d)
        needed = set()
        if table.kind[upper] == "fc":
            needed = set(range(rows_s)) if mine else set()
        elif target > source:
            needed = {at for row in mine for at in range(row * stride - pad, row * stride - pad + kernel)}
        else:
            needed = {at for at in range(rows_s) for row in mine if 0 <= row + pad - at * stride < kernel}
        inside = sorted(at for at in needed if 0 <= at < rows_s)
        if needed and table.kind[upper] != "fc" and inside:
            inside = list(range(inside[0], inside[-1] + 1))
        held.append([sum(1 for at in inside if owner[at] == q) for q in range(p_s)])
    most = 0.0
    for copy in range(r_d):
        samples = range(copy, lcm(r_s, r_d), r_d)
        for p in range(p_d):
            machine = copy * p_d + p
            read = [sum(n for q, n in enumerate(held[p]) if (sample % r_s) * p_s + q != machine) for sample in samples]
            most = max(most, sum(read) / len(read))
    return float(table.per[source]) * most


@pytest.mark.parametrize("lower", range(5))
@pytest.mark.parametrize("forward", [True, False])
def test_never_below_counting_and_exact_for_full_connections(lower: int, forward: bool) -> None:
    table = network()
    source, target = (lower, lower + 1) if forward else (lower + 1, lower)
    ones = [state for state in STATES if state[0] <= table.rows[source]]
    twos = [state for state in STATES if state[0] <= table.rows[target]]
    p_s, r_s = (np.array([[state[at]] for state in ones]) for at in (0, 1))
    p_d, r_d = (np.array([[state[at] for state in twos]]) for at in (0, 1))
    found = remote_values(table, source, target, p_s, r_s, p_d, r_d)
    truth = np.array([[counted(table, source, target, one, two) for two in twos] for one in ones])
    assert (found >= truth - 1e-9).all()
    assert ((found > 1e-12) == (truth > 0)).all()
    if table.kind[lower + 1] == "fc":
        assert found == pytest.approx(truth)
    else:
        assert np.mean(np.isclose(found, truth)) >= 0.7
        assert (found <= 2.0 * truth + 1e-9).all()


def test_one_machine_reads_nothing_and_equal_cuts_of_one_row_windows_neither() -> None:
    one = np.array([[1]])
    for table in (IMAGENET, MNIST):
        for lower in range(table.n_layers - 1):
            assert remote_values(table, lower, lower + 1, one, one, one, one)[0, 0] == 0.0
    points = dataclasses.replace(
        network(), rows=np.full(6, 24), kernel=np.ones(6, int), stride=np.ones(6, int), pad=np.zeros(6, int)
    )
    for stripes in range(1, 25):
        cut = np.array([[stripes]])
        assert remote_values(points, 0, 1, cut, one, cut, one)[0, 0] == 0.0
        assert remote_values(points, 1, 0, cut, one, cut, one)[0, 0] == 0.0


def test_needed_rows_by_hand() -> None:
    """A window of 3 at stride 1 with a row of padding: one row more on either side, but at the edges."""
    first, end = needed_rows(network(), 0, 1, np.array([0, 13]), np.array([13, 26]))
    assert (first.tolist(), end.tolist()) == ([0, 12], [14, 26])
    first, end = needed_rows(network(), 4, 5, np.array([0]), np.array([7]))
    assert (first.tolist(), end.tolist()) == ([0], [30])
