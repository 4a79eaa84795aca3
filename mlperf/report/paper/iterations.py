"""Figures 9 and 10: iterations of the GPU thread and of the update thread over nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures import GREY, MARKERS, PALETTE, new_figure
from mlperf.report.numbers import TIME_UNITS_S, best_unit, percent_text
from mlperf.report.paper.axes import count_ticks, whiskers
from mlperf.report.paper.result import Drawing
from mlperf.systems.paper.material import Material
from mlperf.systems.paper.run_costs import KEYS
from mlperf.systems.paper.run_rows import RunRows, run_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_ROWS, MOST_COLUMNS = 4, 4
THREADS = {"gpu_iteration_s": ("T_GPU", "GPU thread"), "update_iteration_s": ("T_Update", "update thread")}
PREDICTED = (0, (1, 1.5))


def gpu_drawings(material: Material) -> list[Drawing]:
    """Figure 9: T_GPU."""
    return [drawing(rows, "gpu_iteration_s") for rows in run_rows(material)]


def update_drawings(material: Material) -> list[Drawing]:
    """Figure 10: T_Update."""
    return [drawing(rows, "update_iteration_s") for rows in run_rows(material)]


def drawing(rows: RunRows, output: str) -> Drawing:
    """One panel a network (down) and number of GPUs (across), one colour a sub-batch size."""
    table = measured_rows(rows, output)
    cnns, gpus = sorted(table["cnn"].unique())[:MOST_ROWS], sorted(table["n_gpus_per_node"].unique())[:MOST_COLUMNS]
    shown = table[table["cnn"].isin(cnns) & table["n_gpus_per_node"].isin(gpus)].reset_index(drop=True)
    unit = best_unit(shown["measured_s"].tolist(), TIME_UNITS_S, "s")
    figure = new_figure(1.9 + 2.1 * max(2, len(gpus)), 1.5 + 2.1 * len(cnns))
    grid = figure.subplots(len(cnns), len(gpus), sharex=True, sharey="row", squeeze=False)
    sizes = sorted(shown["subbatch_size"].unique())
    for row, cnn in enumerate(cnns):
        for column, n_gpus in enumerate(gpus):
            panel = shown[(shown["cnn"] == cnn) & (shown["n_gpus_per_node"] == n_gpus)]
            draw_panel(grid[row, column], panel, sizes, TIME_UNITS_S[unit])
            grid[row, column].set_title(f"{n_gpus} GPU{'s' if n_gpus > 1 else ''} a node" if row == 0 else "", fontsize=9)
        grid[row, 0].set_ylabel(f"{cnn}\n{THREADS[output][0]} ({unit})")
    for axes in grid[:, 0]:
        axes.set_ylim(bottom=0)
    for axes in grid[-1]:
        axes.set_xlabel("nodes")
        count_ticks(axes.xaxis, sorted(shown["n_nodes"].unique()))
    draw_legend(figure, sizes, has_prediction=bool(shown["predicted_s"].notna().any()))
    return Drawing(rows.mode, caption(rows, shown, output), shown, figure)


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
