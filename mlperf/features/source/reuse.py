"""Cache misses of a loop nest from its footprints: what fits is fetched once, what does not is fetched again each trip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.features.source.caches import CacheLevel
from mlperf.features.source.footprint import Footprint, Runs, Walk, array_footprint, joined_walks, walks_of
from mlperf.features.source.nest import Array
from mlperf.features.source.repeats import without_repeats
from mlperf.features.source.strides import Access, Addresses, Level, Work

Items = tuple[Level | Work, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A sequence of loops and statements of a nest: trips of its loops by name, and how it walks each array, by name."""

    trips: Mapping[str, int]
    walks: Mapping[str, tuple[Walk, ...]]


def part_of(items: Items, known: dict[int, Part] | None = None) -> Part:
    """Loops and references of a sequence of loops and statements; ``known`` keeps those of each by its identity."""
    known = {} if known is None else known
    parts = [_part_of_item(item, known) for item in items]
    if len(parts) == 1:
        return parts[0]
    trips: dict[str, int] = {}
    walks: dict[str, list[Walk]] = {}
    for part in parts:
        trips |= part.trips
        for array, own in part.walks.items():
            walks.setdefault(array, []).extend(own)
    return Part(trips, {array: joined_walks(every) for array, every in walks.items()})


def _part_of_item(item: Level | Work, known: dict[int, Part]) -> Part:
    if id(item) not in known:
        if isinstance(item, Level):
            body = part_of(item.body, known)
            known[id(item)] = Part({item.name: item.trips, **body.trips}, body.walks)
        else:
            by_array: dict[str, list[Access]] = {}
            for access in item.accesses:
                by_array.setdefault(access.array, []).append(access)
            known[id(item)] = Part({}, {array: walks_of(accesses) for array, accesses in by_array.items()})
    return known[id(item)]


@dataclass(frozen=True, slots=True, eq=False)
class Touched:
    """What a part of a nest touches when it runs once, by array, in lines of one size that fall into so many sets."""

    footprints: Mapping[str, Footprint]
    lines: Mapping[str, float]

    @classmethod
    def of(cls, runs: Mapping[str, Sequence[Runs]], sizes: Mapping[str, int | None], line_bytes: int, n_sets: int = 1) -> Touched:
        """From the runs of each array; ``sizes`` are those of `array_sizes`."""
        found = {name: array_footprint(own, line_bytes, n_sets, sizes[name]) for name, own in runs.items()}
        return cls(found, {name: part.lines for name, part in found.items()})


class NestFootprints:
    """What the parts of one nest touch when they run once; each is worked out once for all caches with lines and sets alike.

    Parameters
    ----------
    addresses : Addresses
        The nest with numbers for its sizes.
    in_turn : bool
        Whether loops that walk an array in turn share its elements; else each of them counts as if alone.
    """

    def __init__(self, addresses: Addresses, *, in_turn: bool = True) -> None:
        self.in_turn = in_turn
        self._sizes = array_sizes(addresses)
        self._parts: dict[int, Part] = {}
        self._runs: dict[tuple[int, ...], dict[str, list[Runs]]] = {}
        self._known: dict[tuple[tuple[int, ...], int, int], Touched] = {}

    def of(self, items: Items, line_bytes: int, n_sets: int = 1) -> Touched:
        """What a sequence of loops and statements of the nest touches."""
        # The nest keeps its parts alive, so that no two have one identity.
        items_key = tuple(map(id, items))
        key = items_key, line_bytes, n_sets
        if key not in self._known:
            if items_key not in self._runs:
                self._runs[items_key] = runs_of(part_of(items, self._parts), in_turn=self.in_turn)
            self._known[key] = Touched.of(self._runs[items_key], self._sizes, line_bytes, n_sets)
        return self._known[key]


def cache_misses(addresses: Addresses, cache: CacheLevel, known: NestFootprints | None = None) -> dict[str, float]:
    """Misses of one execution of a nest, by array.

    Within the outermost loop whose single trip stays in the cache every line is fetched once; a loop around it fetches
    all of it again on every trip. For a perfect nest of L loops with footprints F(d) of its d inner loops, a fully
    associative cache and the largest D with F(D) <= capacity this is
    (product of the trips of the outer L - D - 1 loops) * F(D + 1).
    With sets, the lines of an array stay with the probability that `staying_share` gives.

    Parameters
    ----------
    addresses : Addresses
        The nest with numbers for its sizes.
    cache : CacheLevel
        Capacity, line, ways.
    known : NestFootprints, optional
        Of the same nest, where several caches are asked about.

    Returns
    -------
    dict
        Array name to fetched lines. The cache is empty at the start.
    """
    sets = CacheSets(cache.line_bytes, cache.n_sets, cache.set_size)
    known = known or NestFootprints(addresses)
    if len(addresses.levels) > 1 and known.in_turn:
        return dict(_misses(Level("", 1, addresses.levels), known, sets))
    return dict(_misses_of_sequence(addresses.levels, known, sets))


