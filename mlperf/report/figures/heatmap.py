"""The search plane: time or price over nodes and sub-batch, pale outside the window, infeasible blank, optimum framed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.report.figures.figures import LEAST_MARKS, new_figure, round_values, style
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

FRAME = "#D55E00"
LABELLED_CELLS = 200
LEAST_WIDTH_IN, LEAST_HEIGHT_IN = 4.2, 1.9
"""What the labels of the axes and the colour scale need beside a single cell."""
HEADS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
ROOM = 0.08
"""Share of a colour scale between its ends and the next labels."""
SIDES_IN, TITLE_LETTERS_PER_INCH = 0.8, 10.0
"""What stands left of a title, and how many of its bold letters go into an inch."""


@dataclass(frozen=True, slots=True, eq=False)
class Plane:
    """One plane to draw: a cell a configuration.

    Attributes
    ----------
    n_nodes : array, shape (n_columns,)
        Ascending.
    subbatch_size : array, shape (n_rows,)
        Ascending, samples.
    values : array, shape (n_rows, n_columns)
        What is minimised: seconds, joules, or a price; NaN where not computed.
    in_window : array, shape (n_rows, n_columns)
        Windows hold: in full colour; the others are pale where some hold.
    feasible : array, shape (n_rows, n_columns)
        False (device memory too small): blank.
    best : (n_nodes, subbatch_size) or None
        The optimum: framed.
    title : str
        Heading.
    quantity : str
        Word of the colour scale; planes of one quantity share one.
    units : mapping of str to float
        Names and sizes of the units that the values may be shown in: the one that reads best is taken. Empty: they have none.
    """

    n_nodes: IntArray
    subbatch_size: IntArray
    values: FloatArray
    in_window: BoolArray
    feasible: BoolArray
    best: tuple[int, int] | None = None
    title: str = ""
    quantity: str = "epoch"
    units: Mapping[str, float] = field(default_factory=lambda: TIME_UNITS_S)

    @property
    def known(self) -> FloatArray:
        """Values of the cells that are drawn."""
        return np.asarray(self.values[self.feasible & np.isfinite(self.values) & (self.values > 0.0)])


def search_maps(planes: Sequence[Plane]) -> Figure:
    """Draw planes under each other, at least one; those of one quantity on one colour scale."""
    with style():
        heights = [max(LEAST_HEIGHT_IN, 1.0 + 0.34 * min(plane.subbatch_size.size, 20)) for plane in planes]
        width = min(12.0, max(LEAST_WIDTH_IN, 2.6 + 0.42 * max(plane.n_nodes.size for plane in planes)))
        figure = new_figure(width, min(12.0, 0.8 + sum(heights)))
        every = figure.subplots(len(planes), 1, squeeze=False, height_ratios=heights)[:, 0]
        for quantity in dict.fromkeys(plane.quantity for plane in planes):
            draw_quantity(figure, [(axes, plane) for axes, plane in zip(every, planes, strict=True) if plane.quantity == quantity])
        for axes, plane in zip(every, planes, strict=True):
            axes.set_title(fill(plane.title, int((width - SIDES_IN) * TITLE_LETTERS_PER_INCH)))
        figure.supxlabel(key_text(planes), fontsize=7.5)
    return figure


def key_text(planes: Sequence[Plane]) -> str:
    """What pale, blank and framed cells mean, of those that are there."""
    seen = {
        "pale: outside a window": any(window_splits(plane) for plane in planes),
        "blank: does not fit the device": any(not plane.feasible.all() for plane in planes),
        "framed: the best": any(plane.best is not None for plane in planes),
    }
    return "; ".join(text for text, shown in seen.items() if shown)


def window_splits(plane: Plane) -> bool:
    """Whether some cells lie in every window and some do not."""
    inside = plane.in_window & plane.feasible
    return bool(inside.any() and not inside[plane.feasible].all())


def draw_quantity(figure: Figure, planes: Sequence[tuple[Axes, Plane]]) -> None:
    """Draw planes of one quantity on one colour scale."""
    from matplotlib.colors import LogNorm

    first = planes[0][1]
    known = np.concatenate([plane.known for _, plane in planes])
    unit = best_unit(known.tolist(), first.units, next(iter(first.units))) if first.units and known.size else ""
    size = first.units[unit] if unit else 1.0
    norm = LogNorm(known.min() / size, known.max() / size) if known.size else LogNorm()
    colors = light_colors() if any(is_labelled(plane) for _, plane in planes) else all_colors()
    for axes, plane in planes:
        mesh = draw_plane(axes, plane, size, norm, colors)
    bar = figure.colorbar(mesh, ax=[axes for axes, _ in planes], label=f"{first.quantity} ({unit})" if unit else first.quantity)
    ticks = scale_ticks(known / size)
    bar.set_ticks(ticks, labels=[f"{float(f'{value:.3g}'):g}" for value in ticks])
    bar.ax.minorticks_off()


def scale_ticks(values: FloatArray) -> list[float]:
    """Round values along a colour scale; where fewer than three lie in its range, its ends and what is round between them."""
    ticks = round_values(values)
    if len(ticks) >= LEAST_MARKS or not values.size or values.min() == values.max():
        return ticks
    low, high = float(values.min()), float(values.max())
    inner = [head * 10.0**ten for ten in range(int(np.floor(np.log10(low))), int(np.log10(high)) + 2) for head in HEADS]
    room = (high / low) ** ROOM
    return [low, *(each for each in inner if low * room < each < high / room), high]


def is_labelled(plane: Plane) -> bool:
    """Whether the cells are few enough to read a number in each."""
    return plane.values.size <= LABELLED_CELLS


def draw_plane(axes: Axes, plane: Plane, size: float, norm: Any, colors: Colormap) -> Any:
    """Draw one plane in units of ``size``; the mesh, for its colour scale."""
    shown = np.where(plane.feasible, plane.values / size, np.nan)
    axes.grid(visible=False)
    mesh = axes.pcolormesh(shown, norm=norm, cmap=colors, edgecolors="white", linewidth=0.4, rasterized=not is_labelled(plane))
    label_cells(axes, shown)
    if window_splits(plane):
        pale_cells(axes, plane.feasible & ~plane.in_window)
    if plane.best is not None:
        place = [
            int(np.searchsorted(axis, value)) for axis, value in zip((plane.n_nodes, plane.subbatch_size), plane.best, strict=True)
        ]
        frame_cell(axes, *place)
    tick(axes.xaxis, plane.n_nodes)
    tick(axes.yaxis, plane.subbatch_size)
    axes.set(xlabel="nodes", ylabel="sub-batch (samples)", title=plane.title)
    return mesh


def light_colors() -> Colormap:
    """Yellow to blue as far as black numbers can be read on it."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps["YlGnBu"](np.linspace(0.02, 0.62, 256)))


