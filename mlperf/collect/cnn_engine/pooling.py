"""Max pooling with indices, average pooling, adaptive and global pooling, each with its way back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mlperf.collect.cnn_engine.builder import Array, Builder, Contribution
from mlperf.collect.cnn_engine.windows import Tap, taps
from mlperf.specs.network.cnn import Layer
from mlperf.specs.network.windows import pool_kernels


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Elements of the map that one tap of the window reads, and of the pooled map that it goes to; ``weight`` for averages."""

    index: int
    outputs: tuple[slice, slice]
    inputs: tuple[slice, slice]
    weight: float

    def read(self, image: Array) -> Array:
        """View of the map's elements."""
        return image[:, self.inputs[0], self.inputs[1], :]

    def write(self, pooled: Array) -> Array:
        """View of the pooled map's elements."""
        return pooled[:, self.outputs[0], self.outputs[1], :]


def pieces(layer: Layer, size_in: tuple[int, int], size_out: tuple[int, int]) -> list[Piece]:
    """All taps of a pool layer; an adaptive one with windows of different sizes has its own taps for each output."""
    if not layer.is_adaptive:
        found = taps(size_in, size_out, layer.filter_size, layer.stride, layer.padding, layer.dilation)
        return [_piece(tap, 1.0 / layer.window) for tap in found]
    if all(whole % part == 0 for whole, part in zip(size_in, size_out, strict=True)):
        window = (size_in[0] // size_out[0], size_in[1] // size_out[1])
        return [_piece(tap, 1.0 / (window[0] * window[1])) for tap in taps(size_in, size_out, window, window, (0, 0))]
    return [each for row in range(size_out[0]) for column in range(size_out[1]) for each in _uneven(size_in, size_out, row, column)]


def _piece(tap: Tap, weight: float) -> Piece:
    return Piece(tap.index, tap.outputs, tap.inputs, weight)


def _uneven(size_in: tuple[int, int], size_out: tuple[int, int], row: int, column: int) -> list[Piece]:
    """Taps of one output of an adaptive pool: from floor(i x / n) to ceil((i + 1) x / n), as torch has it."""
    rows = range(row * size_in[0] // size_out[0], -(-(row + 1) * size_in[0] // size_out[0]))
    columns = range(column * size_in[1] // size_out[1], -(-(column + 1) * size_in[1] // size_out[1]))
    target = (slice(row, row + 1), slice(column, column + 1))
    places = [(slice(y, y + 1), slice(x, x + 1)) for y in rows for x in columns]
    return [Piece(index, target, place, 1.0 / len(places)) for index, place in enumerate(places)]


def forward_pool(build: Builder, layer: Layer) -> None:
    """Lay out the pool's forward kernel."""
    source, out = build.source(layer), build.new_value(layer)
    found = pieces(layer, source.shape[1:3], out.shape[1:3])
    kernel = pool_kernels(layer)[0]
    if layer.mode == "max":
        dtype = np.uint8 if max(piece.index for piece in found) < 256 else np.uint16
        indices = build.save(layer, "indices", np.empty(out.shape, dtype=dtype))
        build.emit(kernel, layer.name, max_pool(source, out, indices, found))
    elif layer.output_size == (1, 1):
        build.emit(kernel, layer.name, global_average(source, out))
    else:
        build.emit(kernel, layer.name, average_pool(source, out, found))


def backward_pool(build: Builder, layer: Layer, received: Contribution) -> None:
    """Lay out the pool's backward kernel."""
    out = build.new_gradient(build.cnn.sources[layer.name][0])
    gradient = received.array
    found = pieces(layer, out.shape[1:3], gradient.shape[1:3])
    kernel = pool_kernels(layer)[1]
    if layer.mode == "max":
        build.emit(kernel, layer.name, max_unpool(gradient, out, build.saved[layer.name]["indices"], found))
    elif layer.output_size == (1, 1):
        weight = out.dtype.type(found[0].weight)
        build.emit(kernel, layer.name, lambda: np.multiply(gradient, weight, out=out))
    else:
        build.emit(kernel, layer.name, average_unpool(gradient, out, found))


def hits(found: Sequence[Piece], image: Array) -> Array:
    """How many windows read each element of the map, shape (height, width)."""
    count = np.zeros(image.shape[1:3], dtype=np.int64)
    for piece in found:
        count[piece.inputs] += 1
    return count


def max_pool(source: Array, out: Array, indices: Array, found: Sequence[Piece]) -> Callable[[], None]:
    """Maximum of each window, and the number of the tap where it was found (the first one of equals)."""
    better, number = np.empty(out.shape, dtype=np.bool_), np.empty_like(indices)
    steps = [
        (
            indices.dtype.type(each.index),
            each.read(source),
            each.write(out),
            each.write(indices),
            each.write(better),
            each.write(number),
        )
        for each in found
    ]
    whole_first = steps[0][2].shape == out.shape

    def run() -> None:
        indices.fill(0)
        if whole_first:
            np.copyto(out, steps[0][1])
        else:
            out.fill(-np.inf)
        for index, read, best, place, mask, scratch in steps[1:] if whole_first else steps:
            np.greater(read, best, out=mask)
            np.multiply(mask.view(np.uint8), index, out=scratch)
            np.maximum(place, scratch, out=place)
            np.maximum(best, read, out=best)

    return run


def max_unpool(gradient: Array, out: Array, indices: Array, found: Sequence[Piece]) -> Callable[[], None]:
    """Send each gradient back to the element that was the maximum."""
    mask, part = np.empty(indices.shape, dtype=np.bool_), np.empty_like(gradient)
    steps = [
        (each.index, each.write(gradient), each.write(indices), each.write(mask), each.write(part), each.read(out))
        for each in found
    ]

    read_by = hits(found, out)
    gaps = bool((read_by == 0).any())

    def spread() -> None:
        if gaps:
            out.fill(0)
        for index, sent, place, chosen, _, target in steps:
            np.equal(place, index, out=chosen)
            np.multiply(sent, chosen, out=target)

    def gather() -> None:
        out.fill(0)
        for index, sent, place, chosen, scratch, target in steps:
            np.equal(place, index, out=chosen)
            np.multiply(sent, chosen, out=scratch)
            np.add(target, scratch, out=target)

    return gather if (read_by > 1).any() else spread


def average_pool(source: Array, out: Array, found: Sequence[Piece]) -> Callable[[], None]:
    """Mean of each window; padding counts as zeros, as in torch."""
    weights = np.zeros(out.shape[1:3], dtype=out.dtype)
    for piece in found:
        weights[piece.outputs] = piece.weight
    scale = weights[np.newaxis, :, :, np.newaxis]
    steps = [(each.read(source), each.write(out)) for each in found]

    def run() -> None:
        out.fill(0)
        for read, target in steps:
            np.add(target, read, out=target)
        np.multiply(out, scale, out=out)

    return run


def average_unpool(gradient: Array, out: Array, found: Sequence[Piece]) -> Callable[[], None]:
    """Spread each gradient evenly over its window."""
    part = np.empty_like(gradient)
    steps = [(gradient.dtype.type(each.weight), each.write(gradient), each.write(part), each.read(out)) for each in found]

    def run() -> None:
        out.fill(0)
        for weight, sent, scratch, target in steps:
            np.multiply(sent, weight, out=scratch)
            np.add(target, scratch, out=target)

    return run


def global_average(source: Array, out: Array) -> Callable[[], None]:
    """Mean of each whole map."""
    pixels = source.shape[1] * source.shape[2]
    flat = source.reshape(source.shape[0], pixels, -1)
    target = out.reshape(source.shape[0], -1)

    def run() -> None:
        np.add.reduce(flat, axis=1, out=target)
        np.divide(target, pixels, out=target)

    return run
