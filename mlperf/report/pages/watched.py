"""How a watched run is shown: what the forecast was worth, who contributed, and the forecast against what came."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import GREY, PALETTE, new_figure, style
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section
from mlperf.report.text.words import words_section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlperf.forecast.result import Watched
    from mlperf.forecast.study import OnlineStudy

LINE_WIDTH = 1.1
DECADES_FOR_LOGARITHM = 1.0
LEAST_SHOWN, MOST_SHOWN = 0.5, 1.5


def watched_sections(result: Watched) -> tuple[Section, ...]:
    """Error compared with persistence, then the members."""
    seen = result.series["performance"]
    middle = number_text(float(seen.median())) if len(seen) else "-"
    rows = [
        ("performance", f"{result.performance}: {result.performance_meaning}"),
        ("median", f"{middle} {result.performance_unit}"),
        ("samples", f"{result.n_samples} every {result.interval_s:.4g} s, {result.n_scored} forecasts came due"),
        ("horizon", f"{result.horizon_s:g} s"),
        ("error of the forecast", percent_text(result.mape)),
        ("error of persistence", percent_text(result.persistence_mape)),
        ("MASE", "-" if math.isnan(result.mase) else f"{result.mase:.4f}"),
        ("interval", f"{percent_text(result.coverage)} covered, {percent_text(result.level)} promised"),
        ("verdict", result.verdict),
    ]
    if result.command_exit_code is not None:
        rows.append(("exit code", str(result.command_exit_code)))
    summary = pd.DataFrame(rows, columns=["what", "value"])
    return (Section("Forecast", summary), Section("Who forecasts", result.members), words_section("persistence", "MASE"))


def study_sections(result: OnlineStudy) -> tuple[Section, ...]:
    """MASE of every forecaster by stream and horizon."""
    errors = Section("MASE (below 1: better than persistence)", result.to_frame())
    return (errors, Section("Performance groups", result.groups)) if len(result.groups) else (errors,)


def watched_figure(result: Watched) -> Figure:
    """Performance against time, what had been forecast for it, and the interval; below, the error compared with persistence."""
    series = result.series
    with style():
        figure = new_figure(7.2, 4.8)
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1.4))
        time = series["t_s"].to_numpy()
        above.fill_between(
            time,
            series["lower"],
            series["upper"],
            color=PALETTE[4],
            alpha=0.35,
            linewidth=0,
            label=f"interval, {100 * result.level:g} %",
        )
        above.plot(time, series["performance"], color=GREY, linewidth=LINE_WIDTH, label="observed")
        above.plot(
            time, series["forecast"], color=PALETTE[3], linewidth=LINE_WIDTH, label=f"forecast {result.horizon_s:g} s before"
        )
        if spread(series["performance"]) > DECADES_FOR_LOGARITHM:
            above.set_yscale("log")
        above.set(ylabel=result.performance_unit, title=f"{result.verdict[0].upper()}{result.verdict[1:]}")
        above.legend(loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=3)
        draw_errors(below, series)
    return figure


def draw_errors(axes: Axes, series: pd.DataFrame) -> None:
    """Error so far over that of persistence: below 1 the forecast is the better one."""
    scored = series.dropna(subset=["forecast"])
    level = np.log(scored["performance"])
    ours, theirs = ((level - np.log(scored[name])).abs().cumsum() for name in ("forecast", "persistence"))
    ratio = (ours / theirs.where(theirs > 0.0)).clip(LEAST_SHOWN, MOST_SHOWN)
    axes.axhline(1.0, color=PALETTE[0], linewidth=LINE_WIDTH, linestyle="--", label="persistence")
    axes.plot(scored["t_s"], ratio, color=PALETTE[3], linewidth=LINE_WIDTH, label="forecast")
    axes.set(xlabel="time (s)", ylabel="MASE so far")
    axes.legend(loc="upper right", ncols=2, bbox_to_anchor=(1.0, 1.2))


def spread(values: pd.Series[float]) -> float:
    """Decades between the smallest and the largest."""
    return float(np.log10(values.max() / values.min())) if len(values) else 0.0
