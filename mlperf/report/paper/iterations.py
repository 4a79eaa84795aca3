"""Figures 9 and 10: iterations of the GPU thread and of the update thread over nodes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import GREY, MARKERS, PALETTE, counted, new_figure
from mlperf.report.paper.axes import count_ticks, whiskers
from mlperf.report.paper.result import Drawing
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, percent_text
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.run_rows import KEYS, RunRows, run_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS, MOST_COLUMNS, MOST_PANELS = 4, 4, 8
THREADS = {"gpu_iteration_s": ("T_GPU", "GPU thread"), "update_iteration_s": ("T_Update", "update thread")}
PREDICTED = (0, (1, 1.5))


def gpu_drawings(material: FigureInputs) -> list[Drawing]:
    """Draw figure 9: the iteration of the GPU thread."""
    return [drawing(rows, "gpu_iteration_s") for rows in run_rows(material)]


def update_drawings(material: FigureInputs) -> list[Drawing]:
    """Draw figure 10: the iteration of the update thread."""
    return [drawing(rows, "update_iteration_s") for rows in run_rows(material)]


def drawing(rows: RunRows, output: str) -> Drawing:
    """One panel a network and number of GPUs, one colour a sub-batch size."""
    table = measured_rows(rows, output)
    shown, panels, n_columns = laid_out(table)
    unit = best_unit(shown["measured_s"].tolist(), TIME_UNITS_S, "s")
    n_rows = -(-len(panels) // n_columns)
    figure = new_figure(1.9 + 2.1 * max(2, n_columns), 1.5 + 2.1 * n_rows)
    several = shown["n_gpus_per_node"].nunique() > 1
    grid = figure.subplots(n_rows, n_columns, sharex=True, sharey="row" if several else "none", squeeze=False)
    sizes = sorted(shown["subbatch_size"].unique())
    for axes, (cnn, n_gpus) in zip(grid.ravel(), panels, strict=False):
        panel = shown[(shown["cnn"] == cnn) & (shown["n_gpus_per_node"] == n_gpus)]
        draw_panel(axes, panel, sizes, TIME_UNITS_S[unit])
        axes.set_title(f"{cnn}, {counted(n_gpus, 'GPU')} a node", fontsize=9)
        axes.set_xlabel("nodes")
        count_ticks(axes.xaxis, sorted(shown["n_nodes"].unique()))
        axes.tick_params(labelbottom=True)
    for axes in grid.ravel()[: len(panels)]:
        axes.set_ylim(bottom=0)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)
    for axes in grid[:, 0]:
        axes.set_ylabel(f"{THREADS[output][0]} ({unit})")
    draw_legend(figure, sizes, has_prediction=bool(shown["predicted_s"].notna().any()))
    return Drawing(rows.mode, caption(rows, shown, output), shown, figure)


def laid_out(table: pd.DataFrame) -> tuple[pd.DataFrame, list[tuple[str, int]], int]:
    """The rows that are drawn, their panels, and how many of them stand side by side.

    Networks go down and numbers of GPUs across where there are several of both; else the panels fill row by row.
    """
    cnns, gpus = sorted(table["cnn"].unique()), sorted(int(each) for each in table["n_gpus_per_node"].unique())
    both = len(cnns) > 1 and len(gpus) > 1
    cnns, gpus = (cnns[:MOST_ROWS], gpus[:MOST_COLUMNS]) if both else (cnns[:MOST_PANELS], gpus[:MOST_PANELS])
    shown = table[table["cnn"].isin(cnns) & table["n_gpus_per_node"].isin(gpus)].reset_index(drop=True)
    panels = list(product(cnns, gpus))
    n_rows = -(-len(panels) // MOST_COLUMNS)
    return shown, panels, len(gpus) if both else -(-len(panels) // n_rows)


def measured_rows(rows: RunRows, output: str) -> pd.DataFrame:
    """The table of one output: setting, ``n_runs``, ``measured_s``, ``min_s``, ``max_s``, ``predicted_s``."""
    named = {output: "measured_s", f"{output}_min": "min_s", f"{output}_max": "max_s", f"{output}_predicted": "predicted_s"}
    return rows.table[[*KEYS, "n_runs", *named]].rename(columns=named)


def draw_panel(axes: Axes, panel: pd.DataFrame, sizes: list[int], size_s: float) -> None:
    """Solid with whiskers measured, dotted predicted."""
    for size, color, marker in zip(sizes, PALETTE, MARKERS, strict=False):
        rows = panel[panel["subbatch_size"] == size].sort_values("n_nodes")
        x = rows["n_nodes"].to_numpy(float)
        whiskers(
            axes,
            x,
            rows["min_s"].to_numpy() / size_s,
            rows["max_s"].to_numpy() / size_s,
            color=color,
            linewidth=1.1,
            solid_capstyle="butt",
        )
        for end in ("min_s", "max_s"):
            axes.plot(x, rows[end] / size_s, "_", color=color, markersize=5, markeredgewidth=1.0, label="_end")
        axes.plot(x, rows["measured_s"] / size_s, color=color, marker=marker, linewidth=1.3, markersize=4, label="_measured")
        axes.plot(x, rows["predicted_s"] / size_s, color=color, linestyle=PREDICTED, linewidth=1.9, label="_predicted")
        axes.plot(x, rows["predicted_s"] / size_s, marker, color=color, markerfacecolor="white", markersize=4, label="_predicted")
    axes.set_xscale("log")


def draw_legend(figure: Figure, sizes: list[int], *, has_prediction: bool) -> None:
    """Sub-batch sizes by colour, and what solid and dotted mean."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=color, marker=marker, markersize=4, linewidth=1.3, label=f"sub-batch {size}")
        for size, color, marker in zip(sizes, PALETTE, MARKERS, strict=False)
    ]
    handles.append(Line2D([], [], color=GREY, linewidth=1.3, label="measured"))
    if has_prediction:
        handles.append(Line2D([], [], color=GREY, linewidth=1.9, linestyle=PREDICTED, label="predicted"))
    figure.legend(handles=handles, loc="outside right upper", fontsize=8.5)


def caption(rows: RunRows, shown: pd.DataFrame, output: str) -> str:
    """Mode, repeats, how it was predicted and how well."""
    symbol, thread = THREADS[output]
    known = shown.dropna(subset=["predicted_s"])
    error = np.abs(known["predicted_s"] / known["measured_s"] - 1.0)
    how = rows.how
    if len(known):
        how = f"dotted, hollow: {how}; mean error {percent_text(float(error.mean()))}, largest {percent_text(float(error.max()))}"
    return f"{symbol}, one iteration of the {thread}. Mode: {rows.mode}. Solid: measured, {repeats(shown['n_runs'])}; {how}."


def repeats(n_runs: pd.Series) -> str:
    """How many runs a setting has, and what the whiskers are."""
    least, most = int(n_runs.min()), int(n_runs.max())
    if most == 1:
        return "one run a setting"
    return f"mean of {least if least == most else f'{least} to {most}'} runs a setting, whiskers: least and greatest run"
