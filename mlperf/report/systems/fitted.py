"""How rows that a fitted system predicts are shown: a table, one sentence, and the rate over devices beside the parts of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.figures.figures import GREY, MARKERS, PALETTE, in_short, new_figure, style, time_unit
from mlperf.report.text.answer import Answer, Outside, count_text, time_range_text
from mlperf.report.text.numbers import number_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from mlperf.core.arrays import FloatArray
    from mlperf.planning.systems.fitted import FittedRows

FITTED_SIZES = ("n_nodes", "n_gpus", "n_gpus_per_node", "n_workers", "subbatch_size", "minibatch_size")
COUNTS = ("n_nodes", "n_gpus", "n_gpus_per_node", "n_workers", "n_replicas")
MOST_ROWS, MOST_LINES, MOST_BARS = 40, 6, 12
HEADROOM = 1.3
"""Room above bars for the legend."""
WIDE = 64.0
"""From so many times the fewest devices on, both axes of the rate are logarithmic: less would lie on the origin."""
LONG_LABEL = 3
"""Letters of a bar's label from which they are turned where there are many."""


def fitted_sections(result: FittedRows) -> tuple[Section, ...]:
    """The rows with their predictions."""
    table = result.to_frame()
    if not any(result.reason):
        table = table.drop(columns="reason")
    constant = [name for name in table if len(table) > 1 and name in result.rows and table[name].nunique(dropna=False) == 1]
    shown = Section(result.system, table.drop(columns=constant).head(MOST_ROWS), secondary=("reason",))
    more = [f"{len(table) - MOST_ROWS:,} further rows: -o FILE writes all of them as CSV."] if len(table) > MOST_ROWS else []
    if np.isnan(result.interval.lower).all():
        told = [*more, "No low and high: too few rows were measured to leave some out and tell an interval."]
    else:
        told = [*more, f"low and high: {100 * result.interval.level:g} % interval of a single run."]
    outside = int((~result.in_domain).sum())
    if more and outside:
        told.append(f"{outside:,} of {len(table):,} rows lie outside the measured domain.")
    return (shown, Section("", text="\n".join(told)))


def _size(value: float | str) -> str:
    """A size; text where it names the group of a row."""
    return value if isinstance(value, str) else f"{value:g}"


def fitted_answer(result: FittedRows) -> Answer:
    """The one row, or the fastest of several."""
    best = result.fastest
    row = result.rows.iloc[best]
    sizes = [f"{name.replace('_', ' ')} {_size(row[name])}" for name in FITTED_SIZES if name in result.rows]
    lower, upper = float(result.interval.lower[best]), float(result.interval.upper[best])
    if result.target == "step_s":
        found = time_range_text(float(result.predicted[best]), lower, upper, result.interval.level, "a step")
        found += f", {number_text(float(result.further['samples_per_s'].iloc[best]), 3)} samples a second"
    elif result.target == "period_s":
        found = time_range_text(float(result.predicted[best]), lower, upper, result.interval.level, "a mini-batch")
        found += f", {number_text(float(result.further['samples_per_s'].iloc[best]), 3)} samples a second"
        sizes = [f"{row['cnn']}, {row['plan']}", *sizes]
    else:
        bounds = (
            "" if lower != lower else f" ({100 * result.interval.level:g} %: {number_text(lower, 3)} to {number_text(upper, 3)})"
        )
        found = f"{number_text(float(result.predicted[best]), 3)} updates a second{bounds}"
        full = float(result.further["saturation_workers"].iloc[best])
        found += f", the server is full from {number_text(full, 3)} workers on" if np.isfinite(full) else ", the server never fills"
    lead = f"fastest is row {best + 1}, " if len(result.rows) > 1 else ""
    asked = (
        f"{result.system}, {count_text(len(result.rows), 'row')}"
        if len(result.rows) > 1
        else f"{result.system}, {', '.join(sizes)}"
    )
    outside = (Outside(result.reason[best]),) if result.reason[best] else ()
    return Answer(
        asked, f"{lead}{', '.join(sizes) + ': ' if lead else ''}{found}", inside=bool(result.in_domain[best]), outside=outside
    )


