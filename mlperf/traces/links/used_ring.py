"""The ring that a run used, read off its traffic: what passes through the host is told from what goes straight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.traces.links.matrix import CommMatrix

HOST = "HOST"
LEAST = 0.5
"""A link of a ring carries at least this share of what the busiest one does."""
ALIKE = 0.1
"""What goes to the host and comes from it again may differ by this share."""


@dataclass(frozen=True, slots=True)
class Detour:
    """A step of the ring that goes through the host's memory.

    Attributes
    ----------
    sender, receiver : str
    size_bytes : float
        That way.
    """

    sender: str
    receiver: str
    size_bytes: float

    def __str__(self) -> str:
        return f"{self.sender} -> {HOST} -> {self.receiver}"


@dataclass(frozen=True, slots=True, eq=False)
class UsedRing:
    """Successors of the devices of a ring.

    Attributes
    ----------
    order : tuple of str
        Devices as they follow, from the first one; empty where the traffic is no ring.
    detours : tuple of Detour
        Steps through the host.
    ring_bytes : float
        What each device passes on: the median over the ring's steps.
    why : str
        Why the traffic is no ring; empty where it is one.
    """

    order: tuple[str, ...]
    detours: tuple[Detour, ...]
    ring_bytes: float
    why: str = ""


def used_ring(matrix: CommMatrix) -> UsedRing:
    """Read the ring off a communication matrix.

    A device's successor is who gets most of what it sends, if that is at least half of the ring's usual volume; small amounts to
    many are broadcasts. A device without one that sends as much to the host, and one that gets as much from the host and from no
    device, are a step through the host; which of several belong together is what closes one ring.

    References
    ----------
    SOFA, figure 8: GPU4 to GPU5 and GPU8 to GPU1 go through the processor's memory.
    """
    names = [name for name in matrix.places if name != HOST]
    at = [matrix.places.index(name) for name in names]
    direct = matrix.comm_matrix_bytes[np.ix_(at, at)].copy()
    if len(names) < 2 or not direct.any():
        return UsedRing((), (), 0.0, "no device sends anything to another")
    large = direct >= LEAST * direct.max()
    if (large.sum(axis=1) > 1).any() or (large.sum(axis=0) > 1).any():
        return UsedRing((), (), 0.0, "a device sends much to several others: no ring, or more than one")
    after = [int(np.flatnonzero(row)[0]) if row.any() else -1 for row in large]
    usual = float(np.median(direct[large]))
    found = _closed(matrix, names, after, usual)
    if found is None:
        return UsedRing((), (), usual, "what devices send to each other and through the host does not close a ring")
    return UsedRing(*found, usual)


def _closed(
    matrix: CommMatrix, names: list[str], after: list[int], usual: float
) -> tuple[tuple[str, ...], tuple[Detour, ...]] | None:
    """Complete successors by steps through the host so that they close one ring."""
    ends = [place for place, other in enumerate(after) if other < 0]
    starts = [place for place in range(len(names)) if place not in after]
    if ends and HOST not in matrix.places:
        return None
    for pairing in _pairings(ends, starts):
        tried = list(after)
        for end, start in pairing:
            tried[end] = start
        order = _walk(tried)
        if len(order) < len(names):
            continue
        detours = tuple(_detour(matrix, names[end], names[start]) for end, start in pairing)
        if all(each.size_bytes >= (1 - ALIKE) * LEAST * usual for each in detours):
            return tuple(names[place] for place in order), detours
    return None


def _pairings(ends: list[int], starts: list[int]) -> list[list[tuple[int, int]]]:
    """All ways to give each end a start, no device itself; few: a ring has few detours."""
    from itertools import islice, permutations

    ways = ([*zip(ends, order, strict=True)] for order in islice(permutations(starts), 50_000))
    return [pairing for pairing in ways if all(end != start for end, start in pairing)]


def _walk(after: list[int]) -> list[int]:
    """Places from the first one along the successors, until one comes again."""
    order, place = [0], after[0]
    while place not in order:
        order.append(place)
        place = after[place]
    return order if place == 0 else order[:0]


def _detour(matrix: CommMatrix, sender: str, receiver: str) -> Detour:
    """A step through the host with what it carries."""
    host, one, other = (matrix.places.index(name) for name in (HOST, sender, receiver))
    there, back = matrix.comm_matrix_bytes[one, host], matrix.comm_matrix_bytes[host, other]
    return Detour(sender, receiver, float(min(there, back)))


def bandwidth_of(matrix: CommMatrix) -> FloatArray:
    """Measured bandwidth from each device to each, 0 where nothing went straight; the host left out."""
    at = [place for place, name in enumerate(matrix.places) if name != HOST]
    found: FloatArray = np.nan_to_num(matrix.bytes_per_s[np.ix_(at, at)], nan=0.0)
    return found
