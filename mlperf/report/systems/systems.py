"""How predictions and searches of any system are shown: its own outputs, the parts of its periods, what holds it back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.report.figures.figures import PALETTE, in_short, single_axes
from mlperf.report.figures.plots import component_bars
from mlperf.report.pages.answers import asked_text, objective_text, reasons_of, scaled_text, sizes_text, total_text, worth_telling
from mlperf.report.pages.predictions import NEGLIGIBLE, observed_section
from mlperf.report.pages.searches import stability_lines, windows_text_of
from mlperf.report.text.answer import Answer, Outside, TimesFrom, short_epoch_lines, time_range_text, unmeasured_lines
from mlperf.report.text.numbers import TIME_UNITS_S, best_unit, number_text, percent_text, seconds_alike
from mlperf.report.text.views import Section
from mlperf.report.text.words import words_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.planning.systems.prediction import SystemPrediction
    from mlperf.planning.systems.search import SystemSearch

SIZES = ("n_nodes", "n_gpus_per_node", "subbatch_size")
WORDS = ("component", "sub-batch", "mean mini-batch", "staleness", "assumed", "in domain", "interval of the mean")
SEARCH_WORDS = ("window", "sub-batch", "mean mini-batch", "staleness", "in domain", "Pareto front")
LESS_OF_OUTPUTS = (("mean_low", "mean_high"),)
LESS_OF_ROWS = ("energy_j", ("rank_low", "rank_high"), "first_share", "cost", ("epoch_low_s", "epoch_high_s"))
LONGEST_NAME = 16
"""Letters of a network's name in a picture; what runs it stands behind."""
MOST_BARS = 8


def prediction_sections(result: SystemPrediction) -> tuple[Section, ...]:
    """One configuration with its outputs and parts; several as one row each."""
    if len(result.cnn) > 1:
        shown: tuple[Section, ...] = (Section(result.title, configurations(result), secondary=LESS_OF_ROWS),)
    else:
        title = f"{result.cnn[0]} on {configuration_text(result, 0)}: {result.title}"
        parts = result.breakdown(0).rename(columns={"seconds": "time_s"})
        parts["time_s"] = parts["time_s"].where(parts["time_s"] >= NEGLIGIBLE * float(result.epoch_s[0]), 0.0)
        periods = [
            Section(f"One period of the {activity}", rows.drop(columns="activity"))
            for activity, rows in parts.groupby("activity", sort=False)
        ]
        shown = (Section(title, outputs(result), secondary=LESS_OF_OUTPUTS), *periods)
    return (*shown, *observed_section(result), Section("", text="\n".join(notes(result))), words_section(*WORDS))


def configurations(result: SystemPrediction) -> pd.DataFrame:
    """One row a configuration: sizes and settings that differ, outputs, the interval of the epoch, the domain flag."""
    frame = result.to_frame()
    varied = [name for name in result.settings if frame[name].nunique() > 1]
    frame = frame.assign(
        epoch_low_s=frame["epoch_s_run_lower"], epoch_high_s=frame["epoch_s_run_upper"], in_domain=frame["epoch_s_in_domain"]
    )
    others = [name for name in result.outputs if name != "epoch_s"]
    return frame[["cnn", *SIZES, *varied, "epoch_s", "epoch_low_s", "epoch_high_s", *others, *result.flags, "in_domain"]]


def outputs(result: SystemPrediction) -> pd.DataFrame:
    """One row an output: value, interval of the mean and of a run."""
    rows = []
    for name, value in result.outputs.items():
        mean, run = result.confidence_interval[name], result.prediction_interval[name]
        numbers = [float(figure[0]) for figure in (value, mean.lower, mean.upper, run.lower, run.upper)]
        is_time = name.endswith("_s") and not name.endswith("per_s")
        if is_time and numbers[0] < NEGLIGIBLE * float(result.epoch_s[0]):
            numbers = [0.0] * len(numbers)
        shown = seconds_alike(numbers) if is_time else numbers
        named = dict(zip(("value", "mean_low", "mean_high", "run_low", "run_high"), shown, strict=True))
        rows.append({"output": (name.removesuffix("_s") if is_time else name).replace("_", " "), **named})
    return pd.DataFrame(rows, dtype=object)


