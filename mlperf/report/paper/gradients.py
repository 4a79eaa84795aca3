"""Figures 7 and 8: gradient time of networks and of their kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import GREY, MARKERS, PALETTE, new_figure
from mlperf.report.figures.plots import limits
from mlperf.report.paper.axes import count_ticks, whiskers
from mlperf.report.paper.bars import part_looks, stacked_bars
from mlperf.report.paper.result import MEASURED, Drawing
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, percent_text
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.gradients import (
    gradient_steps,
    kernel_shares,
    relative_errors_of,
    spread_of_networks,
    step_spread,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 6
NAMED_PRODUCTS, NAMED_MEMORY = 6, 7


def step_drawings(material: FigureInputs) -> list[Drawing]:
    """Some networks over the sub-batch size (left), every step predicted against measured (right)."""
    table, how = gradient_steps(material)
    unit = best_unit(table["measured_s"].tolist(), TIME_UNITS_S, "s")
    figure = new_figure(9.4, 4.6)
    left, right = figure.subplots(1, 2, width_ratios=(1.15, 1.0))
    cnns = spread_of_networks(material, table, MOST_LINES)
    draw_lines(left, table, cnns, TIME_UNITS_S[unit])
    left.set(yscale="log", xlabel="sub-batch (samples)", ylabel=f"gradient time ({unit})", title="Measured and predicted")
    draw_equality(right, table, TIME_UNITS_S[unit])
    right.set(xlabel=f"measured ({unit})", ylabel=f"predicted ({unit})", title="All networks")
    error = relative_errors_of(table)
    caption = (
        f"Solid: measured (median; whiskers: least and greatest round), dotted: predicted; {len(cnns)} of {table['cnn'].nunique()} "
        f"networks from fastest to slowest, backend {material.gradient.backend}. All {how}: mean error "
        f"{percent_text(float(error.mean()))}, largest {percent_text(float(error.max()))}.{unpredicted(table)}"
    )
    return [Drawing(MEASURED, caption, table, figure)]


def unpredicted(table: pd.DataFrame) -> str:
    """How many steps run a kernel that no other network has."""
    n_absent = int(table["predicted_s"].isna().sum())
    return f" {n_absent} of {len(table)} steps run a kernel that no other network has: no prediction." if n_absent else ""


def draw_lines(axes: Axes, table: pd.DataFrame, cnns: list[str], size_s: float) -> None:
    """One network a colour: solid with whiskers measured, dotted predicted."""
    for cnn, color, marker in zip(cnns, PALETTE, MARKERS, strict=False):
        rows = table[table["cnn"] == cnn].sort_values("subbatch_size")
        x = rows["subbatch_size"].to_numpy(float)
        whiskers(axes, x, rows["min_s"].to_numpy() / size_s, rows["max_s"].to_numpy() / size_s, color=color, linewidth=1.0)
        axes.plot(x, rows["measured_s"] / size_s, color=color, marker=marker, linewidth=1.3, label=cnn)
        axes.plot(x, rows["predicted_s"] / size_s, color=color, linestyle=(0, (1, 1.5)), linewidth=1.8, label="_predicted")
    axes.set_xscale("log")
    count_ticks(axes.xaxis, sorted(table.loc[table["cnn"].isin(cnns), "subbatch_size"].unique()))
    handles, labels = axes.get_legend_handles_labels()
    axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), borderaxespad=0.3, fontsize=8)


def draw_equality(axes: Axes, table: pd.DataFrame, size_s: float) -> None:
    """Every step, predicted against measured, with the line of equality."""
    rows = table.dropna(subset=["predicted_s"])
    measured, predicted = rows["measured_s"].to_numpy(float) / size_s, rows["predicted_s"].to_numpy(float) / size_s
    low, high = limits(measured, predicted)
    axes.plot([low, high], [low, high], color=GREY, linewidth=0.9, zorder=1)
    axes.plot(measured, predicted, "o", color=PALETTE[0], markersize=3.4, markeredgewidth=0, alpha=0.75, zorder=2)
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")


def share_drawings(material: FigureInputs) -> list[Drawing]:
    """One network at one sub-batch size: bars of its kernels, measured, predicted, and by the paper's method."""
    table, cnn, size, how = kernel_shares(material)
    by_kernel = table.set_index("kernel")
    bars = {"measured": by_kernel["measured_s"], "predicted": by_kernel["predicted_s"], "paper's\nmethod": by_kernel["paper_s"]}
    bars = {name: seconds for name, seconds in bars.items() if seconds.notna().any()}
    products = table.loc[table["is_product"], "kernel"].tolist()[:NAMED_PRODUCTS]
    memory = table.loc[~table["is_product"], "kernel"].tolist()[:NAMED_MEMORY]
    figure = new_figure(9.2, 3.9)
    axes = figure.add_subplot()
    spread = step_spread(material, busy=True)
    step = spread[(spread["cnn"] == cnn) & (spread["subbatch_size"] == size)].iloc[0]
    stacked_bars(
        axes, bars, part_looks([*products, *memory], hatched=memory), {"measured": step_ends(step, by_kernel["measured_s"])}
    )
    axes.set_title(f"{cnn}, sub-batch {size}")
    known = table.dropna(subset=["predicted_s"])
    told = "nothing predicted"
    if len(known):
        error = np.abs(known["predicted_s"].sum() / known["measured_s"].sum() - 1.0)
        told = f"{how}, and by the paper's method fitted on the same rows (error of the sum {percent_text(float(error))})"
    if len(known) < len(table):
        told += f"; {len(table) - len(known)} of {len(table)} kernels are in no other network"
    caption = (
        f"Kernels of one step of {cnn} at sub-batch {size}: measured (sum of medians over calls; whisker: least and greatest round "
        f"of the whole step), {told}. Plain: matrix products; hatched: memory-bound kernels."
    )
    return [Drawing(MEASURED, caption, table, figure)]


def step_ends(step: pd.Series, parts: pd.Series) -> tuple[float, float]:
    """Ends of the whole step over its rounds, as far from the sum of the parts as they are from the step's median."""
    total = float(parts.sum())
    return total * float(step["min_s"] / step["measured_s"]), total * float(step["max_s"] / step["measured_s"])
