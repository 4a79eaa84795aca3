"""Figures 12 and 13: epoch time and mean mini-batch size over nodes and sub-batch, pale outside the window, fastest framed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import new_figure
from mlperf.report.figures.heatmap import frame_cell, label_cells, light_colors, pale_cells, tick
from mlperf.report.paper.result import Drawing
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, number_text
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.planes import Plane, first_plane, second_plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def first_drawings(material: FigureInputs) -> list[Drawing]:
    """Figure 12: the first machine."""
    return [plane_drawing(first_plane(material))]


def second_drawings(material: FigureInputs) -> list[Drawing]:
    """Figure 13: the second machine."""
    return [plane_drawing(second_plane(material))]


def plane_drawing(plane: Plane) -> Drawing:
    """T_Epoch above, N_Minibatch below."""
    table = plane.table
    unit = best_unit(table.loc[table["feasible"], "epoch_s"].tolist(), TIME_UNITS_S, "s")
    nodes, sizes = np.sort(table["n_nodes"].unique()), np.sort(table["subbatch_size"].unique())
    figure = new_figure(min(10.0, 2.4 + 0.46 * nodes.size), min(10.5, 1.9 + 0.58 * sizes.size))
    upper, lower = figure.subplots(2, 1, sharex=True)
    draw_plane(figure, upper, table.assign(value=table["epoch_s"] / TIME_UNITS_S[unit]), f"T_Epoch ({unit})")
    draw_plane(figure, lower, table.assign(value=table["mean_minibatch_size"]), "mean mini-batch (samples)")
    upper.set_title(plane.title)
    lower.set_xlabel("nodes")
    return Drawing(plane.mode, caption(plane, unit), table, figure)


def draw_plane(figure: Figure, axes: Axes, table: pd.DataFrame, label: str) -> None:
    """One cell a configuration; blank where the device's memory is too small."""
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator, NullLocator

    shown = np.where(flag(table, "feasible"), pivot(table, "value"), np.nan)
    axes.grid(visible=False)
    mesh = axes.pcolormesh(shown, norm=LogNorm(), cmap=light_colors(), rasterized=True)
    inside = flag(table, "in_window")
    if inside.any():
        pale_cells(axes, flag(table, "feasible") & ~inside)
    for row, column in np.argwhere(flag(table, "is_best")):
        frame_cell(axes, int(column), int(row))
    label_cells(axes, shown)
    tick(axes.xaxis, np.sort(table["n_nodes"].unique()))
    tick(axes.yaxis, np.sort(table["subbatch_size"].unique()))
    axes.set_ylabel("sub-batch (samples)")
    bar = figure.colorbar(mesh, ax=axes, label=label)
    bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    bar.ax.yaxis.set_minor_locator(NullLocator())


def pivot(table: pd.DataFrame, column: str) -> np.ndarray:
    """A column as an array, shape (n_subbatches, n_node_counts)."""
    return table.pivot(index="subbatch_size", columns="n_nodes", values=column).to_numpy(float)


def flag(table: pd.DataFrame, column: str) -> Any:
    """A flag as an array, False where the table has no row."""
    return np.nan_to_num(pivot(table.astype({column: float}), column)) > 0


def caption(plane: Plane, unit: str) -> str:
    """Window, optimum, and what the predictions rest on."""
    low, high = (number_text(end) for end in plane.window)
    best = plane.table[plane.table["is_best"]]
    told = "no configuration lies in it"
    if len(best):
        row = best.iloc[0]
        seconds = number_text(row["epoch_s"] / TIME_UNITS_S[unit], 4)
        told = f"framed: the fastest in it, {row['n_nodes']} nodes with sub-batch {row['subbatch_size']} ({seconds} {unit})"
    emulated = "" if plane.mode == "measured" else f" Mode of the runs: {plane.mode}."
    blank = "" if plane.table["feasible"].all() else "; blank: does not fit the device"
    return (
        f"T_Epoch (above) and mean mini-batch size (below), {plane.how}.{emulated} Full colour: mini-batch "
        f"in {low} to {high} samples; "
        f"{told}{blank}."
    )
