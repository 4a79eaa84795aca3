"""How the model of a table is shown, by `train` and `report` alike: verdict, methods, explainable fit, what it missed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from mlperf.core.errors import UsageError
from mlperf.report.figures.html import Picture
from mlperf.report.figures.table_plots import (
    Compared,
    against_figure,
    coefficient_figure,
    compared_figure,
    effect_figures,
    errors_figure,
    group_figure,
    path_figure,
)
from mlperf.report.pages.fits import fit_sections
from mlperf.report.text.views import Section
from mlperf.report.text.words import words_section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mlperf.training.part_report import PartReport
    from mlperf.training.reported_model import ModelReport
    from mlperf.training.table.table_model import TableModel
    from mlperf.training.table.table_report import TableReport

EFFECTS = (
    "One column varies over what was measured of it, the others stay at their median or most frequent label; "
    "the band holds 95 % of runs."
)
COEFFICIENTS = (
    "Coefficients of the explainable fit over their standard errors: terms have units of their own, so that only the distance "
    "from zero compares. Tested as if the model had been given."
)
LESS_OF_ERRORS = (
    *("outside_share", "n_unpredictable", "kendall_tau", "log_ratio", "log_error_beyond", "third_quartile_error"),
    *("nonpositive_share", "noise_floor", "halves_differ", "mean_error", "n_rows", "n", "median_error", "max_error"),
)
"""What a narrow terminal leaves out of tables of errors, the first to go first."""
MOST_LINES = 60
"""Of the selection's tables in a terminal; the page has all of them."""


def model_sections(model: TableModel) -> tuple[Section, ...]:
    """The sections of its report, the long ones as details."""
    from mlperf.training.reported_model import model_report

    return table_sections(model_report(model), brief=True)


def model_figure(model: TableModel) -> Figure:
    """The figure of its report."""
    from mlperf.training.table.table_report import table_report

    return against_left_out(table_report(model))


def table_sections(result: ModelReport, *, brief: bool = False) -> tuple[Section, ...]:
    """How good it is in words, the methods that were compared, the explainable fit with its path, errors, formulas, remarks.

    ``brief`` makes path, errors and formulas details.
    """
    table, part = told(result), result.parts[0]
    return (
        Section(f"Model of {table.target}: {table.method}", text=f"{table.verdict}\n{table.reason}"),
        *power_law_sections(table),
        *method_sections(table),
        *fit_sections(f"Terms chosen by AIC for {table.target}", part.fit),
        *(replace(section, is_detail=brief) for section in path_sections(part, table, MOST_LINES)),
        *(replace(section, is_detail=brief) for section in error_sections(part, table)),
        *(replace(section, is_detail=brief) for section in formula_sections(table)),
        *remark_sections(part, table),
        words_section("left out", "mape", "noise floor", "adjusted R²", "AIC"),
    )


def told(result: ModelReport) -> TableReport:
    """What the report says of a table."""
    if result.table is None:
        raise UsageError("got the report of a campaign, expected one of a table")
    return result.table


def method_sections(table: TableReport) -> tuple[Section, ...]:
    """The methods compared, errors under names that say what they are."""
    if len(table.methods) < 2:
        return ()
    shown = table.methods[["method", "mape", "median", "q3", "nonpositive", "beyond", "chosen"]].copy()
    shown["chosen"] = np.where(shown["chosen"], "predicts", "")
    named = errors_named(shown.rename(columns={"beyond": "log_error_beyond"}))
    return (Section("Methods on left-out rows", named, secondary=LESS_OF_ERRORS),)


def power_law_sections(table: TableReport) -> tuple[Section, ...]:
    """What predicts as a formula, where it is a power law."""
    law = table.power_law
    if law is None:
        return ()
    lines = [law.formula, f"R (medians): {law.r}"]
    if law.spreadsheet:
        cells = ", ".join(f"{letter}2 {name}" for name, letter in law.cells.items())
        lines.append(f"Spreadsheet{f' ({cells})' if cells else ''}: {law.spreadsheet}")
    return (Section(f"The power law that predicts {table.target}", text="\n".join(lines)),)


def path_sections(part: PartReport, table: TableReport, most_lines: int) -> tuple[Section, ...]:
    """Steps of the selection, then every table of drops as R prints it, or the last of many lines."""
    sections = [Section("Path of the selection", part.path, level=3)] if len(part.path) else []
    lines = table.trace.splitlines()
    if lines:
        last = max((place for place, line in enumerate(lines) if line.startswith(("Start:", "Step:"))), default=0)
        shown, title = (
            (lines, "Tables of drops") if len(lines) <= most_lines else (lines[last:], "Last table of drops (--html: all)")
        )
        sections.append(Section(title, text="\n".join(shown), level=3))
    return tuple(sections)


