"""References that walk again what other loops walked: their elements are not further ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlperf.features.source.footprint import Walk

Steps = list[tuple[int, int]]  # (stride in elements, trips) of each loop that moves the address, ascending


def without_repeats(walks: Sequence[Walk], trips: Mapping[str, int]) -> list[Walk]:
    """References to one array, less those whose elements are all among those of another one, as where two loops walk it in turn.

    Parameters
    ----------
    walks : sequence of Walk
        Of one array.
    trips : mapping
        Trips of each loop that runs, by name; loops that are not named stand still.
    """
    if len(walks) < 2:
        return list(walks)
    kept: list[Walk] = []
    for walk in sorted(walks, key=lambda walk: -_reach(walk, trips)):
        left = [start for start in walk.starts if not any(_holds(other, walk, start, trips) for other in kept)]
        if left:
            kept.append(Walk(walk.strides, walk.element_size, tuple(left)))
    return kept


def _reach(walk: Walk, trips: Mapping[str, int]) -> int:
    return sum(stride * (times - 1) for stride, times in _steps(walk, trips, joined=False))


def _steps(walk: Walk, trips: Mapping[str, int], *, joined: bool) -> Steps:
    """Strides and trips of the loops that run; ``joined``: as one where two make one series of elements together."""
    found: Steps = []
    for stride, times in sorted((abs(stride), trips[name]) for name, stride in walk.strides if trips.get(name, 1) > 1):
        if joined and found and stride == found[-1][0] * found[-1][1]:
            found[-1] = (found[-1][0], found[-1][1] * times)
        else:
            found.append((stride, times))
    return found


def _lowest(walk: Walk, start: int, trips: Mapping[str, int]) -> int:
    """The lowest element that a reference touches: loops that count down begin at the highest."""
    return start + sum(stride * (trips.get(name, 1) - 1) for name, stride in walk.strides if stride < 0)


def _holds(other: Walk, walk: Walk, start: int, trips: Mapping[str, int]) -> bool:
    """Whether one of the references of ``other`` touches all that ``walk`` touches from ``start`` on."""
    standing = [[each for each in own.strides if each[0] not in trips] for own in (other, walk)]
    if standing[0] != standing[1] or other.element_size != walk.element_size:
        return False
    distances = [_lowest(walk, start, trips) - _lowest(other, first, trips) for first in other.starts]
    return any(
        _lies_in(distance, dict(_steps(walk, trips, joined=joined)), _steps(other, trips, joined=joined))
        for joined in (False, True)
        for distance in distances
    )


def _lies_in(distance: int, own: Mapping[int, int], around: Steps) -> bool:
    """Whether elements ``distance`` behind those of ``around`` are all among them."""
    if not own.keys() <= {stride for stride, _ in around}:
        return False
    for stride, times in reversed(around):
        steps, distance = divmod(distance, stride)
        if steps < 0 or steps + own.get(stride, 1) > times:
            return False
    return distance == 0