def notes(result: SystemPrediction) -> list[str]:
    """What the reader must know: interval meaning, what was not measured, raised flags, what takes most of the time."""
    level = 100 * next(iter(result.prediction_interval.values())).level
    lines = [f"low and high: {level:g} % interval, of the mean over runs (mean) and of a single run (run)."]
    lines += short_epoch_lines(result.run.dataset_size, result.mean_minibatch_size)
    lines += unmeasured_lines(result.assumed, result.left_out, is_exact=result.observed is None)
    lines += [f"Flag {name}: {int(up.sum())} of {up.size} configurations." for name, up in result.flags.items() if up.any()]
    best = int(np.argmin(result.epoch_s))
    where = "" if len(result.cnn) == 1 else f" of the fastest, {configuration_text(result, best)}"
    name, table = result.bottleneck(best), result.breakdown(best)
    share = float(table.loc[table["component"] == name, "share"].max())
    lines.append(f"What takes most of the time{where}: {name.replace('_', ' ')}, {percent_text(share)}.")
    return lines


def configuration_text(result: SystemPrediction, index: int) -> str:
    """Sizes and settings of one configuration."""
    row = result.configs.iloc[index]
    return ", ".join([sizes_text(row, result.machine), *settings_text(row, result.settings)])


def settings_text(row: pd.Series[Any], names: Sequence[str]) -> list[str]:
    """Settings of one configuration, each with its value."""
    return [f"{name.replace('_', ' ')} {float(row[name]):g}" for name in names]


def prediction_answer(result: SystemPrediction) -> Answer:
    """Epoch and mini-batch of the one configuration, or of the fastest of several."""
    best = int(np.argmin(result.epoch_s))
    where = configuration_text(result, best)
    asked, lead = asked_text(result.cnn, best, where, result.system, factors=result.factors)
    interval = result.prediction_interval["epoch_s"]
    bounds = (float(interval.lower[best]), float(interval.upper[best]))
    epoch = time_range_text(float(result.epoch_s[best]), *bounds, interval.level, "an epoch")
    total = total_text(result.epochs, float(result.epoch_s[best]))
    size = number_text(float(result.mean_minibatch_size[best]), 3)
    held = f"{result.bottleneck(best).replace('_', ' ')} takes most of it"
    left_out = tuple(f"{name} (counted as 0)" for name in result.left_out)
    times = TimesFrom.of(result.measured_on, result.machine, result.other_machine, (*result.assumed, *left_out))
    inside = bool(result.in_domain["epoch_s"][best])
    total += "" if result.observed is None else ", calibrated on measured steps"
    found = f"{lead}{epoch}{total}, mean mini-batch {size}; {held}"
    return Answer(asked, found, times, inside=inside, outside=outside_reasons(result, best))


def outside_reasons(result: SystemPrediction, index: int) -> tuple[Outside, ...]:
    """What of a configuration lies outside of what was measured, and its share of its period; another machine is told apart."""
    if result.other_machine:
        return ()
    parts = result.breakdown(index).sort_values("share", ascending=False, kind="stable").to_dict("records")
    period = {str(part["component"]): str(part["activity"]) for part in reversed(parts)}
    flagged = {str(part["component"]): float(part["share"]) for part in reversed(parts) if not part["in_domain"]}
    named = [(name, name.replace("_", " "), share) for name, share in flagged.items() if name not in result.left_out]

    def time_of(component: str) -> str:
        return f"the {period.get(component, 'period').replace('gpu', 'GPU')}'s time"

    return worth_telling(reasons_of(result.outside, index) or named, result.assumed, time_of)


def prediction_figure(result: SystemPrediction) -> Figure:
    """Bars of the components of every activity, for at most eight configurations."""
    bars = {}
    for index in range(min(MOST_BARS, len(result.cnn))):
        label = f"{in_short(result.cnn[index], LONGEST_NAME)}, {configuration_text(result, index)}"
        for activity, parts in result.breakdown_s.items():
            bars[f"{label}: {activity}"] = {name: float(part[index]) for name, part in parts.items()}
    some = f", first {MOST_BARS} of {len(result.cnn)} configurations" if len(result.cnn) > MOST_BARS else ""
    return component_bars(bars, title=f"{result.title}{some}")


