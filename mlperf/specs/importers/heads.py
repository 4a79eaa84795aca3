"""Maps of tokens taken apart into heads: which dimension of a foreign tensor holds which part of which dimension of ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

ORDERS = ("btc", "tbc", "bct", "mc", "nc")
"""Orders of whole tensors of tokens; the rows m are the tokens of one sample after those of another, n the other way round."""


class Axis(NamedTuple):
    """Numbers ``step`` apart of the samples b, the tokens t or the maps c."""

    letter: str
    step: int
    size: int


Dim = tuple[Axis, ...]


@dataclass(frozen=True, slots=True)
class Heads:
    """A foreign tensor whose numbers are some of the maps of another one, each of its dimensions made of axes of that.

    Attributes
    ----------
    base : str
        The foreign tensor that a layer writes.
    dims : tuple of tuple of Axis
        Axes of each dimension, from the outer to the inner; a dimension of size 1 has none.
    first : int
        Number of the first map.
    is_scaled : bool
        Whether the numbers are multiplied, which no layer does yet.
    """

    base: str
    dims: tuple[Dim, ...]
    first: int = 0
    is_scaled: bool = False

    @classmethod
    def whole(cls, base: str, order: str, sizes: Mapping[str, int]) -> Heads:
        """All of a tensor of tokens, in one of `ORDERS`."""
        parts = {"m": "bt", "n": "tb"}
        dims = (tuple(Axis(letter, 1, sizes[letter]) for letter in parts.get(each, each) if sizes[letter] > 1) for each in order)
        return cls(base, tuple(dims))

    @property
    def sizes(self) -> list[int]:
        """Of the dimensions."""
        return [size_of(dim) for dim in self.dims]

    def order(self, sizes: Mapping[str, int]) -> str:
        """Which of `ORDERS` this is, if it is the whole tensor; else nothing."""
        whole = (order for order in ORDERS if not self.is_scaled and self == Heads.whole(self.base, order, sizes))
        return next(whole, "")

    def reshaped(self, wanted: Sequence[int]) -> Heads | None:
        """With other sizes, 0 for one that stays and -1 for what remains; None where that cuts an axis unevenly."""
        sizes = [before if size == 0 else size for size, before in zip(wanted, (*self.sizes, *[0] * len(wanted)), strict=False)]
        known, size = math.prod(each for each in sizes if each > 0), math.prod(self.sizes)
        sizes = [size // known if each == -1 else each for each in sizes]
        if min(sizes, default=0) < 1 or math.prod(sizes) != size:
            return None
        waiting, dims = [axis for dim in self.dims for axis in dim], []
        for each in sizes:
            dim = _taken(waiting, each)
            if dim is None:
                return None
            dims.append(dim)
        return replace(self, dims=tuple(dims))

    def permuted(self, order: Sequence[int]) -> Heads | None:
        """With the dimensions in another order."""
        if sorted(place % len(self.dims) for place in order) != list(range(len(self.dims))):
            return None
        return replace(self, dims=tuple(self.dims[place] for place in order))

    def squeezed(self, places: Sequence[int]) -> Heads | None:
        """Without dimensions of size 1."""
        gone = {place % len(self.dims) for place in places}
        if any(self.dims[place] for place in gone):
            return None
        return replace(self, dims=tuple(dim for place, dim in enumerate(self.dims) if place not in gone))

    def unsqueezed(self, places: Sequence[int]) -> Heads:
        """With dimensions of size 1 at these places of the result."""
        rank, dims = len(self.dims) + len(places), list(self.dims)
        for place in sorted(place % rank for place in places):
            dims.insert(place, ())
        return replace(self, dims=tuple(dims))

    def part(self, place: int, first: int, size: int) -> Heads | None:
        """Some of a dimension; None unless that holds evenly spaced maps."""
        dim = self.dims[place]
        if len(dim) != 1 or dim[0].letter != "c" or not 0 <= first < first + size <= dim[0].size:
            return None
        taken = (dim[0]._replace(size=size),) if size > 1 else ()
        dims = [taken if number == place % len(self.dims) else each for number, each in enumerate(self.dims)]
        return replace(self, dims=tuple(dims), first=self.first + first * dim[0].step)


@dataclass(frozen=True, slots=True)
class Scores:
    """Products of queries with keys, for every pair of tokens.

    Attributes
    ----------
    query, key : Heads
        The factors.
    are_weights : bool
        Whether the softmax over the keys has been taken.
    """

    query: Heads
    key: Heads
    are_weights: bool = False


def size_of(dim: Dim) -> int:
    """Elements along a dimension."""
    return math.prod(axis.size for axis in dim)


def maps_of(dims: Iterable[Dim]) -> list[Axis]:
    """The axes of maps among those of some dimensions."""
    return [axis for dim in dims for axis in dim if axis.letter == "c"]


def packed(dims: Sequence[Dim]) -> tuple[Dim, ...]:
    """The same dimensions over maps that follow one another without gaps, as a product writes them."""
    steps, step = {}, 1
    for axis in sorted(maps_of(dims), key=lambda each: each.step):
        steps[axis] = step
        step *= axis.size
    return tuple(_merged(axis._replace(step=steps.get(axis, axis.step)) for axis in dim) for dim in dims)


def _taken(waiting: list[Axis], size: int) -> Dim | None:
    """The first axes of those that wait, as many as make ``size``; the last of them cut where that is needed."""
    taken: list[Axis] = []
    while size > 1:
        axis = waiting.pop(0)
        if size % axis.size:
            if axis.size % size:
                return None
            inner = axis.size // size
            waiting.insert(0, axis._replace(size=inner))
            axis = axis._replace(step=axis.step * inner, size=size)
        taken.append(axis)
        size //= axis.size
    return _merged(taken)


def _merged(axes: Iterable[Axis]) -> Dim:
    """Axes that continue each other made one."""
    merged: list[Axis] = []
    for axis in axes:
        if merged and merged[-1].letter == axis.letter and merged[-1].step == axis.step * axis.size:
            axis = axis._replace(size=merged.pop().size * axis.size)
        merged.append(axis)
    return tuple(merged)


def cuts(sizes: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First element and size of parts that follow one another."""
    first = 0
    for size in sizes:
        yield first, size
        first += size
