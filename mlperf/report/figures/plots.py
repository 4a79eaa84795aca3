"""Figures of predictions: measured against predicted, residuals, component bars."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.report.figures.figures import GREY, MARKERS, PALETTE, in_short, legend_beside, single_axes
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, percent_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST_BAR_NAME = 60
"""Letters; more would leave no room for the bars."""
FREE_LETTERS, BAR_LETTER_IN = 40, 0.075
"""Letters of a bar's name beside which there is room enough, and what each more adds to the width."""
LONGEST_TITLE_LINE = 72
"""Bold letters over the width of the bars with their names."""


def measured_predicted(
    measured_s: FloatArray,
    predicted_s: FloatArray,
    *,
    lower_s: FloatArray | None = None,
    upper_s: FloatArray | None = None,
    groups: Sequence[str] | None = None,
    title: str = "",
    quantity: str = "time",
) -> Figure:
    """Predicted against measured times, both axes logarithmic, with the line of equality and 95 % bars.

    Parameters
    ----------
    measured_s, predicted_s : array, shape (n_points,)
        Seconds, > 0.
    lower_s, upper_s : array, shape (n_points,), optional
        Ends of the 95 % prediction interval, seconds.
    groups : sequence of str, length n_points, optional
        One colour and marker a group; a legend up to eight groups.
    title, quantity : str
        Heading, and the word of the axis labels.

    Returns
    -------
    matplotlib Figure
        Not shown; the caller saves it.
    """
    unit = best_unit(measured_s.tolist(), TIME_UNITS_S, "s")
    size_s = TIME_UNITS_S[unit]
    low, high = (float(end) / size_s for end in limits(measured_s, predicted_s))
    with single_axes(5.4, 5.0) as (figure, axes):
        axes.plot([low, high], [low, high], color=GREY, linewidth=0.9, zorder=1, label="equal")
        if lower_s is not None and upper_s is not None:
            bars = np.clip(np.array([predicted_s - lower_s, upper_s - predicted_s]), 0.0, None) / size_s
            axes.errorbar(
                measured_s / size_s,
                predicted_s / size_s,
                yerr=bars,
                fmt="none",
                ecolor="#999999",
                elinewidth=0.8,
                zorder=2,
                label="95 % of runs",
            )
        scatter_groups(axes, measured_s / size_s, predicted_s / size_s, groups)
        error = np.abs(predicted_s / measured_s - 1.0)
        axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
        axes.set(xlabel=f"measured {quantity} ({unit})", ylabel=f"predicted {quantity} ({unit})", title=title)
        axes.text(0.98, 0.03, f"MAPE {percent_text(float(error.mean()))}, n = {error.size}", transform=axes.transAxes, ha="right")
        axes.legend(loc="upper left")
    return figure


def limits(*times_s: FloatArray) -> tuple[float, float]:
    """Common ends of both axes: all points with a margin of 25 %."""
    every = np.concatenate(times_s)
    every = every[every > 0]
    return float(every.min()) / 1.25, float(every.max()) * 1.25


def scatter_groups(axes: Axes, x: FloatArray, y: FloatArray, groups: Sequence[str] | None) -> None:
    """Draw points, one colour and marker a group while there are at most eight, one colour for all beyond."""
    names = sorted(set(groups or ()))
    if not 1 < len(names) <= len(PALETTE):
        axes.scatter(x, y, s=18, color=PALETTE[0], alpha=0.8, linewidths=0, zorder=3, label="one measurement")
        return
    of_point = np.asarray(groups)
    for name, color, marker in zip(names, PALETTE, MARKERS, strict=False):
        here = of_point == name
        axes.scatter(x[here], y[here], s=20, color=color, marker=marker, alpha=0.85, linewidths=0, zorder=3, label=in_short(name))


