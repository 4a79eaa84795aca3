"""How a search is shown: the ranking, what fewer GPUs give, and the plane of nodes and sub-batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.report.heatmap import search_map
from mlperf.report.numbers import number_text
from mlperf.report.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.systems.search import SearchResult

AXES = ("n_nodes", "subbatch_size")


def search_sections(result: SearchResult) -> tuple[Section, ...]:
    """Ranking and Pareto front inside the window; the nearest misses where it is empty."""
    notes = Section("", text=notes_text(result))
    if not len(result.best):
        return (Section(f"{heading(result)}: nothing found; nearest to the window", known_columns(result.misses)), notes)
    return (
        Section(heading(result), known_columns(result.best)),
        Section("Best for each number of GPUs (Pareto front)", known_columns(result.pareto)),
        notes,
    )


def heading(result: SearchResult) -> str:
    """CNN, machine and window."""
    low, high = (number_text(end) for end in result.window)
    return f"{result.cnn} on {result.machine}, mean mini-batch in {low} to {high} samples, by {result.objective}"


def known_columns(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that hold anything (cost and energy need figures of the machine)."""
    return table.dropna(axis="columns", how="all")


def notes_text(result: SearchResult) -> str:
    """How many configurations were solved by which form, and what was not measured."""
    lines = [f"{len(result.grid):,} configurations solved with second_moment, {result.n_refined} of them again with convolution."]
    infeasible = int((~result.grid["feasible"]).sum())
    if infeasible:
        lines.append(f"Device memory too small for {infeasible:,} of {len(result.grid):,} configurations.")
    if result.assumed:
        lines.append(f"Not measured, taken from the machine's specification: {', '.join(result.assumed)}.")
    return "\n".join(lines)


def search_figure(result: SearchResult) -> Figure:
    """The plane at the best row's GPUs per node (the grid's first where nothing was found)."""
    ranked = result.best if len(result.best) else result.grid
    n_gpus = int(ranked["n_gpus_per_node"].iloc[0])
    plane = result.grid[result.grid["n_gpus_per_node"] == n_gpus]
    best = tuple(int(ranked[axis].iloc[0]) for axis in AXES) if len(result.best) else None
    epoch_s = pivot(plane, "epoch_s")
    return search_map(
        np.unique(plane["n_nodes"].to_numpy(np.int64)),
        np.unique(plane["subbatch_size"].to_numpy(np.int64)),
        epoch_s,
        flags(plane, "in_window"),
        flags(plane, "feasible") & np.isfinite(epoch_s),
        best=None if best is None else (best[0], best[1]),
        title=f"{result.cnn} on {result.machine}, {n_gpus} GPUs a node",
    )


def pivot(plane: pd.DataFrame, column: str) -> FloatArray:
    """A column as an array, shape (n_subbatches, n_node_counts); NaN where the grid has no row."""
    return plane.pivot(index="subbatch_size", columns="n_nodes", values=column).to_numpy(float)


def flags(plane: pd.DataFrame, column: str) -> BoolArray:
    """A flag as an array, False where the grid has no row."""
    return np.asarray(np.nan_to_num(pivot(plane.astype({column: float}), column)) > 0)
