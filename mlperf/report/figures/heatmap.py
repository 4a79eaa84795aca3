"""The search plane: time or price over nodes and sub-batch, window hatched, infeasible blank, optimum framed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.report.figures.figures import new_figure, style
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRAME = "#D55E00"
LABELLED_CELLS = 200


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
        What is minimised: seconds, or a price or energy; NaN where not computed.
    in_window : array, shape (n_rows, n_columns)
        Windows hold: hatched.
    feasible : array, shape (n_rows, n_columns)
        False (device memory too small): blank.
    best : (n_nodes, subbatch_size) or None
        The optimum: framed.
    title : str
        Heading.
    quantity : str
        Word of the colour scale; planes of one quantity share one.
    is_time : bool
        Whether the values are seconds, to be shown in the unit that reads best.
    """

    n_nodes: IntArray
    subbatch_size: IntArray
    values: FloatArray
    in_window: BoolArray
    feasible: BoolArray
    best: tuple[int, int] | None = None
    title: str = ""
    quantity: str = "epoch"
    is_time: bool = True

    @property
    def known(self) -> FloatArray:
        """Values of the cells that are drawn."""
        return np.asarray(self.values[self.feasible & np.isfinite(self.values) & (self.values > 0.0)])


def search_maps(planes: Sequence[Plane]) -> Figure:
    """Draw planes under each other, at least one; those of one quantity on one colour scale."""
    with style():
        heights = [1.0 + 0.34 * min(plane.subbatch_size.size, 20) for plane in planes]
        columns = max(plane.n_nodes.size for plane in planes)
        figure = new_figure(min(12.0, 2.6 + 0.42 * columns), min(12.0, 0.8 + sum(heights)))
        every = figure.subplots(len(planes), 1, squeeze=False, height_ratios=heights)[:, 0]
        for quantity in dict.fromkeys(plane.quantity for plane in planes):
            draw_quantity(figure, [(axes, plane) for axes, plane in zip(every, planes, strict=True) if plane.quantity == quantity])
        figure.supxlabel("hatched: every window holds; blank: does not fit the device; framed: best of the hatched", fontsize=7.5)
    return figure


def draw_quantity(figure: Figure, planes: Sequence[tuple[Axes, Plane]]) -> None:
    """Draw planes of one quantity on one colour scale."""
    from matplotlib.colors import LogNorm

    first = planes[0][1]
    known = np.concatenate([plane.known for _, plane in planes])
    unit = best_unit(known.tolist(), TIME_UNITS_S, "s") if first.is_time else ""
    size = TIME_UNITS_S[unit] if first.is_time else 1.0
    norm = LogNorm(known.min() / size, known.max() / size) if known.size else LogNorm()
    for axes, plane in planes:
        mesh = draw_plane(axes, plane, size, norm)
    bar = figure.colorbar(mesh, ax=[axes for axes, _ in planes], label=f"{first.quantity} ({unit})" if unit else first.quantity)
    ticks = round_values(known / size)
    bar.set_ticks(ticks, labels=[f"{value:g}" for value in ticks])
    bar.ax.minorticks_off()


def round_values(values: FloatArray) -> list[float]:
    """1, 2 and 5 times powers of ten in the range of positive values."""
    if not values.size:
        return []
    low, high = float(values.min()), float(values.max())
    tens = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    return [head * 10.0**ten for ten in tens for head in (1.0, 2.0, 5.0) if low <= head * 10.0**ten <= high]


def draw_plane(axes: Axes, plane: Plane, size: float, norm: Any) -> Any:
    """Draw one plane in units of ``size``; the mesh, for its colour scale."""
    shown = np.where(plane.feasible, plane.values / size, np.nan)
    axes.grid(visible=False)
    mesh = axes.pcolormesh(
        shown, norm=norm, cmap="cividis_r", edgecolors="white", linewidth=0.4, rasterized=shown.size > LABELLED_CELLS
    )
    label_cells(axes, shown, norm)
    hatch_cells(axes, plane.in_window & plane.feasible)
    if plane.best is not None:
        place = [
            int(np.searchsorted(axis, value)) for axis, value in zip((plane.n_nodes, plane.subbatch_size), plane.best, strict=True)
        ]
        frame_cell(axes, *place)
    tick(axes.xaxis, plane.n_nodes)
    tick(axes.yaxis, plane.subbatch_size)
    axes.set(xlabel="nodes", ylabel="sub-batch (samples)", title=plane.title)
    return mesh


def label_cells(axes: Axes, shown: FloatArray, norm: Any) -> None:
    """Write each cell's value while the cells are few enough to read; white on the dark half of the colour scale."""
    if shown.size > LABELLED_CELLS:
        return
    for (row, column), value in np.ndenumerate(shown):
        if np.isfinite(value):
            color = "white" if norm(value) > 0.5 else "black"
            axes.text(column + 0.5, row + 0.5, f"{value:.3g}", ha="center", va="center", fontsize=6.5, color=color)


def hatch_cells(axes: Axes, cells: BoolArray) -> None:
    """Hatch the cells that are True."""
    if cells.any():
        shown = np.ma.masked_where(~cells, np.zeros(cells.shape))
        axes.pcolor(shown, hatch="////", facecolor="none", edgecolor="#333333", linewidth=0.0)


def frame_cell(axes: Axes, column: int, row: int) -> None:
    """Put a frame around one cell."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((column, row), 1, 1, fill=False, edgecolor=FRAME, linewidth=2.4, zorder=5))


def tick(axis: Any, values: IntArray) -> None:
    """One tick a cell, at most about twenty labels."""
    step = max(1, -(-values.size // 20))
    axis.set_ticks(np.arange(0, values.size, step) + 0.5, labels=[str(value) for value in values[::step]])
