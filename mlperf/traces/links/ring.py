"""The best ring through links: its weakest link as fast as possible."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mlperf.core.arrays import FloatArray, IntArray

EXACT = 16
"""Most places for which all rings are looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Ring:
    """A closed way through all places.

    Attributes
    ----------
    order : tuple of int
        Places as they follow, from the first one.
    bottleneck : float
        Its weakest link.
    total : float
        Sum of its links.
    is_exact : bool
        No ring has a faster weakest link; False for a heuristic's ring.
    """

    order: tuple[int, ...]
    bottleneck: float
    total: float
    is_exact: bool


def ring_of(order: tuple[int, ...], links: FloatArray, is_exact: bool = False) -> Ring:
    """A ring's weakest link and sum, on links that are used in one direction each."""
    used = [float(links[one, other]) for one, other in pairwise((*order, order[0]))]
    return Ring(order, min(used), float(sum(used)), is_exact)


def best_ring(links: FloatArray) -> Ring | None:
    """The ring with the fastest weakest link; of equals that of the larger sum, then the first by order.

    Parameters
    ----------
    links : array, shape (n, n)
        Bandwidth from each place to each; a ring uses a link both ways, so that the slower direction counts. 0: no link.

    Returns
    -------
    Ring or None
        None where links close no ring through all places.

    Notes
    -----
    Held-Karp over sets of places, with bits for the last place of a way, decides whether links of at least some bandwidth close a
    ring; the bandwidth is found by halving over the different ones. Beyond 16 places ways are improved by 2-opt and the ring is
    not proven best.
    """
    both = np.minimum(links, links.T)
    n = len(both)
    if n < 2:
        return None
    if n == 2:
        return ring_of((0, 1), both, True) if both[0, 1] > 0 else None
    if n > EXACT:
        return _improved(both)
    limits = np.unique(both[both > 0])
    low, high = -1, len(limits)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _closes(both >= limits[middle]) else (low, middle)
    if low < 0:
        return None
    order = _largest_sum(np.where(both >= limits[low], both, 0.0))
    return ring_of(order, both, True)


def _neighbours(allowed: np.ndarray) -> IntArray:
    """Bits of each place's neighbours."""
    n = len(allowed)
    linked = allowed & ~np.eye(n, dtype=bool)
    found: IntArray = (linked * (1 << np.arange(n, dtype=np.int64))).sum(axis=1)
    return found


def _closes(allowed: np.ndarray) -> bool:
    """Whether some links close a ring through all places."""
    n = len(allowed)
    near = _neighbours(allowed)
    ends = np.zeros(1 << n, dtype=np.int64)
    ends[1] = 1
    masks = np.arange(1 << n, dtype=np.int64)
    size = np.array([int(mask).bit_count() for mask in masks])
    for count in range(2, n + 1):
        # Sets of this size that hold the first place; a way may end in j if one without j ends in a neighbour of j.
        chosen = masks[(size == count) & ((masks & 1) == 1)]
        for j in range(1, n):
            held = chosen[(chosen >> j) & 1 == 1]
            reached = (ends[held & ~(1 << j)] & near[j]) != 0
            ends[held[reached]] |= 1 << j
    return bool(ends[-1] & near[0])


def _largest_sum(links: FloatArray) -> tuple[int, ...]:
    """Of the rings over links that are not 0 the one of the largest sum, the first by order among equals."""
    n = len(links)
    best = np.full((1 << n, n), -np.inf)
    best[1, 0] = 0.0
    masks = np.arange(1 << n, dtype=np.int64)
    size = np.array([int(mask).bit_count() for mask in masks])
    weight = np.where(links > 0, links, -np.inf)
    for count in range(2, n + 1):
        chosen = masks[(size == count) & ((masks & 1) == 1)]
        for j in range(1, n):
            held = chosen[(chosen >> j) & 1 == 1]
            best[held, j] = (best[held & ~(1 << j)] + weight[:, j]).max(axis=1)
    return _first_order(best, weight)


def _first_order(best: FloatArray, weight: FloatArray) -> tuple[int, ...]:
    """Walk back from the whole set, to the smallest place where several are as good; the ring begins towards its smaller side."""
    n = len(weight)
    mask, order = (1 << n) - 1, [0]
    closing = best[mask] + weight[:, 0]
    place = int(np.flatnonzero(np.isclose(closing, closing.max(), rtol=1e-12))[0])
    while place:
        order.append(place)
        before = mask & ~(1 << place)
        ways = best[before] + weight[:, place]
        mask, place = before, int(np.flatnonzero(np.isclose(ways, ways.max(), rtol=1e-12))[0])
    back = (order[0], *reversed(order[1:]))
    return min(tuple(order), back)


def _improved(both: FloatArray) -> Ring | None:
    """A ring that no exchange of two links betters; from the widest greedy way."""
    n = len(both)
    order = [0]
    left = set(range(1, n))
    while left:
        order.append(max(left, key=lambda place: (both[order[-1], place], -place)))
        left.remove(order[-1])
    found = ring_of(tuple(order), both)
    is_better = True
    while is_better:
        is_better = False
        for first in range(1, n - 1):
            for last in range(first + 1, n):
                tried = ring_of((*order[:first], *reversed(order[first : last + 1]), *order[last + 1 :]), both)
                if (tried.bottleneck, tried.total) > (found.bottleneck, found.total):
                    found, order, is_better = tried, list(tried.order), True
    return found if found.bottleneck > 0 else None
