"""How whole runs are shown: time, chance of the deadline and price in the first line, then what the time is spent on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.figures.figures import PALETTE, new_figure, style
from mlperf.report.pages.answers import sizes_text
from mlperf.report.text.answer import Answer, TimesFrom, count_text, plain_time, time_range_text
from mlperf.report.text.numbers import TIME_UNITS_S, Seconds, best_unit, number_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.planning.whole_run.result import Spent, WholeRun

MOST_ROWS, MOST_BARS = 40, 12
WORDS = {
    "startup": "start-up",
    "epochs": "epochs",
    "input_wait": "waiting for input",
    "validation": "validation",
    "checkpoints": "checkpoints",
    "failures": "failures: work done again, restarts",
}


def whole_run_answer(result: WholeRun) -> Answer:
    """The one configuration's run, or that of the fastest."""
    best = int(np.argmin(result.total.median))
    row = result.configs.iloc[best]
    named = f"{row['cnn']} on " if "cnn" in row else ""
    where = f"{named}{row['n_nodes']} x {row['n_gpus_per_node']} GPUs of {result.machine}, sub-batch {row['subbatch_size']}"
    where += f", {result.system}" if result.system else ""
    left_out = 0 if result.left_out is None else len(result.left_out)
    several = len(result.configs) + left_out > 1
    ending = f", {left_out} more would never end" if left_out else ""
    asked = f"{count_text(len(result.configs), 'configuration')}{ending}" if several else where
    calibrated = ", calibrated on measured steps" if result.calibrated else ""
    told = [f"{f'fastest is {where}, ' if several else ''}{_epochs_text(result)} in {time_text(result.total, best)}{calibrated}"]
    if result.on_time_probability is not None and result.deadline_s is not None:
        told.append(f"P(<= {plain_time(result.deadline_s)}) = {result.on_time_probability[best]:.2f}")
    told += [spent_text(spent, best) for spent in (result.cost, result.energy) if spent is not None]
    times = TimesFrom.of(result.measured_on, result.machine, result.other_machine, result.assumed)
    return Answer(asked, "; ".join(told), times, inside=bool(result.in_domain[best]))


def _epochs_text(result: WholeRun) -> str:
    return f"{result.epochs:g} epoch{'' if result.epochs == 1.0 else 's'}"


def time_text(total: Spent, index: int) -> str:
    """A run's time with its interval."""
    bounds = (float(total.interval.lower[index]), float(total.interval.upper[index]))
    return time_range_text(float(total.median[index]), *bounds, total.interval.level)


def spent_text(spent: Spent, index: int) -> str:
    """An amount with its interval: ``412 EUR (380 to 455)``."""
    middle, low, high = (number_text(float(each[index]), 3) for each in (spent.median, spent.interval.lower, spent.interval.upper))
    return f"{middle} {spent.unit} ({low} to {high})"


def whole_run_sections(result: WholeRun) -> tuple[Section, ...]:
    """One row a configuration where there are several; what the time of one is spent on; the batch system's line."""
    best = int(np.argmin(result.total.median))
    sections = []
    if len(result.configs) > 1:
        sections.append(Section("Whole runs", result.to_frame().head(MOST_ROWS)))
    sections.append(Section("What the time is spent on (means)", parts_frame(result, best)))
    if result.left_out is not None:
        sections.append(Section("Left out", result.left_out.head(MOST_ROWS)))
    sections.append(Section("", text="\n".join(sentences(result, best))))
    if len(result.configs) == 1:
        sections.append(Section("", text=result.slurm_lines[0]))
    return tuple(sections)


def parts_frame(result: WholeRun, index: int) -> pd.DataFrame:
    """Parts of one configuration's mean time."""
    seconds = [float(part[index]) for part in result.parts_s.values()]
    rows = [(WORDS[name], time, time / sum(seconds)) for name, time in zip(result.parts_s, seconds, strict=True) if time > 0.0]
    names, times, shares = zip(*rows, ("together", sum(seconds), 1.0), strict=True)
    told = pd.Series([Seconds(time) for time in times], dtype=object)
    return pd.DataFrame({"part": names, "time": told, "share": shares})


def sentences(result: WholeRun, index: int) -> list[str]:
    """Limit, failures, checkpoints, power, and what is not counted."""
    told = [
        f"With probability {result.probability:g} the run ends within {plain_time(float(result.limit_s[index]))}; "
        f"{result.n_draws:,} runs drawn."
    ]
    if result.n_failures[index] > 0.0:
        told.append(f"Failures: {number_text(float(result.n_failures[index]), 3)} on average.")
    every = float(result.checkpoint_every_s[index])
    if np.isfinite(every):
        told.append(f"A checkpoint every {plain_time(every)} of training.")
    if result.power_source:
        told.append(f"Power: {result.power_source}.")
    return [*told, *(f"- {note}" for note in result.notes)]


def whole_run_figure(result: WholeRun) -> Figure:
    """What each run's mean time is spent on, its interval, and the deadline; the fastest twelve configurations."""
    shown = np.sort(np.argsort(result.total.median, kind="stable")[:MOST_BARS])
    whole = result.total.interval
    unit = best_unit(result.total.median[shown].tolist(), TIME_UNITS_S, "s")
    scale = TIME_UNITS_S[unit]
    with style():
        figure = new_figure(8.4, 1.8 + 0.45 * len(shown))
        axes = figure.add_subplot()
        left, places = np.zeros(len(shown)), np.arange(len(shown))
        for color, (name, seconds) in zip(PALETTE, result.parts_s.items(), strict=False):
            if seconds[shown].any():
                axes.barh(places, seconds[shown] / scale, left=left, color=color, height=0.55, label=WORDS[name])
                left += seconds[shown] / scale
        ends = np.array([result.mean_s - whole.lower, whole.upper - result.mean_s])[:, shown] / scale
        label = f"{100 * whole.level:g} % interval of one run"
        axes.errorbar(left, places, xerr=np.maximum(ends, 0.0), color="black", linestyle="none", capsize=3, label=label)
        names = [_bar_name(result, int(row)) for row in shown]
        if result.deadline_s is not None and result.deadline_s <= 2.0 * float(whole.upper[shown].max()):
            axes.axvline(result.deadline_s / scale, color=PALETTE[3], linestyle="--", label="deadline")
        axes.set_yticks(places, names)
        axes.set_ylim(-0.75, len(shown) - 0.25)
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        axes.set(xlabel=f"mean time of a run ({unit})", title=f"{_epochs_text(result)} on {result.machine}", xlim=(0, None))
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.4)
    return figure


def _bar_name(result: WholeRun, index: int) -> str:
    """Sizes of a configuration, and its chance to end by the deadline."""
    row = result.configs.iloc[index]
    several = "cnn" in row and result.configs["cnn"].nunique() > 1
    name = f"{row['cnn']}, {sizes_text(row)}" if several else sizes_text(row)
    return name if result.on_time_probability is None else f"{name}\nP(on time) = {result.on_time_probability[index]:.2f}"
