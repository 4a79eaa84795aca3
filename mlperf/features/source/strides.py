"""From subscripts to addresses: trip counts of loops and strides of references, once all sizes are numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlperf.core.errors import DataError
from mlperf.features.source.nest import Array, Loop, Nest, Reference, Statement

KINDS = ("invariant", "unit", "row", "plane", "other")


@dataclass(frozen=True, slots=True)
class Access:
    """One reference as addresses.

    Attributes
    ----------
    array : str
        Array touched.
    element_size : int
        Bytes.
    strides : mapping
        Elements from one trip to the next of each loop around it, by loop name, outermost first; 0: it does not move.
    offsets : tuple of int
        Subscript in each dimension at the first trip of every loop.
    dimension_strides : tuple of int
        Elements from one index to the next in each dimension.
    access : str
        ``"read"``, ``"write"`` or ``"update"``.
    """

    array: str
    element_size: int
    strides: Mapping[str, int]
    offsets: tuple[int, ...]
    dimension_strides: tuple[int, ...]
    access: str


@dataclass(frozen=True, slots=True)
class Work:
    """A statement with its references as addresses."""

    accesses: tuple[Access, ...]
    statement: Statement


@dataclass(frozen=True, slots=True)
class Level:
    """A loop with its trip count and what it repeats."""

    name: str
    trips: int
    body: tuple[Level | Work, ...]

    def works(self) -> Iterator[Work]:
        """Every statement inside, in program order."""
        for item in self.body:
            if isinstance(item, Level):
                yield from item.works()
            else:
                yield item

    def levels(self) -> Iterator[Level]:
        """The loop itself and all inside it, outer before inner."""
        yield self
        for item in self.body:
            if isinstance(item, Level):
                yield from item.levels()


@dataclass(frozen=True, slots=True)
class Addresses:
    """A nest whose sizes are all numbers.

    Attributes
    ----------
    nest : Nest
        Where it comes from.
    levels : tuple of Level
        Outermost loops, in program order.
    arrays : mapping
        Array by name.
    """

    nest: Nest
    levels: tuple[Level, ...]
    arrays: Mapping[str, Array]


def nest_addresses(nest: Nest, sizes: Mapping[str, int] | None = None) -> Addresses:
    """Trip counts and strides of every loop and reference.

    Parameters
    ----------
    nest : Nest
        From `read_nests`, `read_c` or `pattern_nest`.
    sizes : mapping, optional
        Numbers for its open sizes.

    Raises
    ------
    DataError
        A size is missing, a loop never runs or its bounds depend on another loop, a subscript is not affine.
    """
    bound = nest.bound(sizes or {})
    arrays = {array.name: array for array in bound.arrays}
    return Addresses(bound, tuple(_level(loop, (), arrays, bound.source) for loop in bound.loops), arrays)


def _trip_count(loop: Loop, place: str) -> int:
    """How often a loop with constant bounds runs; DataError: its bounds depend on another loop, or it never runs."""
    start, stop = loop.start.constant, loop.stop.constant
    if start is None or stop is None:
        raise DataError(
            f"loop {loop.name} runs from {loop.start} to {loop.stop}, expected bounds that no other loop changes",
            place=place,
            hint="Only rectangular nests have strides and footprints in closed form.",
        )
    trips = -((start - stop) // loop.step) if loop.step > 0 else -((stop - start) // -loop.step)
    if trips < 1:
        raise DataError(f"loop {loop.name} from {start} to {stop} never runs, expected at least one trip", place=place)
    return trips


def _level(loop: Loop, outer: tuple[Loop, ...], arrays: Mapping[str, Array], place: str) -> Level:
    around = (*outer, loop)
    body = tuple(
        _level(item, around, arrays, place)
        if isinstance(item, Loop)
        else Work(tuple(_access(reference, around, arrays[reference.array], place) for reference in item.references), item)
        for item in loop.body
    )
    return Level(loop.name, _trip_count(loop, place), body)


def _access(reference: Reference, around: tuple[Loop, ...], array: Array, place: str) -> Access:
    steps = {loop.name: loop.step for loop in around}
    for subscript in reference.subscripts:
        if not subscript.is_affine_in(steps.keys()):
            raise DataError(
                f"subscript is not affine: {array.name}[{subscript}]", place=place, hint="Loop indices may not multiply."
            )
    dimension_strides = _array_strides(array, place)
    strides = dict.fromkeys(steps, 0)
    for subscript, stride in zip(reference.subscripts, dimension_strides, strict=True):
        for name, slope in subscript.slopes.items():
            if name in strides:
                strides[name] += steps[name] * slope * stride
    starts = {loop.name: loop.start.constant or 0 for loop in around}
    offsets = tuple(subscript.value(starts) or 0 for subscript in reference.subscripts)
    return Access(array.name, array.element_size, strides, offsets, dimension_strides, reference.access)


def _array_strides(array: Array, place: str) -> tuple[int, ...]:
    """Elements from one index to the next in each dimension of an array."""
    order = range(len(array.shape))
    strides, stride = [0] * len(array.shape), 1
    slowest = order[0] if array.layout == "row" else order[-1]
    for dimension in reversed(order) if array.layout == "row" else order:
        strides[dimension] = stride
        if dimension == slowest:
            break
        extent = array.shape[dimension]
        size = None if extent is None else extent.constant
        if size is None:
            raise DataError(f"array {array.name} has no extent in dimension {dimension + 1}, expected a number", place=place)
        stride *= size
    return tuple(strides)


def stride_kind(stride: int, dimension_strides: tuple[int, ...]) -> str:
    """Name of a stride: ``"invariant"`` 0, ``"unit"`` 1, ``"row"`` and ``"plane"`` the next dimensions', ``"other"``."""
    if stride == 0:
        return "invariant"
    by_size = sorted(dimension_strides)
    # Extents of 1 give two dimensions the same stride: the faster one names it.
    place = by_size.index(abs(stride)) if abs(stride) in by_size else len(KINDS)
    return KINDS[place + 1] if place + 1 < len(KINDS) - 1 else "other"
