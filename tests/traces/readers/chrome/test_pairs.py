"""Halves and innermost slices, against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mlperf.traces.readers.chrome.pairs import innermost, pair_halves


def test_the_last_opened_is_closed_first_on_each_thread() -> None:
    begins = np.array([True, True, True, False, False, False, False])
    thread = np.array([0, 0, 1, 0, 0, 1, 1])
    closed, opened = pair_halves(begins, thread, np.array([0, 1, 2, 3, 4, 5, 6]))
    assert closed.tolist() == [4, 3, 5, -1, -1, -1, -1]
    assert opened.tolist() == [-1, -1, -1, 1, 0, 2, -1]


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Nested calls as (start, end)."""
    found: list[tuple[int, int]] = []

    def inside(start: int, end: int, depth: int) -> None:
        if depth and end - start > 1:
            cuts = sorted(draw(st.sets(st.integers(start, end), min_size=0, max_size=4)))
            for begin, finish in zip(cuts[::2], cuts[1::2], strict=False):
                found.append((begin, finish))
                inside(begin, finish, depth - 1)

    inside(0, 30, 3)
    return found


@given(calls(), st.lists(st.integers(-1, 31), max_size=8))
def test_the_innermost_slice_is_the_shortest_around_a_point(slices: list[tuple[int, int]], points: list[int]) -> None:
    start, end = (np.array([each[side] for each in slices], dtype=np.int64) for side in (0, 1))
    zero = np.zeros(len(slices), dtype=np.int64)
    found = innermost(zero, start, end, np.zeros(len(points), dtype=np.int64), np.array(points, dtype=np.int64))
    for point, place in zip(points, found.tolist(), strict=True):
        around = [each for each in slices if each[0] <= point <= each[1]]
        strictly = [each for each in slices if each[0] <= point < each[1]]
        if strictly:
            assert slices[place] == min(strictly, key=lambda each: each[1] - each[0]) or slices[place] in around
            assert slices[place][1] - slices[place][0] <= min(each[1] - each[0] for each in strictly)
        elif not around:
            assert place == -1


def test_threads_are_apart() -> None:
    found = innermost(np.array([1]), np.array([0]), np.array([10]), np.array([1, 2]), np.array([5, 5]))
    assert found.tolist() == [0, -1]
