"""Events that come in two halves: beginnings with their ends, and arrows with the slices they join."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray
from mlperf.core.jit import jit


def pair_halves(is_begin: NDArray[np.bool_], thread: IntArray, time_ns: IntArray) -> tuple[IntArray, IntArray]:
    """The end that closes each beginning, the last opened first, as calls do.

    Parameters
    ----------
    is_begin : array of bool, shape (n_halves,)
    thread : array of int64
        One number for each thread.
    time_ns : array of int64

    Returns
    -------
    tuple of two int64 arrays
        By half: the end of a beginning (-1: it has none) and the beginning of an end.
    """
    order = np.lexsort((np.arange(len(thread)), time_ns, thread))
    return _stacked(order, is_begin, thread)


@jit
def _stacked(order: IntArray, is_begin: NDArray[np.bool_], thread: IntArray) -> tuple[IntArray, IntArray]:
    """A stack for each thread; threads come one after another."""
    n_halves = len(order)
    closed_by = np.full(n_halves, -1, dtype=np.int64)
    opened_by = np.full(n_halves, -1, dtype=np.int64)
    stack = np.empty(n_halves, dtype=np.int64)
    depth, now = 0, np.int64(-1)
    for place in range(n_halves):
        half = order[place]
        if place == 0 or thread[half] != now:
            depth, now = 0, thread[half]
        if is_begin[half]:
            stack[depth] = half
            depth += 1
        elif depth > 0:
            depth -= 1
            closed_by[stack[depth]] = half
            opened_by[half] = stack[depth]
    return closed_by, opened_by


def innermost(thread: IntArray, start_ns: IntArray, end_ns: IntArray, point_thread: IntArray, point_ns: IntArray) -> IntArray:
    """The innermost slice around each point on its thread, -1 for none, shape (n_points,).

    Parameters
    ----------
    thread, start_ns, end_ns : array of int64, shape (n_slices,)
        Slices of a thread are nested, as calls are; an outer one stands first where two start at once.
    point_thread, point_ns : array of int64, shape (n_points,)
    """
    order = np.lexsort((-end_ns, start_ns, thread))
    points = np.lexsort((point_ns, point_thread))
    found = np.full(len(points), -1, dtype=np.int64)
    _sweep(order, thread, start_ns, end_ns, points, point_thread, point_ns, found)
    return found


@jit
def _sweep(
    order: IntArray,
    thread: IntArray,
    start_ns: IntArray,
    end_ns: IntArray,
    points: IntArray,
    point_thread: IntArray,
    point_ns: IntArray,
    found: IntArray,
) -> None:
    """One pass over slices and points by thread and time, with a stack of open slices."""
    stack = np.empty(len(order), dtype=np.int64)
    depth, slot = 0, 0
    for each in range(len(points)):
        point = points[each]
        while slot < len(order):
            row = order[slot]
            if thread[row] > point_thread[point] or (thread[row] == point_thread[point] and start_ns[row] > point_ns[point]):
                break
            while depth > 0 and (thread[stack[depth - 1]] != thread[row] or end_ns[stack[depth - 1]] <= start_ns[row]):
                depth -= 1
            stack[depth] = row
            depth += 1
            slot += 1
        while depth > 0 and (thread[stack[depth - 1]] != point_thread[point] or end_ns[stack[depth - 1]] < point_ns[point]):
            depth -= 1
        if depth > 0:
            found[point] = stack[depth - 1]
