"""Levels of detail: a line of a timeline with any number of events as few enough items to draw at every zoom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray
from mlperf.core.jit import jit

COARSEST = 1024
"""Columns of the coarsest level over the whole time: about the pixels of a page."""
FACTOR = 8
"""A level has this many times the columns of the coarser one."""
MOST_DEPTH = 8
"""Lines below each other that events which overlap are spread over; what needs more stays on the last."""


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """What is drawn, by time; each item is one event, or all that begin in one column and are shorter than it.

    Attributes
    ----------
    start_ns, end_ns : array of int64, shape (n_items,)
        From the first start to the last end of an item's events.
    label : array of int32
        Of an item's events, the one with the most time.
    busy_ns : array of int64
        Time that its events cover.
    count : array of int64
        Events in it.
    size_bytes : array of int64
        Bytes that they moved.
    """

    start_ns: IntArray
    end_ns: IntArray
    label: IntArray
    busy_ns: IntArray
    count: IntArray
    size_bytes: IntArray

    def __len__(self) -> int:
        """Number of items."""
        return len(self.start_ns)

    def take(self, chosen: IntArray | slice | np.ndarray) -> Items:
        """Some of them."""
        return Items(
            self.start_ns[chosen], self.end_ns[chosen], self.label[chosen], self.busy_ns[chosen], self.count[chosen],
            self.size_bytes[chosen],
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A line at one zoom.

    Attributes
    ----------
    width_ns : int
        Events shorter than this that begin in one column of this width are one item; 0: every event is its own.
    from_ns, to_ns : int
        Between which moments the level holds.
    items : Items
    """

    width_ns: int
    from_ns: int
    to_ns: int
    items: Items


def exact_items(start_ns: IntArray, end_ns: IntArray, label: IntArray, size_bytes: IntArray | None = None) -> Items:
    """Every event as its own item.

    Parameters
    ----------
    start_ns, end_ns : array of int64, shape (n,)
        By start.
    label : array of int32
    size_bytes : array of int64, optional
    """
    size = np.zeros(len(start_ns), dtype=np.int64) if size_bytes is None else size_bytes
    return Items(start_ns, end_ns, label, end_ns - start_ns, np.ones(len(start_ns), dtype=np.int64), size)


def joined_runs(items: Items, gap_ns: int) -> Items:
    """Neighbours with one label and no larger gap as one: samples that follow each other in one function."""
    if len(items) < 2:
        return items
    opens = (items.label[1:] != items.label[:-1]) | (items.start_ns[1:] - items.end_ns[:-1] > gap_ns)
    first = np.concatenate(([0], np.flatnonzero(opens) + 1))
    return _grouped(items, first, items.label[first])


def in_columns(items: Items, origin_ns: int, width_ns: int) -> Items:
    """Items shorter than a column joined with the others that begin in it; longer ones stay as they are.

    Parameters
    ----------
    items : Items
        That do not overlap.
    origin_ns : int
        Where column 0 begins.
    width_ns : int
    """
    long = items.end_ns - items.start_ns >= width_ns
    short = items.take(~long)
    kept = items.take(long)
    if not len(short):
        return kept
    column = (short.start_ns - origin_ns) // width_ns
    first = np.concatenate(([0], np.flatnonzero(column[1:] != column[:-1]) + 1))
    found = _grouped(short, first, _largest(short, column))
    order = np.argsort(np.concatenate((kept.start_ns, found.start_ns)), kind="stable")
    return _concatenated([kept, found]).take(order)


def n_in_columns(items: Items, origin_ns: int, width_ns: int) -> int:
    """How many items `in_columns` gives."""
    short = items.end_ns - items.start_ns < width_ns
    column = (items.start_ns[short] - origin_ns) // width_ns
    return int((~short).sum()) + (1 + int((column[1:] != column[:-1]).sum()) if len(column) else 0)


def levels_of(items: Items, span_ns: tuple[int, int], most: int, detail_ns: tuple[int, int] | None = None) -> list[Level]:
    """A line at every zoom, the coarsest first; together about as many items as are allowed.

    Parameters
    ----------
    items : Items
        By time, not overlapping.
    span_ns : tuple of int
        Start and end of the timeline.
    most : int
        Items of the finest level over the whole time.
    detail_ns : tuple of int, optional
        Between which moments everything is to be seen where the rest cannot; left out where it would take more than ``most`` too.
    """
    begin, end = span_ns
    found = [Level(width, begin, end, in_columns(items, begin, width)) for width in _widths(items, span_ns, most)]
    if len(items) <= max(most, COARSEST):
        found.append(Level(0, begin, end, items))
    elif detail_ns is not None:
        part = items.take(_between(items, *detail_ns))
        if 0 < len(part) <= most:
            found.append(Level(0, *detail_ns, part))
    return found


