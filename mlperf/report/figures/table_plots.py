"""Figures of one column of a table: measured against predicted, residuals, partial effects, coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.report.figures.figures import GREY, PALETTE, in_short, new_figure, single_axes, style
from mlperf.report.figures.plots import limits, scatter_groups
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, percent_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_RANGE = 20.0
"""A positive column whose largest value is this many times its smallest is drawn on a logarithmic axis."""
MOST_GROUPS = 20
LETTERS = 26
MARKS = (-1000, -100, -20, -5, -2, 0, 2, 5, 20, 100, 1000)
LEVEL_LETTERS = 10


def plain(text: str, most: int = LETTERS) -> str:
    """A name from elsewhere as letters alone, its middle left out where it is long: no dollar sign of it starts a formula."""
    return in_short(text, most).replace("\\", "\\\\").replace("$", r"\$")


def unit_of(target: str, values: FloatArray) -> tuple[str, float, str]:
    """Name without its unit, size of the unit to draw in, and the axis label of a target: seconds get the unit that reads best."""
    if not target.endswith("_s") or target.endswith("_per_s"):
        return target, 1.0, plain(target)
    unit = best_unit(values[np.isfinite(values)].tolist(), TIME_UNITS_S, "s")
    stem = target.removesuffix("_s").replace("_", " ")
    return stem, TIME_UNITS_S[unit], f"{plain(stem)} ({unit})"


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Measured beside predicted values of one column.

    Attributes
    ----------
    measured, predicted : array, shape (n_points,)
        In the unit of the target.
    target : str
        Name of the column.
    lower, upper : array, shape (n_points,), or None
        Interval of a run.
    groups : sequence of str or None
        One colour each, up to eight.
    noise_floor : float
        What repeats miss each other by, a fraction: a band.
    """

    measured: FloatArray
    predicted: FloatArray
    target: str
    lower: FloatArray | None = None
    upper: FloatArray | None = None
    groups: Sequence[str] | None = None
    noise_floor: float = float("nan")

    @property
    def is_positive(self) -> bool:
        """Whether all values are > 0, so that errors can be told in percent."""
        return bool((self.measured > 0).all() and (self.predicted > 0).all())

    @property
    def names(self) -> list[str] | None:
        """Groups as they are drawn."""
        return None if self.groups is None else [plain(name) for name in self.groups]


def compared_figure(shown: Compared, title: str) -> Figure:
    """Predicted against measured values on the left, errors against predictions on the right."""
    with style():
        figure = new_figure(9.2, 4.3)
        left, right = figure.subplots(1, 2)
        draw_against(left, shown, title)
        draw_errors(right, shown)
    return figure


def against_figure(shown: Compared) -> Figure:
    """Predicted against measured values."""
    with single_axes(4.9, 4.6) as (figure, axes):
        draw_against(axes, shown, "Measured against predicted")
    return figure


def errors_figure(shown: Compared) -> Figure:
    """Errors against predictions."""
    with single_axes(4.9, 4.6) as (figure, axes):
        draw_errors(axes, shown)
    return figure


