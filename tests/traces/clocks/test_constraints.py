"""Constraints say which clock comes first, and by how much."""

from __future__ import annotations

import numpy as np

from mlperf.traces.clocks.constraints import KINDS, READING, bracketed, constraints, joined, shifted


def test_within_one_clock_nothing_is_said() -> None:
    found = constraints([0, 1, 1], [1, 2, 3], [0, 0, 1], [4, 5, 6], 7)
    assert (found.earlier.tolist(), found.later.tolist(), found.bound_ns.tolist()) == ([1], [0], [5 - 2 - 7])


def test_a_reading_lies_between_two_others() -> None:
    found = bracketed(0, [100, 900], 1, [5_120, 5_930], [150, 960])
    assert [KINDS[kind] for kind in found.kind] == ["reading"] * 4
    # 100 - 5120 <= offset of 1 <= 150 - 5120, and again.
    assert found.bound_ns[found.later == 1].tolist() == [5_020, 5_030]
    assert found.bound_ns[found.later == 0].tolist() == [-4_970, -4_970]


def test_joined_and_shifted() -> None:
    found = joined((constraints([0], [1], [1], [5]), constraints([1], [2], [0], [9], kind=READING)))
    assert shifted(found, np.array([10, 300])).bound_ns.tolist() == [4 + 290, 7 - 290]
    assert len(joined(())) == 0