@dataclass(frozen=True, slots=True)
class CacheSets:
    """Bytes of a line, sets, and lines of each."""

    line_bytes: int
    n_sets: int
    set_size: int


def _misses_of_sequence(items: Items, touched: NestFootprints, cache: CacheSets) -> Mapping[str, float]:
    if len(items) == 1:
        return _misses(items[0], touched, cache)
    total: dict[str, float] = {}
    for item in items:
        for name, lines in _misses(item, touched, cache).items():
            total[name] = total.get(name, 0.0) + lines
    return total


def _misses(item: Level | Work, touched: NestFootprints, cache: CacheSets) -> Mapping[str, float]:
    once = touched.of((item,), cache.line_bytes, cache.n_sets).lines
    if isinstance(item, Work):
        return once
    share = staying_share(touched.of(item.body, cache.line_bytes, cache.n_sets).footprints, cache.set_size)
    if min(share.values(), default=1.0) >= 1.0:
        return once
    again = _misses_of_sequence(item.body, touched, cache)
    return {name: share[name] * lines + (1 - share[name]) * max(lines, item.trips * again[name]) for name, lines in once.items()}


def staying_share(body: Mapping[str, Footprint], set_size: int) -> dict[str, float]:
    """Share of each array's lines that are still cached when the next trip comes.

    A line stays if its set holds all lines that one trip brings into it. The lines of one array lie in known sets
    relative to each other; other arrays lie anywhere relative to it, because outer loops move them about.

    Parameters
    ----------
    body : mapping
        What one trip touches, by array.
    set_size : int
        Lines of a set; all lines of a fully associative cache.

    Returns
    -------
    dict
        Array name to a number from 0 to 1; 0 or 1 for a fully associative cache.
    """
    if all(len(part.by_set) == 1 for part in body.values()):
        fits_whole = sum(int(part.by_set[0]) for part in body.values()) <= set_size
        return dict.fromkeys(body, float(fits_whole))
    occupancy = {name: occupancy_distribution(part, set_size) for name, part in body.items()}
    share = {}
    for name, part in body.items():
        others = np.ones(1)
        for other in body:
            if other != name:
                others = np.convolve(others, occupancy[other])
        room = set_size - part.by_set
        fits = np.where(room < 0, 0.0, np.cumsum(others)[np.clip(room, 0, len(others) - 1)])
        # An array without a line has none to lose.
        share[name] = float(np.average(fits, weights=part.by_set)) if part.by_set.any() else 1.0
    return share


def occupancy_distribution(part: Footprint, set_size: int) -> FloatArray:
    """Probability that a set holds 0, 1, ... lines of an array; the last entry is "more than a set holds"."""
    return np.bincount(np.minimum(part.by_set, set_size + 1)) / len(part.by_set)


def nest_lines(addresses: Addresses, line_bytes: int, known: NestFootprints | None = None) -> dict[str, float]:
    """Distinct lines of the whole nest by array: its cold misses."""
    touched = known or NestFootprints(addresses)
    return dict(touched.of(addresses.levels, line_bytes).lines)


def inner_lines(level: Level, addresses: Addresses, line_bytes: int) -> float:
    """Distinct lines of all arrays while one loop runs through and the loops around it stand still."""
    return sum(Touched.of(runs_of(part_of((level,))), array_sizes(addresses), line_bytes).lines.values())


def runs_of(part: Part, *, in_turn: bool = True) -> dict[str, list[Runs]]:
    """What each array's references touch while the loops of a part run and those around it stand still."""
    return {
        name: [Runs.of(walk, part.trips) for walk in (without_repeats(walks, part.trips) if in_turn else walks)]
        for name, walks in part.walks.items()
    }


def array_sizes(addresses: Addresses) -> dict[str, int | None]:
    """Bytes of each array by name; None where an extent is unknown."""
    return {name: _array_bytes(array) for name, array in addresses.arrays.items()}


def _array_bytes(array: Array) -> int | None:
    size = array.element_size
    for extent in array.shape:
        number = None if extent is None else extent.constant
        if number is None:
            return None
        size *= number
    return size


def conflict_risk(addresses: Addresses, cache: CacheLevel) -> bool:
    """Whether some reference steps by a multiple of (line x sets) more often than a set has lines.

    Such a reference uses few sets only; its lines push each other out of a cache that has room elsewhere.
    """
    if not cache.ways:
        return False
    period = cache.line_bytes * cache.n_sets
    trips = {level.name: level.trips for outer in addresses.levels for level in outer.levels()}
    strides = (
        (stride * access.element_size, trips[name])
        for outer in addresses.levels
        for work in outer.works()
        for access in work.accesses
        for name, stride in access.strides.items()
    )
    return any(stride and stride % period == 0 and count > cache.ways for stride, count in strides)