def draw_against(axes: Axes, shown: Compared, title: str) -> None:
    """Points about the line of equality; both axes logarithmic where every value is positive."""
    _, size, label = unit_of(shown.target, shown.measured)
    measured, predicted = shown.measured / size, shown.predicted / size
    if shown.is_positive:
        low, high = limits(measured, predicted)
    else:
        both = np.concatenate([measured, predicted])
        margin = 0.05 * float(np.ptp(both)) or 1.0
        low, high = float(both.min()) - margin, float(both.max()) + margin
    axes.plot([low, high], [low, high], color=GREY, linewidth=0.9, zorder=1, label="equal")
    if shown.lower is not None and shown.upper is not None:
        bars = np.clip(np.array([predicted - shown.lower / size, shown.upper / size - predicted]), 0.0, None)
        axes.errorbar(measured, predicted, yerr=bars, fmt="none", ecolor="#999999", elinewidth=0.7, zorder=2, label="run interval")
    scatter_groups(axes, measured, predicted, shown.names)
    scale = "log" if shown.is_positive else "linear"
    axes.set(xscale=scale, yscale=scale, xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.set(xlabel=f"measured {label}", ylabel=f"predicted {label}", title=title)
    axes.legend(loc="upper left")
    if shown.is_positive:
        mape = percent_text(float(np.abs(predicted / measured - 1.0).mean()))
        axes.text(0.98, 0.03, f"MAPE {mape}, n = {len(measured):,}", transform=axes.transAxes, ha="right")


def draw_errors(axes: Axes, shown: Compared) -> None:
    """Errors against predictions, zero as a line, the noise floor as a band."""
    _, size, label = unit_of(shown.target, shown.measured)
    predicted, floor = shown.predicted / size, 100.0 * shown.noise_floor
    error = 100.0 * (shown.predicted / shown.measured - 1.0) if shown.is_positive else predicted - shown.measured / size
    if shown.is_positive and np.isfinite(floor):
        axes.axhspan(-floor, floor, color="#EEEEEE", zorder=0, label="noise floor")
        axes.legend(loc="upper left")
    axes.axhline(0.0, color=GREY, linewidth=0.9, zorder=1)
    scatter_groups(axes, predicted, error, shown.names)
    named = "predicted / measured - 1 (%)" if shown.is_positive else f"error of {label}"
    axes.set(xlabel=f"predicted {label}", ylabel=named, title="Errors")
    if (predicted > 0).all():
        axes.set_xscale("log")


def group_figure(by_group: pd.DataFrame, groups: str) -> Figure:
    """Mean error and bias of each group, the worst first.

    Parameters
    ----------
    by_group : DataFrame
        ``group, n, mape, bias``, fractions.
    groups : str
        What the groups are.
    """
    shown = by_group.head(MOST_GROUPS)
    places = np.arange(len(shown))
    some = f", worst {MOST_GROUPS} of {len(by_group)}" if len(by_group) > MOST_GROUPS else ""
    with single_axes(4.9, 1.5 + 0.22 * len(shown)) as (figure, axes):
        axes.barh(places, 100.0 * shown["mape"], color=PALETTE[4], height=0.62, label="mean error")
        axes.plot(100.0 * shown["bias"], places, "D", color=PALETTE[3], markersize=4, label="bias")
        axes.axvline(0.0, color=GREY, linewidth=0.9)
        axes.set_yticks(places, labels=[plain(str(name)) for name in shown["group"]])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="predicted / measured - 1 (%)", title=f"Left-out error by {plain(groups)}{some}")
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def effect_figures(effects: pd.DataFrame, target: str) -> dict[str, Figure]:
    """What the prediction does where one column varies and the others stay; the band is the interval of a run.

    Parameters
    ----------
    effects : DataFrame
        ``column, level, value, predicted, lower, upper`` (see `mlperf.training.table.effects.partial_effects`).
    target : str

    Returns
    -------
    dict of str to Figure
        By column; all have the same vertical axis.
    """
    _, size, label = unit_of(target, effects["predicted"].to_numpy(float))
    ends = effects[["lower", "predicted", "upper"]].to_numpy(float) / size
    finite = ends[np.isfinite(ends)]
    is_log = bool((finite > 0).all() and finite.max() > WIDE_RANGE * finite.min())
    low, high = (finite.min() / 1.25, finite.max() * 1.25) if is_log else (finite.min(), finite.max() + 0.05 * np.ptp(finite))
    found = {}
    for name, rows in effects.groupby("column", sort=False):
        with style():
            figure = found[str(name)] = new_figure(3.4, 2.7)
            axes = figure.add_subplot()
            _draw_effect(axes, rows, size)
            axes.set(xlabel=plain(str(name)), ylabel=label, yscale="log" if is_log else "linear")
            axes.set_ylim(low, high if high > low else None)
    return found