def fitted_figure(result: FittedRows) -> Figure:
    """The rate over devices with intervals, a line for each choice of the other sizes; the parts of steps of the fastest line."""
    with style():
        figure = new_figure(8.8, 3.8)
        left, right = figure.subplots(1, 2)
        name, devices = devices_of(result)
        lines = lines_of(result, devices)
        is_line = name != "row" and all(len(set(devices[rows])) == len(rows) for rows in lines.values())
        _rates(left, result, devices, lines, is_line=is_line)
        left.set_xlabel(name)
        label, rows = next((label, rows) for label, rows in lines.items() if result.fastest in rows)
        if not is_line:
            name, devices = "row", np.arange(1.0, len(devices) + 1.0)
        _parts(right, result, devices, rows, label)
        right.set_xlabel(name)
    return figure


def devices_of(result: FittedRows) -> tuple[str, FloatArray]:
    """What is counted, and how many of every row: GPUs, nodes, workers or replicas; the rows' numbers where none is known."""
    rows = result.rows
    if result.target != "step_s":
        for name in ("n_replicas", "n_workers"):
            if name in rows:
                return name.removeprefix("n_"), rows[name].to_numpy(float)
    elif "n_gpus" in rows:
        return "GPUs", rows["n_gpus"].to_numpy(float)
    elif "n_nodes" in rows and "n_gpus_per_node" in rows:
        return "GPUs", (rows["n_nodes"] * rows["n_gpus_per_node"]).to_numpy(float)
    elif "n_nodes" in rows:
        return "nodes", rows["n_nodes"].to_numpy(float)
    return "row", np.arange(1.0, len(rows) + 1.0)


def lines_of(result: FittedRows, devices: FloatArray) -> dict[str, list[int]]:
    """Rows of each line by its label, by increasing devices: rows that differ in nothing but how many devices there are.

    One line of all rows where there would be more than six.
    """
    rows = result.rows
    measured = (result.target, result.target.removesuffix("_s"), *result.further.columns)
    varied = [
        str(name) for name in rows if name not in measured and rows[name].nunique() > 1 and not _is_time(str(name), result.target)
    ]
    told = [name for name in varied if name not in COUNTS]
    found: dict[str, list[int]] = {}
    for names in (told, [*told, *(name for name in varied if name == "n_gpus_per_node")]):
        found = {}
        for row in np.argsort(devices, kind="stable").tolist():
            label = ", ".join(f"{name.replace('_', ' ')} {_size(rows[name].iloc[row])}" for name in names)
            found.setdefault(label, []).append(row)
        if all(len(set(devices[line])) == len(line) for line in found.values()):
            break
    return found if len(found) <= MOST_LINES else {"": np.argsort(devices, kind="stable").tolist()}


def _is_time(column: str, target: str) -> bool:
    """Whether a column is the target in some unit."""
    stem = target.removesuffix("_s")
    return column in {f"{stem}_{unit}" for unit in ("s", "ms", "us", "ns")}