def search_sections(result: SystemSearch) -> tuple[Section, ...]:
    """Ranking and Pareto front; the nearest misses where nothing lies in the window."""
    window = windows_text_of(result.window)
    title = f"{result.cnn} on {result.machine}, {result.system}, {window}, by {objective_text(result.objective)}"
    lines = [f"{result.n_configs:,} configurations."]
    lines += [f"Cannot run, {number:,} of them: {why}." for why, number in result.refused.items()]
    lines += unmeasured_lines(result.assumed, result.left_out)
    told = Section("", text="\n".join([*lines, *stability_lines(result.stability, has_windows=False)]))
    if not len(result.best):
        return (_ranking(f"{title}: nothing found; nearest to the window", result.misses), told)
    front = _ranking("Best for each number of GPUs (Pareto front)", result.pareto)
    return (_ranking(title, result.best), front, told, words_section(*SEARCH_WORDS))


def _ranking(title: str, table: pd.DataFrame) -> Section:
    constant = [
        name
        for name in table
        if len(table) > 1 and name not in (*SIZES, "epoch_s", "in_domain") and table[name].nunique(dropna=False) == 1
    ]
    return Section(title, table.drop(columns=constant).dropna(axis="columns", how="all"), secondary=LESS_OF_ROWS)


def search_figure(result: SystemSearch) -> Figure:
    """Epoch time over GPUs: the best for each number of them, and the ranking with intervals of a run.

    Raises
    ------
    UsageError
        Nothing lies in the window.
    """
    if not len(result.best):
        raise UsageError("no configuration that can run lies in the window: there is nothing to draw", hint="Widen --minibatch.")
    best, front = result.best, result.pareto
    epochs = [best["epoch_high_s"].max(), front["epoch_s"].min()]
    unit = best_unit(epochs, TIME_UNITS_S, "s")
    scale = TIME_UNITS_S[unit]
    with single_axes(6.8, 4.2) as (figure, axes):
        gpus, epoch = front["n_nodes"] * front["n_gpus_per_node"], front["epoch_s"] / scale
        axes.plot(gpus, epoch, color=PALETTE[0], marker=".", label="best for each number of GPUs")
        gpus, epoch = best["n_nodes"] * best["n_gpus_per_node"], best["epoch_s"] / scale
        ends = [epoch - best["epoch_low_s"] / scale, best["epoch_high_s"] / scale - epoch]
        label = f"the {len(best)} ranked, 95 % interval of a run"
        axes.errorbar(
            gpus, epoch, yerr=np.maximum(ends, 0.0), color=PALETTE[3], linestyle="none", marker="o", capsize=3, label=label
        )
        title = f"{result.cnn} on {result.machine}, {result.system}"
        axes.set(xscale="log", yscale="log", xlabel="GPUs", ylabel=f"epoch ({unit})", title=title)
        # Intervals stand anywhere from top to bottom.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2)
    return figure


def search_answer(result: SystemSearch) -> Answer:
    """The best row, or that there is none."""
    asked = f"{result.cnn} on {result.machine}, {result.system}, by {objective_text(result.objective)}{scaled_text(result.factors)}"
    left_out = tuple(f"{name} (counted as 0)" for name in result.left_out)
    times = TimesFrom.of(result.measured_on, result.machine, result.other_machine, (*result.assumed, *left_out))
    if not len(result.best):
        return Answer(asked, "no configuration that can run lies in the window", times)
    row = result.best.iloc[0]
    sizes = ", ".join([sizes_text(row), *settings_text(row, result.settings)])
    epoch = time_range_text(float(row["epoch_s"]), float(row["epoch_low_s"]), float(row["epoch_high_s"]), 0.95, "an epoch")
    total = total_text(result.epochs, float(row["epoch_s"]))
    size = number_text(float(row["mean_minibatch_size"]), 3)
    found = f"best is {sizes}, {epoch}{total}, mean mini-batch {size}"
    return Answer(asked, found, times, inside=bool(row["in_domain"]), outside=first_reasons(result))


def first_reasons(result: SystemSearch) -> tuple[Outside, ...]:
    """What of the first row lies outside of what was measured, and its share of its period; another machine is told apart."""
    if result.other_machine:
        return ()
    return worth_telling(reasons_of(result.outside, 0), result.assumed, lambda _: "its period's time")