def residuals(
    measured_s: FloatArray,
    predicted_s: FloatArray,
    *,
    groups: Sequence[str] | None = None,
    halves_differ: float | None = None,
    title: str = "",
) -> Figure:
    """Relative error against predicted time, with the difference between halves of the measured rounds as a band.

    Parameters
    ----------
    measured_s, predicted_s : array, shape (n_points,)
        Seconds, > 0.
    groups : sequence of str, optional
        As in ``measured_predicted``.
    halves_differ : float, optional
        Fraction: how far the medians of odd and of even rounds differ.
    title : str
        Heading.
    """
    unit = best_unit(measured_s.tolist(), TIME_UNITS_S, "s")
    with single_axes(6.4, 3.8) as (figure, axes):
        if halves_differ is not None:
            band = 100 * halves_differ
            axes.axhspan(-band, band, color="#EEEEEE", zorder=0, label="halves of the rounds differ")
        axes.axhline(0.0, color=GREY, linewidth=0.9, zorder=1)
        scatter_groups(axes, predicted_s / TIME_UNITS_S[unit], 100 * (predicted_s / measured_s - 1.0), groups)
        axes.set(xscale="log", xlabel=f"predicted time ({unit})", ylabel="predicted / measured - 1 (%)", title=title)
        legend_beside(axes)
    return figure


def component_bars(breakdowns: Mapping[str, Mapping[str, float]], *, title: str = "", n_named: int = 7) -> Figure:
    """Stacked horizontal bars: what each whole consists of.

    Parameters
    ----------
    breakdowns : mapping
        Bar name (a thread, a configuration) to {component: seconds}.
    title : str
        Heading.
    n_named : int
        Components with a colour of their own, the largest first; the rest is one grey part.
    """
    longest = min(max(map(len, breakdowns), default=0), LONGEST_BAR_NAME)
    with single_axes(7.2 + BAR_LETTER_IN * max(longest - FREE_LETTERS, 0), 1.5 + 0.42 * len(breakdowns)) as (figure, axes):
        draw_component_bars(axes, breakdowns, n_named=n_named)
        # Above the names of the bars, too: beside them there is room for a word or two.
        figure.suptitle(fill(title, LONGEST_TITLE_LINE), x=0.01, ha="left", fontsize="medium", fontweight="bold")
    return figure


def draw_component_bars(
    axes: Axes, breakdowns: Mapping[str, Mapping[str, float]], *, title: str = "", n_named: int = 7, legend_below: bool = False
) -> None:
    """Draw the bars of `component_bars` into ``axes``; the legend stands on the right, or below the axis."""
    totals: dict[str, float] = {}
    for parts in breakdowns.values():
        for name, seconds in parts.items():
            totals[name] = totals.get(name, 0.0) + seconds
    named = sorted(totals, key=lambda name: -totals[name])[:n_named]
    unit = best_unit([sum(parts.values()) for parts in breakdowns.values()], TIME_UNITS_S, "s")
    bars = list(breakdowns)
    left = np.zeros(len(bars))
    for name, color in [*zip(named, PALETTE, strict=False), ("other", "#BBBBBB")]:
        width = np.array([part_of(breakdowns[bar], name, named) for bar in bars]) / TIME_UNITS_S[unit]
        if not width.any():
            continue
        label = name.replace("_", " ")
        axes.barh(bars, width, left=left, color=color, height=0.62, edgecolor="white", linewidth=0.6, label=label)
        left += width
    axes.invert_yaxis()
    axes.set_yticks(range(len(bars)), [in_short(bar, LONGEST_BAR_NAME) for bar in bars])
    axes.grid(visible=False, axis="y")
    axes.set(xlabel=f"time ({unit})", title=title)
    place = {"loc": "upper center", "bbox_to_anchor": (0.45, -0.32), "ncols": 4, "fontsize": 7.5}
    axes.legend(**(place if legend_below else {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.4}))


def part_of(parts: Mapping[str, float], name: str, named: Sequence[str]) -> float:
    """Seconds of one component; of all components without a name of their own for ``other``."""
    if name == "other":
        return float(sum(seconds for part, seconds in parts.items() if part not in named))
    return float(parts.get(name, 0.0))