def _draw_effect(axes: Axes, rows: pd.DataFrame, size: float) -> None:
    """One column: a line with a band over numbers, points with bars over labels."""
    predicted, lower, upper = (rows[name].to_numpy(float) / size for name in ("predicted", "lower", "upper"))
    values = rows["value"].to_numpy(float)
    if np.isfinite(values).all():
        axes.fill_between(values, lower, upper, color=PALETTE[4], alpha=0.3, linewidth=0)
        axes.plot(values, predicted, color=PALETTE[0], linewidth=1.6, marker="o", markersize=3)
        if (values > 0).all() and values.max() > WIDE_RANGE * values.min():
            axes.set_xscale("log")
        return
    places = np.arange(len(rows))
    axes.errorbar(places, predicted, yerr=np.clip([predicted - lower, upper - predicted], 0.0, None), fmt="o", color=PALETTE[0],
                  ecolor=PALETTE[4], elinewidth=3)  # fmt: skip
    axes.set_xticks(
        places, labels=[plain(str(level), LEVEL_LETTERS) for level in rows["level"]], rotation=45, ha="right", fontsize=7.5
    )
    axes.set_xlim(-0.6, len(rows) - 0.4)


def coefficient_figure(coefficients: pd.DataFrame, most: int = 30) -> Figure:
    """95 % intervals of the coefficients in units of their standard errors, the clearest first.

    Terms have units of their own, so that only the distance from zero compares.

    Parameters
    ----------
    coefficients : DataFrame
        ``coef, std_err, lower, upper``, index the terms; with ``std_err_cluster`` that is drawn beside it.
    most : int
        Coefficients drawn.
    """
    table = coefficients[coefficients["std_err"] > 0.0]
    strength = (table["coef"] / table["std_err"]).abs()
    table = table.loc[strength.sort_values(ascending=False, kind="stable").index[:most]]
    places = np.arange(len(table))
    errors = table["std_err"]
    with single_axes(5.4, 1.5 + 0.26 * max(len(table), 1)) as (figure, axes):
        middle = (table["coef"] / errors).to_numpy()
        bars = np.array([table["coef"] - table["lower"], table["upper"] - table["coef"]]) / errors.to_numpy()
        axes.errorbar(
            middle, places, xerr=bars, fmt="o", color=PALETTE[0], elinewidth=2, markersize=4, label="95 %, rows independent"
        )
        if "std_err_cluster" in table:
            wide = 1.96 * (table["std_err_cluster"] / errors).to_numpy()
            axes.errorbar(middle, places + 0.22, xerr=wide, fmt="none", ecolor=PALETTE[3], elinewidth=1.4, label="95 %, by groups")
        axes.axvline(0.0, color=GREY, linewidth=0.9)
        axes.set_xscale("symlog", linthresh=4.0, linscale=1.5)
        low, high = axes.get_xlim()
        marks = [mark for mark in MARKS if low <= mark <= high]
        axes.set_xticks(marks, labels=[f"{mark:g}" for mark in marks], minor=False)
        axes.set_xticks([], minor=True)
        axes.margins(x=0.06)
        axes.set_yticks(places, labels=[plain(str(name), LETTERS) for name in table.index])
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(xlabel="coefficient / standard error", title="Coefficients")
        figure.legend(loc="outside lower center", ncols=2)
    return figure


def path_figure(path: pd.DataFrame) -> Figure:
    """The criterion after every step of the selection.

    Parameters
    ----------
    path : DataFrame
        ``Step`` and, last, the criterion.
    """
    values = path.iloc[:, -1].to_numpy(float)
    steps = ["start", *(str(step) for step in path["Step"][1:])]
    places = np.arange(len(path))
    with single_axes(4.9, 1.3 + 0.22 * len(path)) as (figure, axes):
        axes.plot(values, places, color=PALETTE[0], marker="o", markersize=4, linewidth=1.4)
        axes.set_yticks(places, labels=[plain(step) for step in steps])
        axes.invert_yaxis()
        axes.set(xlabel=plain(str(path.columns[-1])), title="Path of the selection")
    return figure
