"""Pieces of the figures: heat maps over sizes, ticks at powers of two, whiskers as one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE_TICKS = 7


def size_map(axes: Axes, table: pd.DataFrame, value: str, **options: Any) -> Any:
    """Colour cells over m (right) and n (up), one a pair of sizes; sizes that were not measured stay blank."""
    plane = table.pivot(index="n", columns="m", values=value)
    mesh = axes.pcolormesh(
        np.arange(plane.shape[1] + 1), np.arange(plane.shape[0] + 1), plane.to_numpy(float), rasterized=True, **options
    )
    size_ticks(axes.xaxis, plane.columns.to_numpy())
    size_ticks(axes.yaxis, plane.index.to_numpy())
    axes.grid(visible=False)
    axes.set(xlabel="m (rows of C)", ylabel="n (columns of C)")
    return mesh


def size_ticks(axis: Any, sizes: FloatArray) -> None:
    """Some of the sizes as tick labels in the middle of their cells."""
    places = np.arange(0, len(sizes), max(1, -(-len(sizes) // SIZE_TICKS)))
    axis.set_ticks(places + 0.5, labels=[short(sizes[place]) for place in places])


def short(size: float) -> str:
    """A size in at most four letters: ``512``, ``16k``."""
    return f"{size:g}" if size < 10_000 else f"{size / 1024:.0f}k"


def count_ticks(axis: Any, counts: Sequence[int]) -> None:
    """One tick at each count on a logarithmic axis, without minor ones."""
    from matplotlib.ticker import NullLocator

    axis.set_minor_locator(NullLocator())
    axis.set_ticks(list(counts), labels=[str(count) for count in counts])


def whiskers(axes: Axes, x: FloatArray, low: FloatArray, high: FloatArray, **options: Any) -> None:
    """Vertical lines from ``low`` to ``high``, all in one path; points whose ends are equal have none."""
    apart = np.asarray(high) > np.asarray(low)
    ends = np.column_stack([low, high, np.full(len(x), np.nan)])[apart]
    axes.plot(np.repeat(np.asarray(x, float)[apart], 3), ends.ravel(), marker="", label="_whiskers", **options)
