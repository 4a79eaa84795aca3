"""Figures of kernel studies: operations per clock cycle by pattern, measured and predicted times by pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import PALETTE, add_caption, single_axes
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, percent_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED_PATTERNS = 40
"""Patterns up to this number are named on the axis."""


def operations_by_pattern(
    operations: pd.DataFrame, clock: str, *, build: str | None = None, pattern_set: str | None = None
) -> Figure:
    """Operations per clock cycle of every pattern, one series a size: the paper's figure 2.

    Parameters
    ----------
    operations : DataFrame
        As `mlperf.studies.kernels.KernelStudy.operations`.
    clock : str
        Where cycles come from; stands under the figure.
    build, pattern_set : str, optional
        What to draw; by default the build with the most sizes.
    """
    rows = one_family(operations, build, pattern_set)
    known = rows["operations_per_cycle"].notna().any()
    value, label = ("operations_per_cycle", "operations / clock cycle") if known else ("operations_per_s", "operations / s")
    series = rows.pivot_table(index="pattern", columns="N", values=value, sort=False)
    series = series.sort_values(series.columns[-1])
    with single_axes(7.4, 4.2) as (figure, axes):
        place = np.arange(len(series))
        for size, color in zip(series.columns, PALETTE, strict=False):
            axes.plot(place, series[size], ".", color=color, markersize=3, alpha=0.8, label=f"N = {size}")
        title = f"{rows['pattern_set'].iloc[0]}, {rows['build'].iloc[0]}".strip(", ")
        axes.set(ylabel=label, title=title, ylim=(0, None))
        name_patterns(axes, list(map(str, series.index)), f"pattern, in the order of N = {series.columns[-1]}")
        axes.legend(loc="upper left")
        add_caption(figure, f"operations: executions of the innermost statement; cycles: {clock}")
    return figure


def one_family(operations: pd.DataFrame, build: str | None, pattern_set: str | None) -> pd.DataFrame:
    """Rows of one build and family of one machine."""
    rows = operations
    for name, wanted in (("build", build), ("pattern_set", pattern_set)):
        if wanted is not None:
            rows = rows[rows[name] == wanted]
    found = rows.groupby(["machine", "pattern_set", "build"], sort=False)["N"].agg(["nunique", "size"])
    best = found.sort_values(["nunique", "size"], ascending=False, kind="stable").index[0]
    here = (rows["machine"] == best[0]) & (rows["pattern_set"] == best[1]) & (rows["build"] == best[2])
    chosen: pd.DataFrame = rows[here]
    return chosen


def times_by_pattern(predictions: pd.DataFrame, *, title: str = "") -> Figure:
    """Measured and predicted time of every pattern, in the order of the measured time: the paper's figure 6.

    Parameters
    ----------
    predictions : DataFrame
        ``pattern``, ``measured_s``, ``predicted_s``; ``lower_s`` and ``upper_s`` where intervals are known.
    title : str
        Heading.
    """
    rows = predictions.sort_values("measured_s", kind="stable", na_position="first").reset_index(drop=True)
    unit = best_unit(rows["predicted_s"].tolist(), TIME_UNITS_S, "s")
    size_s = TIME_UNITS_S[unit]
    place = np.arange(len(rows))
    with single_axes(7.4, 4.2) as (figure, axes):
        if rows["lower_s"].notna().any():
            axes.fill_between(
                place, rows["lower_s"] / size_s, rows["upper_s"] / size_s, color="#DDDDDD", linewidth=0, label="95 % of runs"
            )
        axes.plot(place, rows["predicted_s"] / size_s, ".", color=PALETTE[2], markersize=3.5, alpha=0.9, label="predicted")
        if rows["measured_s"].notna().any():
            axes.plot(place, rows["measured_s"] / size_s, ".", color=PALETTE[3], markersize=3.0, label="measured")
            error = np.abs(rows["predicted_s"] / rows["measured_s"] - 1.0)
            axes.text(
                0.98, 0.03, f"MAPE {percent_text(float(error.mean()))}, n = {len(rows)}", transform=axes.transAxes, ha="right"
            )
        axes.set(yscale="log", ylabel=f"time ({unit})", title=title)
        name_patterns(axes, rows["pattern"].astype(str).tolist(), "pattern, in the order of the measured time")
        axes.legend(loc="upper left")
    return figure


def name_patterns(axes: Axes, patterns: list[str], label: str) -> None:
    """Name patterns on the axis while they are few enough to read."""
    axes.set_xlim(-1, len(patterns))
    if len(patterns) > NAMED_PATTERNS:
        axes.set_xlabel(label)
        return
    axes.set_xticks(range(len(patterns)), labels=patterns, rotation=90, fontsize=6.5)
