"""Sets of moments against sets of whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.timeline.intervals import Intervals, clipped, common, concurrency, joined, union, without


def moments(found: Intervals) -> set[int]:
    return {at for begin, end in zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True) for at in range(begin, end)}


def random_union(rng: np.random.Generator) -> tuple[Intervals, set[int]]:
    start = rng.integers(0, 60, int(rng.integers(0, 12)))
    end = start + rng.integers(0, 9, len(start))
    return union(start, end), {at for one, other in zip(start.tolist(), end.tolist(), strict=True) for at in range(one, other)}


@pytest.mark.parametrize("seed", range(60))
def test_operations_are_those_of_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    (one, first), (other, second) = random_union(rng), random_union(rng)
    assert moments(one) == first
    assert moments(common(one, other)) == first & second
    assert moments(without(one, other)) == first - second
    assert moments(joined(one, other)) == first | second
    assert moments(clipped(one, 20, 40)) == {at for at in first if 20 <= at < 40}
    assert one.total_ns == len(first)


@pytest.mark.parametrize("seed", range(20))
def test_overlaps_are_counted_moment_by_moment(seed: int) -> None:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 40, 9)
    end = start + rng.integers(1, 12, 9)
    numbers, lengths = concurrency(start, end)
    depth = [int(((start <= at) & (at < end)).sum()) for at in range(int(start.min()), int(end.max()))]
    for number, length in zip(numbers.tolist(), lengths.tolist(), strict=True):
        assert length == depth.count(number)


def test_intervals_that_touch_are_one() -> None:
    found = union([0, 5, 5], [5, 9, 5])
    assert (found.start_ns.tolist(), found.end_ns.tolist()) == ([0], [9])
    assert len(union([], []).start_ns) == 0
