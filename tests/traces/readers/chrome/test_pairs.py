"""Pairs and nesting against stacks that are walked."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.traces.readers.chrome.pairs import innermost, pair_halves


@pytest.mark.parametrize("seed", range(20))
def test_an_end_closes_what_was_opened_last_on_its_thread(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    is_begin, thread, time = rng.random(n) < 0.55, rng.integers(0, 3, n), rng.integers(0, 40, n)
    closed_by, opened_by = pair_halves(is_begin, thread, time)
    for one in range(3):
        stack: list[int] = []
        for half in sorted(np.flatnonzero(thread == one).tolist(), key=lambda each: (time[each], each)):
            if is_begin[half]:
                stack.append(half)
            elif stack:
                begin = stack.pop()
                assert (closed_by[begin], opened_by[half]) == (half, begin)
            else:
                assert opened_by[half] == -1
        assert all(closed_by[begin] == -1 for begin in stack)


@pytest.mark.parametrize("seed", range(20))
def test_the_innermost_slice_is_the_shortest_that_holds_the_point(seed: int) -> None:
    """Nested slices made by splitting; every point asked of all of them."""
    rng = np.random.default_rng(seed)
    slices: list[tuple[int, int, int]] = []

    def split(thread: int, begin: int, end: int, depth: int) -> None:
        slices.append((thread, begin, end))
        if depth and end - begin > 8:
            middle = int(rng.integers(begin + 2, end - 2))
            split(thread, begin + 1, middle, depth - 1)
            split(thread, middle + 1, end - 1, depth - 1)

    for thread in range(3):
        split(thread, 0, 200, 4)
    thread, start, end = (np.array(each) for each in zip(*slices, strict=True))
    order = rng.permutation(len(slices))
    points = rng.integers(-5, 210, 80)
    point_thread = rng.integers(0, 4, 80)
    found = innermost(thread[order], start[order], end[order], point_thread, points)
    for at, own, row in zip(points.tolist(), point_thread.tolist(), found.tolist(), strict=True):
        holding = [each for each in order.tolist() if thread[each] == own and start[each] <= at < end[each]]
        expected = min(holding, key=lambda each: end[each] - start[each]) if holding else -1
        got = int(order[row]) if row >= 0 else -1
        if got != expected:
            # A point at the very end of a slice may count as inside it.
            assert got >= 0
            assert end[got] == at
