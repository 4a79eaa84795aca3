"""Padding that differs between the two sides of a map, as one number of rows and columns that gives the same outputs."""

from __future__ import annotations

from collections.abc import Sequence

from mlperf.core.errors import DataError
from mlperf.specs.network.shape import Shape, Size, window_extent

Borders = tuple[int, int, int, int]
"""Rows above, columns to the left, rows below, columns to the right."""


def same_padding(shape: Shape, filter_size: Size, stride: Size, dilation: Size, place: str) -> Size:
    """Rows and columns to add on either side so that the output has ceil(input / stride) elements.

    Raises
    ------
    DataError
        No such number of rows or columns: an odd one would have to be added while the window moves by single elements.
    """
    numbers = zip((shape.height, shape.width), filter_size, stride, dilation, strict=True)
    totals = [max((-(-size // step) - 1) * step + window_extent(window, gap) - size, 0) for size, window, step, gap in numbers]
    before = (totals[0] // 2, totals[1] // 2)
    borders = (*before, totals[0] - before[0], totals[1] - before[1])
    try:
        return equal_padding(shape, (filter_size, stride, dilation), borders, place)
    except DataError as error:
        got = f"got 'same' padding of {totals[0]} rows and {totals[1]} columns, expected even numbers where stride is 1"
        hint = "Only equal padding on both sides is supported there: use an odd filter, or explicit padding."
        raise DataError(got, place=place, hint=hint) from error


def equal_padding(shape: Shape, window: Sequence[Size], borders: Borders, place: str, *, ceil_mode: bool = False) -> Size:
    """Rows and columns to add on either side that give as many outputs as ``borders``.

    Where the numbers of the two sides differ by an odd number, one row or column more or less than in the foreign graph is added;
    the window stands as often, so sizes and work are the same.

    Parameters
    ----------
    shape : Shape
        What the window slides over.
    window : (filter size, stride, dilation)
        Height and width of each.
    borders : (int, int, int, int)
        Top, left, bottom and right.
    place : str
        For messages.
    ceil_mode : bool
        Whether the number of outputs is rounded up.

    Raises
    ------
    DataError
        No number of rows or columns gives as many outputs.
    """
    filter_size, stride, dilation = window
    sides = []
    for axis, size in enumerate((shape.height, shape.width)):
        extent, before, after = window_extent(filter_size[axis], dilation[axis]), borders[axis], borders[axis + 2]
        wanted = _n_outputs(size, extent, stride[axis], before, after, ceil_mode)
        half = (before + after) // 2
        even = (half, half + (before + after) % 2)
        sides.append(next((each for each in even if _n_outputs(size, extent, stride[axis], each, each, ceil_mode) == wanted), -1))
    if min(sides) < 0:
        hint = "Only equal padding on both sides is supported where stride is 1: use an odd filter, or pad before."
        got = f"got pads {list(borders)}, expected the same at the start and the end, or some that give the same number of outputs"
        raise DataError(got, place=place, hint=hint)
    return (sides[0], sides[1])


def _n_outputs(size: int, extent: int, step: int, before: int, after: int, ceil_mode: bool) -> int:
    room = size + before + after - extent
    if not ceil_mode:
        return room // step + 1
    count = -(-room // step) + 1
    return count - 1 if (count - 1) * step >= size + before else count