def rates_of(result: FittedRows) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Samples, or updates, a second of every row, and the ends of its interval."""
    lower, upper = result.interval.lower, result.interval.upper
    if result.target == "updates_per_s":
        return result.predicted, lower, upper
    rate = result.further["samples_per_s"].to_numpy(float)
    return rate, rate * result.predicted / upper, rate * result.predicted / lower


def _rates(axes: Axes, result: FittedRows, devices: FloatArray, lines: dict[str, list[int]], *, is_line: bool) -> None:
    rate, lower, upper = rates_of(result)
    for number, (label, rows) in enumerate(lines.items()):
        color, x, y, label = PALETTE[number % len(PALETTE)], devices[rows], rate[rows], in_short(label) or "predicted"
        is_drawn = is_line and len(rows) > 1
        _intervals(axes, x, (y, lower[rows], upper[rows]), color, is_line=is_drawn)
        inside, every = result.in_domain[rows], np.isin(np.arange(len(rows)), _spread(len(rows)))
        for chosen, face in ((inside, color), (~inside, "white")):
            chosen = chosen & (every | (not is_drawn))
            axes.scatter(x[chosen], y[chosen], marker=MARKERS[number], facecolors=face, edgecolors=color, zorder=3)
        axes.plot(
            [], [], color=color, marker=MARKERS[number], linestyle="-" if is_drawn else "none", label=in_short(label) or "predicted"
        )
        if is_drawn:
            axes.plot(x, y[0] * x / x[0], color=color, linestyle=":", linewidth=0.9)
    if is_line and any(len(rows) > 1 for rows in lines.values()):
        axes.plot([], [], color=GREY, linestyle=":", linewidth=0.9, label="perfect scaling")
    if not result.in_domain.all():
        axes.plot([], [], color=GREY, marker="o", markerfacecolor="white", linestyle="none", label="outside of what was measured")
    unit = "updates" if result.target == "updates_per_s" else "samples"
    title = f"{result.system}: {100 * result.interval.level:g} % intervals of a run"
    axes.set(ylabel=f"{unit} a second", title=title)
    if is_line and float(devices.max()) >= WIDE * float(devices.min()) and np.nanmin([rate, lower, upper]) > 0.0:
        axes.set(xscale="log", yscale="log")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)  # lines go from corner to corner
    else:
        axes.set_xlim(0, 1.05 * float(devices.max()))
        axes.set_ylim(0, 1.05 * axes.get_ylim()[1])
        axes.locator_params(axis="x", integer=True)
        axes.legend()


def _intervals(axes: Axes, x: FloatArray, rates: tuple[FloatArray, ...], color: str, *, is_line: bool) -> None:
    """A whisker at each point, or a band along a line of many."""
    y, lower, upper = rates
    if is_line and len(x) > MOST_BARS:
        axes.plot(x, y, color=color)
        low, high = (np.where(np.isfinite(end), end, y) for end in (lower, upper))
        axes.fill_between(x, low, high, color=color, alpha=0.15, linewidth=0)
        return
    axes.errorbar(x, y, yerr=np.nan_to_num([y - lower, upper - y]), capsize=3, color=color, linestyle="-" if is_line else "none")


def _spread(n_rows: int) -> FloatArray:
    """Places of at most twelve rows, from the first to the last."""
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, MOST_BARS)).round())


def parts_of(result: FittedRows) -> dict[str, FloatArray]:
    """Seconds of the parts of a step, or of a worker's period, of every row."""
    further = {str(name): result.further[name].to_numpy(float) for name in result.further}
    if result.target == "updates_per_s":
        return {"own work": further["step_s"] - further["wait_s"], "waits for the server": further["wait_s"]}
    if result.target == "period_s":
        return {"mini-batch": further["minibatch_s"], "servers": np.maximum(result.predicted - further["minibatch_s"], 0.0)}
    return {name[:-2].replace("_", " "): part for name, part in further.items() if not name.endswith("per_s") and part.any()}


def _parts(axes: Axes, result: FittedRows, devices: FloatArray, rows: list[int], label: str) -> None:
    chosen = [rows[int(place)] for place in _spread(len(rows))]
    places, below = range(len(chosen)), np.zeros(len(chosen))
    unit, size_s = time_unit(np.sum([seconds[chosen] for seconds in parts_of(result).values()], axis=0))
    for number, (name, seconds) in enumerate(parts_of(result).items()):
        axes.bar(places, seconds[chosen] / size_s, bottom=below, color=PALETTE[number % len(PALETTE)], label=name)
        below = below + seconds[chosen] / size_s
    labels = [f"{devices[row]:g}" for row in chosen]
    is_turned = len(labels) > MOST_BARS // 2 and max(map(len, labels)) > LONG_LABEL
    axes.set_xticks(list(places), labels, rotation=90 if is_turned else 0)
    title = f"parts of a {'step' if result.target == 'step_s' else 'period'}{f', {in_short(label, 24)}' if label else ''}"
    axes.set(ylabel=f"time ({unit})", title=title, xlim=(-0.8, len(chosen) - 0.2), ylim=(0, HEADROOM * float(below.max())))
    axes.legend(ncols=2)
