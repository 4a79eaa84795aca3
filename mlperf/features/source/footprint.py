"""Distinct cache lines (or pages) that references touch while some of the loops around them run, and the sets they fall into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.features.source.strides import Access

# Addresses up to this number are counted one by one; more of them by merging strides.
MAX_ENUMERATED = 50_000
MAX_SET_LINES = 500_000

MOST_GAPS = 64  # More addresses than this between two, on average, take longer to mark than to sort.

Moves = tuple[tuple[int, int], ...]  # (stride in bytes, trips) of each loop that moves the address, ascending


@dataclass(frozen=True, slots=True, eq=False)
class Footprint:
    """Lines that one array contributes.

    Attributes
    ----------
    lines : float
        Distinct lines, mean over the positions of the loops that stand still, so it need not be whole.
    by_set : int array, shape (n_sets,)
        Distinct lines in each set, counted from the set of the first line.
    """

    lines: float
    by_set: IntArray


class Walk(NamedTuple):
    """References to one array that move alike and differ in their start only, such as ``a[i][j-1]`` and ``a[i][j+1]``.

    Attributes
    ----------
    strides : tuple of (str, int)
        Elements from one trip to the next of each loop that moves them, by name.
    element_size : int
        Bytes.
    starts : tuple of int
        Elements from the array's first one to the first that each reference touches, ascending.
    """

    strides: tuple[tuple[str, int], ...]
    element_size: int
    starts: tuple[int, ...]


def walks_of(accesses: Iterable[Access]) -> tuple[Walk, ...]:
    """How references to one array walk it, by strides."""
    walks = [
        Walk(tuple(sorted(item for item in access.strides.items() if item[1])), access.element_size, (start_of(access),))
        for access in accesses
    ]
    return joined_walks(walks) if len(walks) > 1 else tuple(walks)


def joined_walks(walks: Iterable[Walk]) -> tuple[Walk, ...]:
    """The same references, those that move alike together."""
    found: dict[tuple[tuple[str, int], ...], Walk] = {}
    for walk in walks:
        known = found.get(walk.strides)
        if known is not None:
            walk = Walk(walk.strides, walk.element_size, tuple(sorted({*known.starts, *walk.starts})))
        found[walk.strides] = walk
    return tuple(found[strides] for strides in sorted(found))


class Runs(NamedTuple):
    """What a `Walk` touches while some loops run and the others stand still; all in bytes.

    Attributes
    ----------
    moves : tuple of (int, int)
        Stride and trips of each loop that runs and moves the address, ascending.
    starts : tuple of int
        From the first reference to each.
    element_size : int
    standing : int
        The largest number that divides all strides of loops that stand still: they decide where in a line a run begins. 0: none.
    """

    moves: Moves
    starts: tuple[int, ...]
    element_size: int
    standing: int

    @classmethod
    def of(cls, walk: Walk, trips: Mapping[str, int]) -> Runs:
        """``trips`` of each loop that runs, by name; loops that are not named stand still."""
        strides, size, offsets = walk
        standing, moves = 0, []
        for name, stride in strides:
            n_trips = trips.get(name)
            if n_trips is None:
                standing = gcd(standing, stride * size)
            elif n_trips > 1:
                moves.append((abs(stride) * size, n_trips))
        moves.sort()
        starts = tuple((offset - offsets[0]) * size for offset in offsets) if len(offsets) > 1 else (0,)
        return cls(tuple(moves), starts, size, standing)


def array_footprint(runs: Sequence[Runs], line_bytes: int, n_sets: int, array_bytes: int | None) -> Footprint:
    """Lines that all references to one array touch together.

    Parameters
    ----------
    runs : sequence of Runs
        Of one array, while the same loops run.
    line_bytes : int
        Bytes of a line or page.
    n_sets : int
        Sets of the cache; 1 for full associativity.
    array_bytes : int or None
        Size of the array where it is known: no more lines than it has can be touched.
    """
    parts = [
        _footprint_of_runs(moves, starts, element_size, line_bytes, gcd(line_bytes, standing), n_sets)
        for moves, starts, element_size, standing in runs
    ]
    both = (
        parts[0]
        if len(parts) == 1
        else Footprint(sum(each.lines for each in parts), np.sum([each.by_set for each in parts], axis=0))
    )
    if array_bytes is None or both.lines <= -(-array_bytes // line_bytes):
        return both
    whole = -(-array_bytes // line_bytes)
    return Footprint(float(whole), np.minimum(both.by_set, spread_over_sets(whole, n_sets)))


# The inner loops of a kernel are the same at every batch and in every layer of its shape.
@lru_cache(maxsize=65_536)
def _footprint_of_runs(
    moves: Moves, starts: tuple[int, ...], element_size: int, line_bytes: int, grain: int, n_sets: int
) -> Footprint:
    """Starts that a loop reaches anyway lengthen the loop, near ones the run."""
    span, rest = merged_run(moves, element_size, line_bytes)
    rest, left = reached_starts(rest, starts)
    lines, by_set = 0.0, np.zeros(n_sets, dtype=np.int64)
    for begin, end in neighbourhoods(left, span + line_bytes):
        lines += distinct_lines(span + end - begin, rest, line_bytes, grain)
        counts = lines_by_set(span + end - begin, rest, line_bytes, n_sets)
        by_set = by_set + (counts if n_sets == 1 else np.roll(counts, begin // line_bytes % n_sets))
    return Footprint(lines, by_set)


def start_of(access: Access) -> int:
    """Elements from the array's first one to the first that a reference touches."""
    return sum(offset * stride for offset, stride in zip(access.offsets, access.dimension_strides, strict=True))


