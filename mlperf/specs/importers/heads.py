"""Attention that a foreign graph writes out: maps and places taken apart into heads and windows, and the layers that this makes.

Which dimension of a foreign tensor holds which part of which dimension of ours; and one layer for products of activations with
their projections where these are the usual ones, else the products alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from mlperf.specs.network.layer import Layer
from mlperf.specs.network.shape import Shape, Size

ORDERS = ("btc", "tbc", "bct", "mc", "nc")
"""Orders of whole tensors of tokens; the rows m are the tokens of one sample after those of another, n the other way round."""
ORDERS_OF_MAPS = ("bchw", "bhwc")
"""Orders of whole maps, whose places are tokens row by row."""

Piece = tuple[str, int, int]
"""The layer that writes some maps, the number of the first, and how many."""


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
    is_turned : bool
        Whether the base is a copy of a tensor whose tokens are the maps here.
    """

    base: str
    dims: tuple[Dim, ...]
    first: int = 0
    is_scaled: bool = False
    is_turned: bool = False

    @classmethod
    def whole(cls, base: str, order: str, sizes: Mapping[str, int]) -> Heads:
        """All of a tensor of tokens or maps, in one of the orders above."""
        parts = {"m": "bt", "n": "tb"}
        axes = {letter: Axis(letter, 1, sizes[letter]) for letter in "btc"}
        axes |= {"h": Axis("t", sizes.get("w", 1), sizes.get("h", 1)), "w": Axis("t", 1, sizes.get("w", 1))}
        dims = (tuple(axes[letter] for letter in parts.get(each, each) if axes[letter].size > 1) for each in order)
        return cls(base, tuple(dims))

    @property
    def sizes(self) -> list[int]:
        """Of the dimensions."""
        return [size_of(dim) for dim in self.dims]

    def order(self, sizes: Mapping[str, int]) -> str:
        """Which of `ORDERS` this is, if it is the whole tensor; else nothing."""
        orders = (*ORDERS, *ORDERS_OF_MAPS)
        return next((order for order in orders if not self.is_scaled and self == Heads.whole(self.base, order, sizes)), "")

    def as_maps(self, sizes: Mapping[str, int]) -> tuple[str, Size]:
        """Order, height and width, if this is the whole tensor with its tokens laid out as maps; else nothing."""
        for order in ORDERS_OF_MAPS if len(self.dims) == len("bchw") else ():
            height, width = (size_of(self.dims[order.index(letter)]) for letter in "hw")
            if self.order(dict(sizes) | {"h": height, "w": width}) == order:
                return order, (height, width)
        return "", (0, 0)

    def is_complete(self, sizes: Mapping[str, int]) -> bool:
        """Whether every number of the tensor is here, in whatever order."""
        return not self.is_scaled and math.prod(self.sizes) == sizes["b"] * sizes["t"] * sizes["c"]

    def with_maps(self, base: str, n_maps: int) -> Heads:
        """The places of this with all maps of another tensor."""
        return Heads(base, (*self.dims[:-1], (Axis("c", 1, n_maps),) if n_maps > 1 else ()))

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

    def turned(self, base: str) -> Heads:
        """The same numbers as those of a tensor whose tokens are our maps, and whose maps are our tokens."""
        letters = {"t": "c", "c": "t"}
        dims = (tuple(axis._replace(letter=letters.get(axis.letter, axis.letter)) for axis in dim) for dim in self.dims)
        return Heads(base, tuple(dims), is_turned=not self.is_turned)

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
    outer : tuple of tuple of Axis
        Axes of the dimensions before those of queries and keys: samples, heads, windows.
    learnt : mapping
        Learnt numbers among what was added or multiplied, by foreign name.
    are_weights : bool
        Whether the softmax over the keys has been taken.
    are_of_maps : bool
        Whether maps met maps over all tokens: each map of the network is then a token here, and each head a window.
    """

    query: Heads
    key: Heads
    outer: tuple[Dim, ...]
    are_weights: bool = False
    are_of_maps: bool = False
    learnt: Mapping[str, int] = field(default_factory=dict)


def size_of(dim: Dim) -> int:
    """Elements along a dimension."""
    return math.prod(axis.size for axis in dim)


def maps_of(dims: Iterable[Dim]) -> list[Axis]:
    """The axes of maps among those of some dimensions."""
    return [axis for dim in dims for axis in dim if axis.letter == "c"]


def packed(dims: Sequence[Dim], letter: str = "c") -> tuple[Dim, ...]:
    """The same dimensions over maps (or tokens) that follow one another without gaps, as a product writes them."""
    steps, step = {}, 1
    ours = [axis for dim in dims for axis in dim if axis.letter == letter]
    for axis in sorted(ours, key=lambda each: each.step):
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


def with_projections(layers: Sequence[Layer], shapes: Mapping[str, Shape], cores: Mapping[str, Sequence[Piece]]) -> list[Layer]:
    """The layers with one of attention in place of each core, its linear layers and parts of these, wherever that is the same.

    Parameters
    ----------
    layers : sequence of Layer
        With explicit inputs.
    shapes : mapping
        Output shape of every layer, and of the network's input.
    cores : mapping
        By the name of a layer of products of activations: what its queries, keys and values are.
    """
    found = list(layers)
    for core, pieces in cores.items():
        whole = _Core.among(found, core, pieces)
        if whole is not None and whole.is_a_layer(found, shapes):
            found = whole.folded(found)
        else:
            found = _with_parts(found, core, pieces, shapes)
    return found


@dataclass(frozen=True, slots=True)
class _Core:
    """A core, the maps that it reads, the linear layers and parts that write these, and what reads it."""

    layer: Layer
    pieces: frozenset[tuple[str, int]]
    before: tuple[Layer, ...]
    parts: tuple[Layer, ...]
    behind: Layer

    @classmethod
    def among(cls, layers: Sequence[Layer], name: str, pieces: Sequence[Piece]) -> _Core | None:
        """None where the input is queries, keys or values, or not one layer alone reads the result."""
        by_name = {layer.name: layer for layer in layers}
        sources, parts, maps = {}, {}, set()
        for writer, first, _ in pieces:
            while writer in by_name and by_name[writer].kind == "part":
                parts[writer], first = by_name[writer], first + by_name[writer].first
                writer = by_name[writer].inputs[0]
            maps.add((writer, first))
            sources[writer] = by_name.get(writer)
        readers = [layer for layer in layers if name in layer.inputs]
        before = tuple(layer for layer in sources.values() if layer is not None)
        if len(before) != len(sources) or len(readers) != 1:
            return None
        return cls(by_name[name], frozenset(maps), before, tuple(parts.values()), readers[0])

    def folded(self, layers: Sequence[Layer]) -> list[Layer]:
        """The layers with one in place of all of these; where only the projection behind has biases, these stay as a layer."""
        inputs, bias = self.before[0].inputs, self.before[0].bias
        whole = [Layer(self.behind.name, "attention", inputs=inputs, n_heads=self.layer.n_heads, bias=bias)]
        if self.behind.bias and not bias:
            whole = [
                Layer(self.layer.name, "attention", inputs=inputs, n_heads=self.layer.n_heads, bias=False),
                Layer(self.behind.name, "layer_shift", inputs=(self.layer.name,)),
            ]
        gone = {layer.name for layer in (*self.before, *self.parts, self.layer)}
        return [new for layer in layers if layer.name not in gone for new in (whole if layer.name == self.behind.name else [layer])]

    def is_a_layer(self, layers: Sequence[Layer], shapes: Mapping[str, Shape]) -> bool:
        """Whether queries, keys and values are three linear layers of one sequence, as wide as it, and one stands behind."""
        ours = {layer.name for layer in (*self.before, *self.parts)}
        within = {*ours, self.layer.name}
        biases = {layer.bias for layer in self.before}
        is_read = any(ours.intersection(layer.inputs) and layer.name not in within for layer in layers)
        if (
            (self.layer.groups, self.layer.n_biases, len(self.pieces), len({layer.inputs for layer in self.before})) != (1, 0, 3, 1)
            or not all(_is_linear(layer) for layer in (*self.before, self.behind))
            or is_read
            or len(biases) > 1
            or (biases == {True} and not self.behind.bias)
        ):
            return False
        source, width = shapes[self.before[0].inputs[0]], shapes[self.layer.name].n_maps
        written = sum(layer.n_maps for layer in self.before)
        return source.width == 1 and (source.n_maps, written, self.behind.n_maps) == (width, 3 * width, width)


def _with_parts(layers: Sequence[Layer], core: str, pieces: Sequence[Piece], shapes: Mapping[str, Shape]) -> list[Layer]:
    """The core as a layer of its own; maps that are some of a layer's only are taken from it before."""
    parts: dict[Piece, Layer] = {}
    for writer in dict.fromkeys(each for each, *_ in pieces):
        ours = sorted({piece for piece in pieces if piece[0] == writer}, key=lambda piece: piece[1])
        first = 0
        # Heads may hold their queries, keys and values side by side: maps are as many, wherever they begin.
        for number, piece in enumerate(ours):
            if piece[2] < shapes[writer].n_maps:
                first = min(max(first, piece[1]), shapes[writer].n_maps - sum(each[2] for each in ours[number:]))
                parts[piece] = Layer(
                    f"{core}_{'qkv'[pieces.index(piece)]}", "part", inputs=(writer,), first=max(first, 0), n_maps=piece[2]
                )
                first += piece[2]
    inputs = tuple(parts[piece].name if piece in parts else piece[0] for piece in pieces)
    found: list[Layer] = []
    for layer in layers:
        found += [*parts.values(), replace(layer, inputs=inputs)] if layer.name == core else [layer]
    return found


def _is_linear(layer: Layer) -> bool:
    return layer.kind == "conv" and (layer.filter_size, layer.stride, layer.padding, layer.groups) == ((1, 1), (1, 1), (0, 0), 1)
