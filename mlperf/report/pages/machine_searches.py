"""How a search over several machines is shown: one ranking, the common Pareto front, one plane a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlperf.report.figures.heatmap import search_maps
from mlperf.report.pages.searches import (
    known_columns,
    plane_of,
    search_sections,
    solution_lines,
    stability_lines,
    windows_text,
)
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from mlperf.planning.search.machines import MachineSearch


def machines_sections(result: MachineSearch) -> tuple[Section, ...]:
    """The common ranking and Pareto front; every machine's nearest misses where nothing was found."""
    first = result.searches[0]
    machines = ", ".join(one.machine for one in result.searches)
    title = f"{first.cnn} on {machines}, {windows_text(first)}, by {first.objective}"
    notes = [f"{one.machine}: {line}" for one in result.searches for line in solution_lines(one)]
    notes_section = Section("", text="\n".join([*notes, *stability_lines(result.stability)]))
    if not len(result.best):
        missed = [search_sections(one)[0] for one in result.searches]
        return (*missed, notes_section)
    return (
        Section(title, known_columns(result.best)),
        Section("Best for each number of GPUs (Pareto front)", known_columns(machine_first(result.pareto))),
        notes_section,
    )


def machine_first(table: pd.DataFrame) -> pd.DataFrame:
    """The machine before everything else."""
    return table[["machine", *(name for name in table.columns if name != "machine")]]


def machines_figure(result: MachineSearch) -> Figure:
    """One plane a machine on one colour scale; the best row of all machines framed."""
    winner = result.best["machine"].iloc[0] if len(result.best) else ""
    return search_maps([plane_of(one, framed=one.machine == winner) for one in result.searches])
