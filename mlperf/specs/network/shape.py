"""Sizes of maps, and what a sliding window makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Size: TypeAlias = tuple[int, int]
"""Height and width."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What one sample looks like between two layers: ``n_maps`` maps of ``height`` x ``width`` elements."""

    n_maps: int
    height: int
    width: int

    @property
    def map_size(self) -> int:
        """Elements of one map."""
        return self.height * self.width

    @property
    def size(self) -> int:
        """Elements of one sample."""
        return self.n_maps * self.map_size

    def __str__(self) -> str:
        return f"{self.n_maps} maps of {self.height} x {self.width}"


def pair(value: int | Size) -> Size:
    """``3`` means ``(3, 3)``."""
    if isinstance(value, int):
        return (value, value)
    height, width = value
    return (height, width)


def window_extent(filter_size: int, dilation: int) -> int:
    """Elements that a dilated filter spans in one direction."""
    return dilation * (filter_size - 1) + 1


def n_windows(size: int, filter_size: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> int:
    """Positions of a window along one direction; below 1 where it does not fit.

    Parameters
    ----------
    size : int
        Elements of the input in this direction.
    filter_size, stride, padding, dilation : int
        The window, its step, the elements added at either end, the distance between its elements.
    ceil_mode : bool
        Whether a last window may reach beyond the padded input; it must start inside the input or its leading padding.
    """
    room = size + 2 * padding - window_extent(filter_size, dilation)
    if not ceil_mode:
        return room // stride + 1
    count = -(-room // stride) + 1
    return count - 1 if (count - 1) * stride >= size + padding else count