def reached_starts(moves: Moves, starts: Sequence[int]) -> tuple[Moves, list[int]]:
    """Starts in bytes that are whole trips apart become further trips; what is left of them is returned, ascending."""
    left = [start - starts[0] for start in starts]
    longer = []
    for stride, trips in reversed(moves):
        steps = [(start + stride // 2) // stride for start in left]
        if max(steps) - min(steps) > trips:
            longer.append((stride, trips))
            continue
        left = [start - step * stride for start, step in zip(left, steps, strict=True)]
        longer.append((stride, trips + max(steps) - min(steps)))
    return tuple(reversed(longer)), sorted(set(left))


def neighbourhoods(starts: Sequence[int], reach: int) -> list[tuple[int, int]]:
    """First and last of each series of starts in which the next one is nearer than ``reach``."""
    series = [(starts[0], starts[0])]
    for start in starts[1:]:
        if start - series[-1][1] < reach:
            series[-1] = (series[-1][0], start)
        else:
            series.append((start, start))
    return series


@lru_cache(maxsize=65_536)
def distinct_lines(span: int, moves: Moves, line_bytes: int, grain: int) -> float:
    """Distinct lines of runs of bytes at {sum over loops of stride * trip}.

    Parameters
    ----------
    span : int
        Bytes of a run, see `merged_run`.
    moves : tuple of (int, int)
        Stride in bytes, > span + line, and trips, > 1, in ascending order.
    line_bytes : int
        Bytes of a line or page.
    grain : int
        The first address is any multiple of it with equal probability.

    Returns
    -------
    float
        Mean over the first address. Runs that may overlap are enumerated, up to `MAX_ENUMERATED` of them.
    """
    runs, is_exact = repeated_runs(moves, span, line_bytes)
    if not is_exact and prod(trips for _, trips in moves) <= MAX_ENUMERATED:
        return float(len(enumerated_lines(span, moves, line_bytes)))
    return runs * lines_of_run(span, line_bytes, gcd(grain, *(stride for stride, _ in moves)))


def merged_run(moves: Moves, element_size: int, line_bytes: int) -> tuple[int, Moves]:
    """Bytes of the run that the smallest strides make, and the strides beyond.

    A stride that leaves no whole line out extends the run before it; a longer one repeats it.
    """
    span = element_size
    for number, (stride, trips) in enumerate(moves):
        if stride >= span + line_bytes:
            return span, moves[number:]
        span += stride * (trips - 1)
    return span, ()


def repeated_runs(moves: Moves, span: int, line_bytes: int) -> tuple[float, bool]:
    """How many runs of ``span`` bytes the larger strides place, and whether none of them overlap for sure."""
    runs, reach, is_exact = 1.0, span, True
    last_stride, last_trips = 0, 1
    for stride, trips in moves:
        if last_stride and stride % last_stride == 0 and stride // last_stride <= last_trips:
            added = stride // last_stride * (trips - 1)
            runs *= (last_trips + added) / last_trips
            last_trips += added
        else:
            is_exact = is_exact and stride >= reach + line_bytes
            runs *= trips
            last_stride, last_trips = stride, trips
        reach += stride * (trips - 1)
    return min(runs, 1 + (reach - span) / line_bytes), is_exact


@lru_cache(maxsize=16_384)
def lines_of_run(span: int, line_bytes: int, grain: int) -> float:
    """Mean lines of a run of ``span`` bytes that begins at any multiple of ``grain``."""
    begins = np.arange(0, line_bytes, max(1, gcd(grain, line_bytes)))
    return float(np.mean((begins + span - 1) // line_bytes + 1))


def enumerated_lines(span: int, moves: Moves, line_bytes: int) -> IntArray:
    """Numbers of the distinct lines of all runs, counted one by one from address 0."""
    starts = np.zeros(1, dtype=np.int64)
    for stride, trips in moves:
        starts = distinct((starts[:, None] + stride * np.arange(trips, dtype=np.int64)).ravel())
    within = np.arange((span - 1) // line_bytes + 1, dtype=np.int64)
    return distinct((starts[:, None] // line_bytes + within).ravel())


def distinct(values: IntArray) -> IntArray:
    """Distinct values in ascending order: marked one by one where they lie close together, a hundredth of the time of sorting."""
    if values.min(initial=0) < 0 or values.max(initial=0) >= MOST_GAPS * len(values):
        return np.unique(values)
    marked = np.zeros(int(values.max(initial=0)) + 1, dtype=np.bool_)
    marked[values] = True
    return np.flatnonzero(marked)


@lru_cache(maxsize=16_384)
def lines_by_set(span: int, moves: Moves, line_bytes: int, n_sets: int) -> IntArray:
    """Distinct lines in each of ``n_sets`` sets; evenly spread where there are more than `MAX_SET_LINES` to count."""
    within = (span - 1) // line_bytes + 1
    if n_sets == 1 or not moves or prod(trips for _, trips in moves) * within > MAX_SET_LINES:
        return spread_over_sets(round(distinct_lines(span, moves, line_bytes, line_bytes)), n_sets)
    return np.bincount(enumerated_lines(span, moves, line_bytes) % n_sets, minlength=n_sets)


def spread_over_sets(lines: int, n_sets: int) -> IntArray:
    """Consecutive lines over the sets."""
    if n_sets == 1:
        return np.array([lines], dtype=np.int64)
    return np.full(n_sets, lines // n_sets, dtype=np.int64) + (np.arange(n_sets) < lines % n_sets)