def error_sections(part: PartReport, table: TableReport) -> tuple[Section, ...]:
    """Left-out errors of all rows and by group."""
    what = f"groups of equal {table.groups}" if table.groups else "groups of equal features"
    if not len(part.left_out):
        return (Section("Left-out errors", text="Too few groups to leave one out."),)
    errors = errors_named(part.left_out.drop(columns="method")).assign(noise_floor=part.noise_floor)
    sections = [Section(f"Left-out errors ({what})", errors, secondary=LESS_OF_ERRORS)]
    if len(table.by_group):
        sections.append(Section(f"Left-out error by {table.groups}", errors_named(table.by_group), secondary=LESS_OF_ERRORS))
    return tuple(sections)


def errors_named(table: pd.DataFrame) -> pd.DataFrame:
    """Error columns under names that say what they are."""
    named = {"median": "median_error", "q3": "third_quartile_error", "max": "max_error", "bias": "mean_error"}
    return table.rename(columns={**named, "nonpositive": "nonpositive_share"})


def formula_sections(table: TableReport) -> tuple[Section, ...]:
    """The explainable fit to paste."""
    found = table.formulas
    if found is None:
        return ()
    lines = ["R:", f"  {found.r}"]
    if found.statsmodels:
        lines += ["Python (import numpy as np, statsmodels.formula.api as smf):", f"  {found.statsmodels}"]
    if found.spreadsheet:
        cells = ", ".join(f"{letter}2 {name}" for name, letter in found.cells.items())
        lines += [f"Spreadsheet{f' ({cells})' if cells else ''}:", f"  {found.spreadsheet}"]
    return (Section("The formula to paste", text="\n".join([*lines, *(f"- {note}" for note in found.notes)])),)


def remark_sections(part: PartReport, table: TableReport) -> tuple[Section, ...]:
    """Warnings, then what was left aside and noted."""
    own = [warning for warning in part.warnings if warning not in part.fit.warnings]
    sections = []
    if own:
        sections.append(Section("Warnings", text="\n".join(f"- {warning}" for warning in own)))
    if table.remarks:
        sections.append(Section("Left aside and noted", text="\n".join(f"- {remark}" for remark in table.remarks)))
    return tuple(sections)


def against_left_out(table: TableReport) -> Figure:
    """Measured against predicted of left-out rows, and their errors.

    Raises
    ------
    UsageError
        Nothing was left out.
    """
    if table.left_out.empty:
        hint = "Measure at least three different configurations; models of earlier releases keep no such rows: train again."
        raise UsageError("the model keeps no left-out rows to draw", hint=hint)
    return compared_figure(left_out_rows(table), "Rows left out of the fit")


def left_out_rows(table: TableReport) -> Compared:
    """The left-out rows as they are drawn."""
    rows = table.left_out
    groups = rows["group"].tolist() if table.groups else None
    measured, predicted = rows["measured"].to_numpy(float), rows["predicted"].to_numpy(float)
    return Compared(measured, predicted, table.target, groups=groups, noise_floor=table.noise_floor)


def table_page(result: ModelReport) -> tuple[Section | Picture, ...]:
    """The parts of one page: pictures, then every table of the report."""
    table, part = told(result), result.parts[0]
    pictures: list[Section | Picture] = [*left_out_pictures(table), *effect_pictures(table)]
    if part.fit.has_row_figures and len(part.fit.names):
        pictures.append(Picture("Coefficients", coefficient_figure(part.fit.coefficients), COEFFICIENTS))
    return (
        *pictures,
        *power_law_sections(table),
        *method_sections(table),
        *fit_sections(f"Terms chosen by AIC for {table.target}", part.fit),
        *path_parts(part, table),
        *error_sections(part, table),
        *formula_sections(table),
        *remark_sections(part, table),
    )


def path_parts(part: PartReport, table: TableReport) -> tuple[Section | Picture, ...]:
    """The path of the selection on a page: its picture, where there is more than one step, above its table."""
    sections = path_sections(part, table, 10**9)
    if len(part.path) < 2:
        return sections
    told = "The criterion after every step: less is better."
    drawn = Picture(sections[0].title, path_figure(part.path), told, level=sections[0].level)
    return (drawn, replace(sections[0], title=""), *sections[1:])


def left_out_pictures(table: TableReport) -> list[Picture]:
    """Left-out rows, their errors, and those of each group."""
    pictures = []
    if len(table.left_out):
        rows = left_out_rows(table)
        caption = f"{len(table.left_out):,} rows, each predicted by a model that had not seen it."
        pictures += [Picture("", against_figure(rows), caption, beside=True), Picture("", errors_figure(rows), beside=True)]
    if len(table.by_group):
        caption = "Rows left out with their whole group, the worst first."
        pictures.append(Picture("", group_figure(table.by_group, str(table.groups)), caption, beside=True))
    return pictures


def effect_pictures(table: TableReport) -> list[Section | Picture]:
    """Partial effects, one picture a column."""
    if table.effects.empty:
        return []
    drawn = effect_figures(table.effects, table.target)
    return [Section("Partial effects", text=EFFECTS), *(Picture("", figure, beside=True) for figure in drawn.values())]
