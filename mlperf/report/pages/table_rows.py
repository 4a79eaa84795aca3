"""How predictions of a table's rows are shown: sums first, some rows, what they miss; and beside measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.report.pages.table_models import LESS_OF_ERRORS, errors_named
from mlperf.report.text.numbers import percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.models.validation.scores import ErrorSummary
    from mlperf.planning.table_comparison import TableComparison
    from mlperf.planning.table_output import RowsWritten
    from mlperf.planning.table_prediction import RowPredictions

MOST_ROWS = 40
"""Rows of a table as text; nobody reads more."""


def row_sections(result: RowPredictions) -> tuple[Section, ...]:
    """Sums where they were asked for, the first rows, what was noted."""
    frame = result.to_frame()
    of_mean, of_run = (tuple(f"{kind}_{end}_{result.target}" for end in ("lower", "upper")) for kind in ("mean", "run"))
    features = [name for name in map(str, frame) if not name.endswith(result.target) and name not in ("in_domain", "remark")]
    shown = Section("" if result.sums is None else "Rows", frame.head(MOST_ROWS), secondary=(of_mean, *reversed(features), of_run))
    more = [f"{len(frame) - MOST_ROWS:,} further rows: -o FILE writes all of them as CSV."] if len(frame) > MOST_ROWS else []
    level = 100 * result.prediction_interval.level
    told = [*more, f"mean and run: {level:g} % interval of the mean and of a single run, in the unit of {result.target}."]
    outside = int((~result.in_domain).sum())
    if outside:
        told.append(f"{outside:,} of {len(frame):,} rows lie outside the measured domain.")
    return (*sums_sections(result.sums, result.target), shown, Section("", text="\n".join([*told, *notes(result.notes)])))


def written_sections(result: RowsWritten) -> tuple[Section, ...]:
    """Sums where they were asked for, and what was written in a few sentences."""
    told = [
        f"{result.n_rows:,} rows written to {result.path}: {result.n_predicted:,} with {result.target} predicted, "
        f"{result.n_in_domain:,} of them inside the measured domain."
    ]
    if result.errors is not None:
        told.append(
            f"{errors_sentence(result.errors, result.target)} {percent_text(result.coverage)} lie inside the interval of a run."
        )
    return (*sums_sections(result.sums, result.target), Section("", text="\n".join([*told, *notes(result.notes)])))


def sums_sections(sums: pd.DataFrame | None, target: str) -> tuple[Section, ...]:
    """One row a group, the first ones of many."""
    if sums is None:
        return ()
    by = str(sums.columns[0])
    told = (
        "lower and upper: interval of the sum of one run of each row; what the rows of a group share counts in full, "
        "their own noise in squares."
    )
    if len(sums) > MOST_ROWS:
        told = f"{told} {len(sums) - MOST_ROWS:,} further groups: --json has all of them."
    return (
        Section(f"Sums of {target} by {by}", sums.head(MOST_ROWS).assign(**{by: sums[by].astype(str)})),
        Section("", text=told),
    )


def notes(found: tuple[str, ...]) -> list[str]:
    """Notes as a list."""
    return [f"- {note}" for note in found]


def errors_sentence(errors: ErrorSummary, target: str) -> str:
    """Mean, median and largest error in words."""
    return (
        f"{target} is missed by {percent_text(errors.mape)} on average, {percent_text(errors.median)} in the middle, "
        f"{percent_text(errors.max)} at most (n = {errors.n:,})."
    )


def comparison_sections(result: TableComparison) -> tuple[Section, ...]:
    """Errors of all rows, by domain and by group, then the rows that are missed most."""
    sections = [Section(f"{result.target}: predicted against measured", errors_named(result.parts), secondary=LESS_OF_ERRORS)]
    if len(result.by_group):
        by = str(result.by_group.columns[0])
        sections.append(
            Section(f"By {by}, the worst first", errors_named(result.by_group.head(MOST_ROWS)), secondary=LESS_OF_ERRORS)
        )
    order = np.argsort(-result.table["relative_error"].abs().to_numpy(), kind="stable")
    worst = result.table.iloc[order[:MOST_ROWS]].reset_index(drop=True)
    title = "Rows" if len(result.table) <= MOST_ROWS else f"The {MOST_ROWS} rows that are missed most of {len(result.table):,}"
    features = [name for name in map(str, worst) if not name.endswith((result.target, "relative_error", "in_domain", "remark"))]
    bounds = tuple(f"run_{end}_{result.target}" for end in ("lower", "upper"))
    sections.append(Section(title, worst, secondary=(bounds, *reversed(features))))
    if result.notes:
        sections.append(Section("", text="\n".join(notes(result.notes))))
    return tuple(sections)


def comparison_figure(result: TableComparison) -> Figure:
    """Measured against predicted with the interval of a run, and the errors."""
    from mlperf.report.figures.table_plots import Compared, compared_figure

    table, target = result.table, result.target
    inside = table["in_domain"].map({True: "in domain", False: "outside"}).tolist()
    lower, upper = (table[f"run_{end}_{target}"].to_numpy(float) for end in ("lower", "upper"))
    shown = Compared(table[target].to_numpy(float), table[f"predicted_{target}"].to_numpy(float), target, lower, upper, inside)
    return compared_figure(shown, "Predicted against measured")
