"""Figure 5: memory-bound kernels over what they move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import GREY, PALETTE, new_figure
from mlperf.report.paper.axes import whiskers
from mlperf.report.paper.result import MEASURED, Drawing
from mlperf.report.text.numbers import BYTE_UNITS, TIME_UNITS_S, best_unit, number_text
from mlperf.specs.kernels.kernels import MEMORY_KERNELS
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.kernel_lines import kernel_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_PANELS, COLUMNS = 12, 4


def line_drawings(material: FigureInputs) -> list[Drawing]:
    """One panel a kernel, its time over its bytes relative to the largest measured."""
    campaign = material.campaign
    backend = str(sorted(campaign.table("kernels")["backend"].unique())[0])
    every = kernel_lines(campaign.table("kernels"), backend, material.seed)
    kernels = shown_kernels(every)
    table = every[every["kernel"].isin(kernels)].reset_index(drop=True)
    n_rows = -(-len(kernels) // COLUMNS)
    figure = new_figure(9.2, 0.9 + 2.0 * n_rows)
    grid = figure.subplots(n_rows, min(COLUMNS, len(kernels)), sharex=True, squeeze=False)
    for axes, kernel in zip(grid.ravel(), kernels, strict=False):
        draw_kernel(axes, table[table["kernel"] == kernel], kernel)
    for axes in grid.ravel()[len(kernels) :]:
        axes.set_visible(False)
    for number, axes in enumerate(grid.ravel()[: len(kernels)]):
        if number + COLUMNS >= len(kernels):
            axes.tick_params(labelbottom=True)
            axes.set_xlabel("bytes moved (largest = 1)", fontsize=8)
    left_out = every["kernel"].nunique() - len(kernels)
    caption = (
        f"Backend {backend}. Points: measured, median of the rounds of one call; whiskers: least and greatest round; up to 4 "
        "random calls in each twentieth of the sizes. Lines: least squares through all calls of the kernel (eq. 5), in-sample."
        + (f" {left_out} kernels with fewer calls are not shown." if left_out else "")
    )
    return [Drawing(MEASURED, caption, table, figure)]


def shown_kernels(table: pd.DataFrame) -> list[str]:
    """The kernels with most calls, in the order in which a training step first meets them."""
    calls = table.groupby("kernel")["n_calls"].first().sort_values(ascending=False, kind="stable")
    known = [*MEMORY_KERNELS, *(name for name in calls.index if name not in MEMORY_KERNELS)]
    kept = set(calls.index[:MOST_PANELS])
    return [name for name in known if name in kept]


def draw_kernel(axes: Axes, points: pd.DataFrame, kernel: str) -> None:
    """Points, whiskers and line of one kernel."""
    unit = best_unit([float(points["max_s"].max()) / 3.0], TIME_UNITS_S, "s")
    size_s = TIME_UNITS_S[unit]
    x = points["relative_access"].to_numpy(float)
    whiskers(
        axes, x, points["min_s"].to_numpy() / size_s, points["max_s"].to_numpy() / size_s, color="#9CC4DE", linewidth=0.8, zorder=1
    )
    axes.plot(x, points["time_s"] / size_s, "o", color=PALETTE[0], markersize=2.6, markeredgewidth=0, zorder=3)
    ends = points.sort_values("relative_access").iloc[[0, -1]]
    axes.plot(ends["relative_access"], ends["line_s"] / size_s, color=PALETTE[3], linewidth=1.3, zorder=2)
    largest = float(points["largest_bytes"].iloc[0])
    memory = best_unit([largest], BYTE_UNITS, "B")
    axes.set_title(kernel.replace("_", " "), fontsize=8.5)
    size = f"1 = {number_text(largest / BYTE_UNITS[memory], 3)} {memory}"
    axes.text(0.98, 0.05, size, transform=axes.transAxes, fontsize=7, color=GREY, ha="right")
    axes.set(xlim=(-0.03, 1.03), ylim=(0, 1.08 * float(np.max(points["max_s"])) / size_s))
    axes.tick_params(labelsize=7.5)
    axes.set_ylabel(unit, fontsize=8, labelpad=2)