def all_colors() -> Colormap:
    """Yellow to dark blue: where no number stands in a cell, its colour alone tells the value."""
    from matplotlib import colormaps

    return colormaps["YlGnBu"]


def label_cells(axes: Axes, shown: FloatArray) -> None:
    """Write each cell's value in three digits while the cells are few enough to read."""
    if shown.size > LABELLED_CELLS:
        return
    for (row, column), value in np.ndenumerate(shown):
        if np.isfinite(value):
            axes.text(column + 0.5, row + 0.5, three_digits(value), ha="center", va="center", fontsize=6.5, zorder=4)


def three_digits(value: float) -> str:
    """``9.87``, ``98.7``, ``987``, ``9.9k``."""
    return f"{value / 1000:.3g}k" if value >= 9999.5 else f"{value:.{max(0, 2 - int(np.floor(np.log10(max(value, 1e-9)))))}f}"


def pale_cells(axes: Axes, cells: BoolArray) -> None:
    """Cover the cells that are True by a veil, under the numbers: a hatch would cross them."""
    from matplotlib.colors import ListedColormap

    if cells.any():
        axes.pcolor(np.ma.masked_where(~cells, np.zeros(cells.shape)), cmap=ListedColormap(["white"]), alpha=0.72, zorder=2)


def frame_cell(axes: Axes, column: int, row: int) -> None:
    """Put a frame around one cell."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=FRAME, linewidth=2.4, zorder=5))


def tick(axis: Any, values: IntArray) -> None:
    """One tick a cell, at most about twenty labels."""
    step = max(1, -(-values.size // 20))
    axis.set_ticks(np.arange(0, values.size, step) + 0.5, labels=[str(value) for value in values[::step]])
