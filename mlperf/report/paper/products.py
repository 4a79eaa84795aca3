"""Figures 4 and 6: matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import PALETTE, new_figure
from mlperf.report.paper.axes import size_map
from mlperf.report.paper.result import MEASURED, Drawing
from mlperf.report.text.numbers import percent_text
from mlperf.studies.paper.figure_inputs import FigureInputs
from mlperf.studies.paper.products import product_errors, product_plane

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GIGA = 1e9
FLAGS = {"NN": "A B", "TN": "Aᵀ B", "NT": "A Bᵀ", "TT": "Aᵀ Bᵀ"}
CURVES = (
    ("local_error", "local: 8 nearest sizes (eq. 6)", PALETTE[0], "-"),
    ("global_error", "one global model", PALETTE[3], "--"),
)
# Colours stop here: a handful of points that are off by more would hide all else.
MOST_ERROR = 0.5


def plane_drawings(material: FigureInputs) -> list[Drawing]:
    """Rate (left) and time (right) over m and n at one k."""
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.ticker import NullLocator

    table = product_plane(material.campaign.table("sgemm"))
    pair, k = str(table["trans"].iloc[0]), int(table["k"].iloc[0])
    figure = new_figure(9.2, 4.5)
    left, right = figure.subplots(1, 2)
    rate = size_map(left, table.assign(rate=table["flop_per_s"] / GIGA), "rate", cmap="cividis", norm=Normalize(vmin=0))
    time = size_map(right, table.assign(ms=table["time_s"] * 1e3), "ms", cmap="cividis", norm=LogNorm())
    left.set_title("Rate")
    right.set_title("Time")
    figure.colorbar(rate, ax=left, label="rate (GFLOP/s)")
    figure.colorbar(time, ax=right, label="time (ms)").ax.yaxis.set_minor_locator(NullLocator())
    caption = (
        f"Isolated products C = {FLAGS[pair]} at k = {k}, measured: median of {repeats(table)} repeats of each of {len(table)} "
        "sizes. Blank: not measured. Steps in the rate show where the library takes another inner kernel."
    )
    return [Drawing(MEASURED, caption, table, figure)]


def repeats(table: pd.DataFrame) -> str:
    """``5``, or ``3 to 5``."""
    least, most = int(table["n_repeats"].min()), int(table["n_repeats"].max())
    return str(least) if least == most else f"{least} to {most}"


def error_drawings(material: FigureInputs) -> list[Drawing]:
    """Where the local model errs (left), and how its errors compare with those of one global model (right)."""
    table = product_errors(material.campaign.table("sgemm"), material.products)
    figure = new_figure(9.2, 4.5)
    left, right = figure.subplots(1, 2)
    draw_error_map(figure, left, table)
    for column, label, color, line in CURVES:
        draw_error_curve(right, np.abs(table[column].to_numpy(float)), label, color, line)
    right.set(xscale="log", xlabel="absolute error (%)", ylabel="share of products with at most this error", ylim=(0, 1.02))
    right.set_title("Local against global")
    right.set_xlim(left=0.1)
    right.legend(loc="upper left", handlelength=2.4, fontsize=8)
    third = {column: percent_text(float(np.quantile(np.abs(table[column]), 0.75))) for column, *_ in CURVES}
    caption = (
        f"Predicted against measured times of {len(table)} products between the sizes of the grid, on which nothing was fitted. "
        f"Third quartile of the absolute error (dotted): local {third['local_error']}, global {third['global_error']}."
    )
    return [Drawing(MEASURED, caption, table, figure)]


def draw_error_map(figure: Figure, axes: Axes, table: pd.DataFrame) -> None:
    """Median absolute error of the local model in cells of an octave of m and n, over all k and flags."""
    from matplotlib.colors import Normalize

    octaves = table.assign(
        m=2.0 ** np.floor(np.log2(table["m"])), n=2.0 ** np.floor(np.log2(table["n"])), error=100 * np.abs(table["local_error"])
    )
    cells = octaves.groupby(["m", "n"])["error"].median().reset_index()
    most = float(cells["error"].max())
    mesh = size_map(axes, cells, "error", cmap="cividis_r", norm=Normalize(0, min(100 * MOST_ERROR, most)))
    axes.set_title("Median error of the local model")
    figure.colorbar(mesh, ax=axes, label="absolute error (%)", extend="max" if most > 100 * MOST_ERROR else "neither")


def draw_error_curve(axes: Axes, error: np.ndarray, label: str, color: str, line: str) -> None:
    """The share of points with at most an error, and its third quartile."""
    ordered = np.sort(error) * 100
    axes.plot(ordered, np.arange(1, len(ordered) + 1) / len(ordered), color=color, linestyle=line, linewidth=1.5, label=label)
    axes.vlines(np.quantile(ordered, 0.75), 0, 0.75, colors=color, linestyles=(0, (1, 2)), linewidth=1.2)
