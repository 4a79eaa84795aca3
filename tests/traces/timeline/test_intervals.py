"""Sets of moments, against sets of whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlperf.traces.timeline.intervals import Intervals, clipped, common, concurrency, joined, union, without

PAIRS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted), max_size=8)


def made(pairs: list[list[int]]) -> Intervals:
    return union([each[0] for each in pairs], [each[1] for each in pairs])


def moments(pairs: list[list[int]]) -> set[int]:
    return {moment for start, end in pairs for moment in range(start, end)}


def covered(found: Intervals) -> set[int]:
    assert (found.start_ns < found.end_ns).all()
    assert (found.end_ns[:-1] < found.start_ns[1:]).all()
    return {
        moment for start, end in zip(found.start_ns.tolist(), found.end_ns.tolist(), strict=True) for moment in range(start, end)
    }


@given(PAIRS, PAIRS)
def test_sets_are_those_of_moments(one: list[list[int]], other: list[list[int]]) -> None:
    here, there = made(one), made(other)
    assert covered(here) == moments(one)
    assert here.total_ns == len(moments(one))
    assert covered(common(here, there)) == moments(one) & moments(other)
    assert covered(without(here, there)) == moments(one) - moments(other)
    assert covered(joined(here, there)) == moments(one) | moments(other)


@given(PAIRS, st.integers(0, 40), st.integers(0, 40))
def test_a_window_holds_what_lies_in_it(pairs: list[list[int]], one: int, other: int) -> None:
    start, end = sorted((one, other))
    assert covered(clipped(made(pairs), start, end)) == moments(pairs) & set(range(start, end))


@given(PAIRS)
def test_overlaps_are_counted(pairs: list[list[int]]) -> None:
    number, length = concurrency([each[0] for each in pairs], [each[1] for each in pairs])
    depth = [sum(start <= moment < end for start, end in pairs) for moment in range(41)]
    if pairs:
        first, last = min(each[0] for each in pairs), max(each[1] for each in pairs)
        counts = np.bincount(depth[first:last], minlength=len(number)) if last > first else np.zeros(len(number), dtype=int)
        assert length.tolist() == counts[: len(length)].tolist()
