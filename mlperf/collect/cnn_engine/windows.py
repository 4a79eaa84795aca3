"""Which elements of a map a filter or a pooling window touches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from mlperf.collect.cnn_engine.builder import Array

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tap:
    """One position inside a window: its number, and the output and input elements that it joins (padding left out)."""

    index: int
    row: int
    column: int
    outputs: tuple[slice, slice]
    inputs: tuple[slice, slice]


def reach(size_in: int, size_out: int, offset: int, stride: int, padding: int) -> tuple[slice, slice]:
    """Outputs whose tap at ``offset`` lies inside the map, and the elements it touches."""
    first = max(0, -((offset - padding) // stride))
    last = min(size_out, (size_in - 1 + padding - offset) // stride + 1)
    last = max(first, last)
    start = first * stride + offset - padding
    stop = start + (last - first - 1) * stride + 1
    return slice(first, last), slice(start, max(start, stop), stride)


def taps(size_in: Pair, size_out: Pair, window: Pair, stride: Pair, padding: Pair, dilation: Pair = (1, 1)) -> list[Tap]:
    """All taps of a window, row by row.

    Parameters
    ----------
    size_in, size_out : (height, width)
        Elements of the map read and of the map written.
    window, stride, padding, dilation : (vertical, horizontal)
    """
    found = []
    for row in range(window[0]):
        out_rows, in_rows = reach(size_in[0], size_out[0], row * dilation[0], stride[0], padding[0])
        for column in range(window[1]):
            out_columns, in_columns = reach(size_in[1], size_out[1], column * dilation[1], stride[1], padding[1])
            found.append(Tap(row * window[1] + column, row, column, (out_rows, out_columns), (in_rows, in_columns)))
    return found


def sliding(image: Array, size_out: Pair, window: Pair, stride: Pair, dilation: Pair) -> Array:
    """View of all windows of a padded map: (subbatch_size, rows, columns, window rows, window columns, n_maps), no copy."""
    batch, row, column, channel = image.strides
    return as_strided(
        image,
        (image.shape[0], *size_out, *window, image.shape[3]),
        (batch, row * stride[0], column * stride[1], row * dilation[0], column * dilation[1], channel),
        writeable=False,
    )


def padded(image: Array, padding: Pair) -> Array:
    """A buffer for ``image`` with its border of zeros, set once: copies later touch the inside only."""
    batch, height, width, n_maps = image.shape
    return np.zeros((batch, height + 2 * padding[0], width + 2 * padding[1], n_maps), dtype=image.dtype)


def inside(buffer: Array, padding: Pair) -> Array:
    """The part of a padded buffer that holds the map."""
    return buffer[:, padding[0] : buffer.shape[1] - padding[0], padding[1] : buffer.shape[2] - padding[1], :]
