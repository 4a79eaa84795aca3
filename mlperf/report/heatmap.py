"""The search plane: epoch time over nodes and sub-batch, window hatched, infeasible blank, optimum framed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.report.figures import new_figure, style
from mlperf.report.numbers import TIME_UNITS_S, best_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FRAME = "#D55E00"
LABELLED_CELLS = 200


def search_map(
    n_nodes: IntArray,
    subbatch_size: IntArray,
    epoch_s: FloatArray,
    in_window: BoolArray,
    feasible: BoolArray,
    *,
    best: tuple[int, int] | None = None,
    title: str = "",
) -> Figure:
    """Draw one cell a configuration.

    Parameters
    ----------
    n_nodes : array, shape (n_columns,)
        Ascending.
    subbatch_size : array, shape (n_rows,)
        Ascending, samples.
    epoch_s : array, shape (n_rows, n_columns)
        Seconds; NaN where not computed.
    in_window : array, shape (n_rows, n_columns)
        Mean mini-batch inside the window: hatched.
    feasible : array, shape (n_rows, n_columns)
        False (device memory too small): blank.
    best : (n_nodes, subbatch_size), optional
        The optimum: framed.
    title : str
        Heading.
    """
    unit = best_unit(epoch_s[feasible].tolist(), TIME_UNITS_S, "s")
    shown = np.where(feasible, epoch_s / TIME_UNITS_S[unit], np.nan)
    with style():
        from matplotlib.colors import LogNorm

        figure = new_figure(min(12.0, 2.6 + 0.42 * n_nodes.size), min(8.0, 1.8 + 0.34 * subbatch_size.size))
        axes = figure.add_subplot()
        axes.grid(visible=False)
        mesh = axes.pcolormesh(
            shown, norm=LogNorm(), cmap="cividis_r", edgecolors="white", linewidth=0.4, rasterized=shown.size > LABELLED_CELLS
        )
        label_cells(axes, shown)
        hatch_cells(axes, in_window & feasible)
        if best is not None:
            frame_cell(axes, int(np.searchsorted(n_nodes, best[0])), int(np.searchsorted(subbatch_size, best[1])))
        tick(axes.xaxis, n_nodes)
        tick(axes.yaxis, subbatch_size)
        axes.set(xlabel="nodes", ylabel="sub-batch (samples)", title=title)
        bar = figure.colorbar(mesh, ax=axes, label=f"epoch ({unit})")
        bar.ax.minorticks_off()
        figure.supxlabel(
            "hatched: mini-batch inside the window; blank: does not fit the device; framed: fastest in the window", fontsize=7.5
        )
    return figure


def label_cells(axes: Axes, shown: FloatArray) -> None:
    """Write each cell's value while the cells are few enough to read."""
    if shown.size > LABELLED_CELLS:
        return
    middle = float(np.exp(np.nanmean(np.log(shown)))) if np.isfinite(shown).any() else 1.0
    for (row, column), value in np.ndenumerate(shown):
        if np.isfinite(value):
            color = "white" if value > middle else "black"
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
