"""Bounds of clock offsets where clocks run alike: difference constraints, solved by shortest paths in whole nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.core.jit import jit
from mlperf.traces.clocks.constraints import Constraints

FREE = np.iinfo(np.int64).max // 4
"""No bound."""


@dataclass(frozen=True, slots=True, eq=False)
class FixedBounds:
    """Bounds of the differences of offsets; an offset is what is added to a clock to get the reference time.

    Attributes
    ----------
    most_ns : array of int64, shape (n_clocks, n_clocks)
        Entry (p, q) is the most that p's offset may exceed q's, nanoseconds; `FREE`: no bound.
    cycle : array of int64
        Rows of the constraints that contradict each other, the later clock of each the earlier one of the next; empty: none do.
    """

    most_ns: IntArray
    cycle: IntArray


def tightest(found: Constraints, n_clocks: int) -> tuple[IntArray, IntArray]:
    """For every pair of clocks the smallest bound and the constraint that gives it, both shape (n_clocks, n_clocks); -1: none."""
    pair = found.earlier * n_clocks + found.later
    bound = found.bound_ns
    order = np.lexsort((bound, pair))
    first = order[np.concatenate(([True], pair[order][1:] != pair[order][:-1]))] if len(order) else order
    most = np.full(n_clocks * n_clocks, FREE, dtype=np.int64)
    row = np.full(n_clocks * n_clocks, -1, dtype=np.int64)
    most[pair[first]], row[pair[first]] = bound[first], first
    np.fill_diagonal(most.reshape(n_clocks, n_clocks), 0)
    return most.reshape(n_clocks, n_clocks), row.reshape(n_clocks, n_clocks)


def fixed_bounds(found: Constraints, n_clocks: int) -> FixedBounds:
    """The tightest bounds that follow from all constraints together (Floyd and Warshall), or a contradiction among them."""
    most, row = tightest(found, n_clocks)
    direct = most.copy()
    following = np.where(row >= 0, np.arange(n_clocks)[None, :], -1)
    start, middle = divmod(int(_shortest_paths(most, following)), max(n_clocks, 1))
    if start < 0:
        return FixedBounds(most, np.empty(0, dtype=np.int64))
    clocks = _negative_circle([*_path(following, start, middle), *_path(following, middle, start)], direct)
    return FixedBounds(most, np.array([row[one, other] for one, other in zip(clocks, (*clocks[1:], clocks[0]), strict=True)]))


@jit
def _shortest_paths(most_ns: IntArray, following: IntArray) -> int:
    """Tighten all pairs in place; as soon as a circle is negative, a clock on it times their number, plus its middle; else -1."""
    n_clocks = len(most_ns)
    for middle in range(n_clocks):
        for start in range(n_clocks):
            if most_ns[start, middle] >= FREE:
                continue
            for end in range(n_clocks):
                if most_ns[middle, end] >= FREE:
                    continue
                through = most_ns[start, middle] + most_ns[middle, end]
                if through < most_ns[start, end]:
                    most_ns[start, end] = through
                    following[start, end] = following[start, middle]
                    if start == end:
                        return start * n_clocks + middle
    return -1


def _path(following: IntArray, start: int, end: int) -> list[int]:
    """Clocks from one to another, the last left out."""
    path = [start]
    while (at := int(following[path[-1], end])) != end:
        path.append(at)
    return path


def _negative_circle(walk: list[int], direct_ns: IntArray) -> list[int]:
    """A negative circle without repeated clocks in a closed walk that is negative as a whole."""
    path: list[int] = []
    for clock in (*walk, walk[0]):
        if clock in path:
            circle = path[path.index(clock) :]
            if sum(int(direct_ns[one, other]) for one, other in zip(circle, (*circle[1:], clock), strict=True)) < 0:
                return circle
            del path[path.index(clock) + 1 :]
        else:
            path.append(clock)
    return path