def _widths(items: Items, span_ns: tuple[int, int], most: int) -> list[int]:
    """Widths of columns of all levels: the finest that gives no more than ``most`` items, and coarser ones by `FACTOR`."""
    if len(items) <= COARSEST:
        return []
    length = max(span_ns[1] - span_ns[0], 1)
    columns = COARSEST
    if len(items) <= most:
        # The events themselves are the finest level.
        columns = max(COARSEST, len(items) // FACTOR)
    else:
        while length // (2 * columns) > 0 and n_in_columns(items, span_ns[0], length // (2 * columns)) <= most:
            columns *= 2
    found = []
    while columns >= COARSEST:
        found.append(max(length // columns, 1))
        columns //= FACTOR
    return found[::-1]


def shares(needed: Sequence[int], most: int) -> list[int]:
    """Divide a number of items among lines: each as many as it needs, those that need more than is left for each get the same."""
    found = [0] * len(needed)
    left, lines = most, len(needed)
    for place in sorted(range(len(needed)), key=lambda one: needed[one]):
        found[place] = min(needed[place], left // lines)
        left -= found[place]
        lines -= 1
    return found


def depths(start_ns: IntArray, end_ns: IntArray) -> IntArray:
    """On which of several lines below each other each event goes so that none overlap: the first that is free.

    Parameters
    ----------
    start_ns, end_ns : array of int64, shape (n,)
        By start, of equal starts the longer first: calls inside calls then stand below each other.

    Returns
    -------
    array of int64
        0 to ``MOST_DEPTH`` - 1; what finds none free is put on the last.
    """
    if len(start_ns) < 2 or bool((start_ns[1:] >= end_ns[:-1]).all()):
        return np.zeros(len(start_ns), dtype=np.int64)
    found: IntArray = _first_free(start_ns, end_ns, np.full(MOST_DEPTH, np.iinfo(np.int64).min))
    return found


def value_levels(
    time_ns: IntArray, value: FloatArray, span_ns: tuple[int, int], columns: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """A series in columns: where each begins, and the least and the largest value in it; empty columns are left out.

    A series with no more readings than columns is returned as it is.
    """
    if len(time_ns) <= columns:
        return time_ns, value, value
    width = max((span_ns[1] - span_ns[0]) // columns, 1)
    column = (time_ns - span_ns[0]) // width
    first = np.concatenate(([0], np.flatnonzero(column[1:] != column[:-1]) + 1))
    return time_ns[first], np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)


def _grouped(items: Items, first: IntArray, label: IntArray) -> Items:
    """Items from each of some places to the next as one."""
    return Items(
        items.start_ns[first],
        np.maximum.reduceat(items.end_ns, first),
        label,
        np.add.reduceat(items.busy_ns, first),
        np.add.reduceat(items.count, first),
        np.add.reduceat(items.size_bytes, first),
    )


def _largest(items: Items, column: IntArray) -> IntArray:
    """Of each column, ascending, the label with the most time; with the most events where none takes time."""
    many = int(items.label.max(initial=0)) + 2
    key = (column - column[0]) * many + (items.label + 1)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.concatenate(([0], np.flatnonzero(key[1:] != key[:-1]) + 1))
    time, count = np.add.reduceat(items.busy_ns[order], first), np.add.reduceat(items.count[order], first)
    of_column, label = key[first] // many, key[first] % many - 1
    ranked = np.lexsort((-label, count, time, of_column))
    last = np.concatenate((np.flatnonzero(np.diff(of_column[ranked])), [len(ranked) - 1]))
    chosen: IntArray = label[ranked[last]].astype(items.label.dtype)
    return chosen


def _concatenated(parts: Sequence[Items]) -> Items:
    names = ("start_ns", "end_ns", "label", "busy_ns", "count", "size_bytes")
    return Items(*(np.concatenate([getattr(each, name) for each in parts]) for name in names))


def _between(items: Items, begin: int, end: int) -> np.ndarray:
    return np.asarray((items.end_ns >= begin) & (items.start_ns <= end))


@jit
def _first_free(start_ns: IntArray, end_ns: IntArray, free_ns: IntArray) -> IntArray:
    """See `depths`."""
    found = np.empty(len(start_ns), dtype=np.int64)
    for event in range(len(start_ns)):
        depth = 0
        while depth < len(free_ns) - 1 and free_ns[depth] > start_ns[event]:
            depth += 1
        found[event] = depth
        free_ns[depth] = max(free_ns[depth], end_ns[event])
    return found
