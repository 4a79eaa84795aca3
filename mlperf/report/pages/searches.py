"""How a search is shown, of one machine or several: the ranking, what fewer GPUs give, and the plane of nodes and sub-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.report.figures.figures import counted
from mlperf.report.figures.heatmap import Plane, search_maps
from mlperf.report.pages.answers import objective_text
from mlperf.report.text.answer import unmeasured_lines
from mlperf.report.text.numbers import ENERGY_UNITS_J, TIME_UNITS_S, number_text, percent_text
from mlperf.report.text.views import Section
from mlperf.report.text.words import words_section
from mlperf.systems.sprint.iterations import DEFAULT_FORM, GRID_FORM

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from mlperf.planning.search.draws import RankStability
    from mlperf.planning.search.machines import MachineSearch
    from mlperf.planning.search.result import SearchResult

AXES = ("n_nodes", "subbatch_size")
QUANTITIES = {
    "epoch_s": "epoch",
    "cost": "cost of an epoch (currency of the machine's price)",
    "energy_j": "energy of an epoch",
    "time_to_target_s": "time to the target",
    "mean_minibatch_size": "mean mini-batch (samples)",
}
TITLES = {
    "epoch_s": "Epoch",
    "cost": "Cost of an epoch",
    "energy_j": "Energy of an epoch",
    "time_to_target_s": "Time to the target",
    "mean_minibatch_size": "Mean mini-batch",
}
"""What a plane shows, before the run that it shows it of."""
UNITS = {"epoch_s": TIME_UNITS_S, "time_to_target_s": TIME_UNITS_S, "energy_j": ENERGY_UNITS_J}
"""Units of what has several; a price is in the machine's currency."""
PARETO = "Best for each number of GPUs (Pareto front)"
SEARCH_WORDS = ("window", "sub-batch", "mean mini-batch", "staleness", "in domain", "Pareto front")
MOST_OTHERS = 3
NOT_RANKED = ("in_window", "feasible")
"""What every ranked row is."""
LESS = (
    *("closed", "feasible", "in_window", "energy_j", "minibatch_std", ("rank_low", "rank_high"), "first_share", "cost"),
    *("mean_staleness", "window_probability", ("minibatch_low", "minibatch_high"), ("epoch_low_s", "epoch_high_s")),
)
"""What a narrow terminal leaves out of the rankings, the first to go first."""


def search_sections(result: SearchResult) -> tuple[Section, ...]:
    """Ranking and Pareto front inside the window; the nearest misses where it is empty."""
    notes = Section("", text=notes_text(result))
    if not len(result.best):
        return (ranking(f"{heading(result)}: nothing found; nearest to the window", result.misses), notes)
    best, front = (ranked(each, has_windows=result.has_windows) for each in (result.best, result.pareto))
    return (ranking(heading(result), best), ranking(PARETO, front), notes, words_section(*SEARCH_WORDS))


def ranked(table: pd.DataFrame, *, has_windows: bool) -> pd.DataFrame:
    """Rows that were ranked, without what is the same of all of them."""
    told = () if has_windows else ("window_probability",)
    return table.drop(columns=[name for name in (*NOT_RANKED, *told) if name in table])


def heading(result: SearchResult) -> str:
    """CNN, machine and windows."""
    return f"{result.cnn} on {result.machine}, {windows_text(result)}, by {objective_text(result.objective)}"


def windows_text(result: SearchResult) -> str:
    """The windows in words."""
    level = result.window_quantile
    what = "mean mini-batch" if level is None else f"{100 * level:g} % quantile of the mini-batch"
    text = windows_text_of(result.window, what)
    if result.max_staleness is not None:
        text = f"{text}, mean staleness at most {number_text(result.max_staleness)}"
    return f"{text} (in {100 * result.min_probability:g} % of draws)" if result.min_probability else text


def windows_text_of(window: tuple[float, float], what: str = "mean mini-batch") -> str:
    """A window of the mini-batch in words."""
    low, high = (number_text(end) for end in window)
    return "any mini-batch" if window == (0.0, float("inf")) else f"{what} in {low} to {high} samples"


def ranking(title: str, table: pd.DataFrame) -> Section:
    """Rows of a search with the columns that hold anything (cost and energy need figures of the machine)."""
    return Section(title, table.dropna(axis="columns", how="all"), secondary=LESS)


def notes_text(result: SearchResult) -> str:
    """How the configurations were solved, what was not measured, how stable the ranking is."""
    return "\n".join([*solution_lines(result), *stability_lines(result.stability, has_windows=result.has_windows)])


def solution_lines(result: SearchResult) -> list[str]:
    """How many configurations were solved by which form, what does not fit, and what was not measured."""
    solved = f"{len(result.grid):,} configurations solved with {GRID_FORM}"
    lines = [f"{solved}, {result.n_refined} of them again with {DEFAULT_FORM}."]
    infeasible = int((~result.grid["feasible"]).sum())
    if infeasible:
        lines.append(f"Device memory too small for {infeasible:,} of {len(result.grid):,} configurations.")
    if result.experimental is not None:
        lines.append(f"Time to the target is {result.experimental}.")
    return [*lines, *unmeasured_lines(result.assumed)]


def stability_lines(stability: RankStability | None, *, has_windows: bool) -> list[str]:
    """How far the ranking survives the uncertainty of the models."""
    if stability is None:
        return []
    first, told, held = "The first row", [], ""
    if has_windows:
        first, held = "Where it holds the windows, the first row", " that holds them"
        told = ["window probability: share of draws in which every window holds"]
    told += [
        f"first share: share of draws in which the row is the best{held}",
        "rank low, rank high: 5 % and 95 % quantiles of its rank",
    ]
    return [
        f"Of {stability.n_draws} joint draws of the models and their errors, {percent_text(stability.first_stays)} keep the first "
        "row first; "
        f"{percent_text(stability.overlap)} of the top {stability.k} stay in it; Kendall's tau of the "
        f"{stability.n_candidates} best rows is {number_text(stability.kendall_tau, 3)} "
        f"({number_text(stability.kendall_tau_low, 3)} in the worst 5 %).",
        f"{first} costs {percent_text(stability.regret)} over the best of a draw, "
        f"{percent_text(stability.regret_high)} in the worst 5 %.",
        f"{'; '.join(told)}. Other low and high: 95 % interval of one run.",
    ]


def search_figure(result: SearchResult) -> Figure:
    """The objective over nodes and sub-batch for each number of GPUs per node (at most four), then the mean mini-batch."""
    of_best = int(first_rows(result)["n_gpus_per_node"].iloc[0])
    others = [int(n) for n in np.unique(result.grid["n_gpus_per_node"]) if n != of_best]
    shown = [of_best, *others[-MOST_OTHERS:]]
    return search_maps([*(plane_of(result, n) for n in shown), plane_of(result, of_best, column="mean_minibatch_size")])


def first_rows(result: SearchResult) -> pd.DataFrame:
    """The ranking; where nothing holds the windows, what is nearest to them; else every row."""
    return next(rows for rows in (result.best, result.misses, result.grid) if len(rows))


def column_of(result: SearchResult) -> str:
    """Column of the objective."""
    return "time_to_target_s" if result.objective == "time_to_target" else result.objective


def plane_of(result: SearchResult, n_gpus: int | None = None, *, column: str = "", framed: bool = True) -> Plane:
    """One plane of a search: a column (the objective's by default) at a number of GPUs per node (the best row's by default)."""
    ranked = first_rows(result)
    of_best = int(ranked["n_gpus_per_node"].iloc[0])
    n_gpus = of_best if n_gpus is None else n_gpus
    plane = result.grid[result.grid["n_gpus_per_node"] == n_gpus]
    best = [int(ranked[axis].iloc[0]) for axis in AXES] if len(result.best) and framed and n_gpus == of_best else None
    shown = column or column_of(result)
    values = pivot(plane, shown)
    return Plane(
        np.unique(plane["n_nodes"].to_numpy(np.int64)),
        np.unique(plane["subbatch_size"].to_numpy(np.int64)),
        values,
        flags(plane, "in_window") & result.has_windows,
        flags(plane, "feasible") & np.isfinite(values),
        best=None if best is None else (best[0], best[1]),
        title=f"{TITLES[shown]}: {result.cnn} on {result.machine}, {counted(n_gpus, 'GPU')} a node",
        quantity=QUANTITIES[shown],
        units=UNITS.get(shown, {}),
    )


def pivot(plane: pd.DataFrame, column: str) -> FloatArray:
    """A column as an array, shape (n_subbatches, n_node_counts); NaN where the grid has no row."""
    return plane.pivot(index="subbatch_size", columns="n_nodes", values=column).to_numpy(float)


def flags(plane: pd.DataFrame, column: str) -> BoolArray:
    """A flag as an array, False where the grid has no row."""
    return np.asarray(np.nan_to_num(pivot(plane.astype({column: float}), column)) > 0)


def machines_sections(result: MachineSearch) -> tuple[Section, ...]:
    """The common ranking and Pareto front; every machine's nearest misses where nothing was found."""
    first = result.searches[0]
    machines = ", ".join(one.machine for one in result.searches)
    title = f"{first.cnn} on {machines}, {windows_text(first)}, by {objective_text(first.objective)}"
    notes = [f"{one.machine}: {line}" for one in result.searches for line in solution_lines(one)]
    notes_section = Section("", text="\n".join([*notes, *stability_lines(result.stability, has_windows=first.has_windows)]))
    if not len(result.best):
        missed = [search_sections(one)[0] for one in result.searches]
        return (*missed, notes_section)
    words = words_section(*SEARCH_WORDS)
    best, front = (ranked(each, has_windows=first.has_windows) for each in (result.best, machine_first(result.pareto)))
    return (ranking(title, best), ranking(PARETO, front), notes_section, words)


def machine_first(table: pd.DataFrame) -> pd.DataFrame:
    """The machine before everything else."""
    return table[["machine", *(name for name in table.columns if name != "machine")]]


def machines_figure(result: MachineSearch) -> Figure:
    """One plane a machine on one colour scale; the best row of all machines framed."""
    winner = result.best["machine"].iloc[0] if len(result.best) else ""
    return search_maps([plane_of(one, framed=one.machine == winner) for one in result.searches])
