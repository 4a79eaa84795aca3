"""What a user should know of how a table was read: what was left out, which cells are no numbers, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.reading.cell_kinds import unit_remedy
from mlperf.datasets.reading.foreign import ForeignTable
from mlperf.datasets.reading.grid import MARKS, Grid
from mlperf.datasets.reading.inference import NUMBER_HINT, OTHER_TARGET, TARGET, TypedColumn, foreign_column, together_hint

MOST_MISSING = 0.5
"""Share of missing cells above which a column that nobody named is left out, not its rows."""
FAULTS = "faults"
"""Attribute of a frame: `CellFault` by column."""


def set_aside(table: ForeignTable, typed: Mapping[str, TypedColumn], na: str) -> dict[str, str]:
    """Columns that nobody named and that cannot be used, each with the reason.

    Parameters
    ----------
    table : ForeignTable
        Where they come from.
    typed : mapping of str to TypedColumn
        The columns in question.
    na : str
        ``"error"``: a missing cell is a reason; ``"drop"``: only where most are missing.
    """
    return {name: why for name, column in typed.items() if (why := _why_aside(table, column, na))}


def _why_aside(table: ForeignTable, column: TypedColumn, na: str) -> str:
    """Why a column cannot be used; empty where it can, or where its author made a mistake."""
    rows = np.flatnonzero(column.missing)
    if len(rows) == len(column.missing):
        return "has no values"
    if column.holds == "dates":
        return f"holds dates or times of day ({_example(column)}), which say nothing about other rows"
    if len(rows) and (na == "error" or len(rows) > MOST_MISSING * len(column.missing)):
        advice = "; to leave out these rows instead: na='drop', --na drop" if na == "error" else ""
        return f"has no value in {len(rows):,} of {len(column.missing):,} rows ({table.cells.where(rows.tolist())}{advice})"
    return ""


def reading_notes(table: ForeignTable, decimal: str, aside: Mapping[str, str]) -> list[str]:
    """How an unusual file was read, and which columns were left out."""
    notes = list(table.source.notes)
    if isinstance(table.cells, Grid) and (table.cells.separator != "," or decimal != "."):
        commas = " and decimal commas" if decimal == "," else ""
        notes.append(f"{table.source.path}: read with {MARKS[table.cells.separator]}s between the cells{commas}")
    return notes + [f"{table.source.path}, column {name}: left out, it {why}" for name, why in aside.items()]


def row_notes(table: ForeignTable, used: Mapping[str, TypedColumn], n_copies: int) -> list[str]:
    """Which rows were left out, and for which cells."""
    notes = []
    missing = {name: column.missing for name, column in used.items() if column.missing.any()}
    if missing:
        n_rows = int(np.logical_or.reduce(list(missing.values())).sum())
        places = "; ".join(f"{table.cells.where(np.flatnonzero(rows).tolist())} in column {name}" for name, rows in missing.items())
        notes.append(f"{table.source.path}: left out {n_rows:,} of {table.cells.n_rows:,} rows with a missing cell ({places})")
    if n_copies:
        notes.append(f"{table.source.path}: left out copies of earlier rows: {n_copies:,} of {table.cells.n_rows:,} rows")
    return notes


def unit_notes(table: ForeignTable, used: Mapping[str, TypedColumn]) -> list[str]:
    """Which columns were read without the units in their cells."""
    bared = [name for name, column in used.items() if column.is_bared]
    what = f"column{'s' if len(bared) > 1 else ''} {', '.join(bared)}"
    return [f"{table.source.path}, {what}: read without the unit behind the numbers, which the name has, too"] if bared else []


def label_notes(table: ForeignTable, used: Mapping[str, TypedColumn]) -> list[str]:
    """Which columns of labels look like something else."""
    words = {
        "dates": "holds dates or times of day ({}), read as labels",
        "units": "holds numbers with units ({}), read as labels: remove the units to use the numbers",
    }
    remedies = {name: unit_remedy(column.values[~column.missing], name) for name, column in used.items() if column.holds == "units"}
    return [
        f"{table.source.path}, column {name}: {words[column.holds].format(_example(column))}"
        f"{f' ({remedies[name]})' if name in remedies else ''}"
        for name, column in used.items()
        if column.holds
    ]


def _example(column: TypedColumn) -> str:
    """The first value of a column of labels."""
    return repr(str(column.values.iloc[int(np.argmin(column.missing))]))


@dataclass(frozen=True, slots=True)
class CellFault:
    """The first cell of a column that is no number.

    Attributes
    ----------
    where : str
        Its line, or its row: ``"line 3"``.
    column : str
        The column's name in the file.
    text : str
        What stands there.
    expected : str
        What should have; empty where the cell is missing.
    hint : str
        What to do.
    """

    where: str
    column: str
    text: str
    expected: str
    hint: str

    def error(self, expected: str, place: str = "") -> DataError:
        """The error of somebody who expected such numbers, in a file called ``place``."""
        told = self.expected or expected
        at = f"{place}, {self.where}" if place else self.where
        return DataError(f"got {cell_text(self.text)}, expected {told}", place=f"{at}, column {self.column}", hint=self.hint)


def cell_text(text: str) -> str:
    """A cell as messages quote it."""
    return repr(text) if text.strip() else "an empty cell"


def number_faults(table: ForeignTable, kept: Mapping[str, TypedColumn], decimal: str) -> dict[str, CellFault]:
    """The first cell that is no number, of each column that has one.

    Parameters
    ----------
    table : ForeignTable
        Where they come from.
    kept : mapping of str to TypedColumn
        Columns as they are passed on.
    decimal : str
        The decimal mark of the file's numbers.
    """
    doubtful = [name for name, column in kept.items() if column.missing.any() or np.asarray(column.values).dtype.kind not in "if"]
    texts = table.cells.texts(doubtful) if doubtful else {}
    return {name: fault for name in doubtful if (fault := _fault(table, texts[name], decimal)) is not None}


def _fault(table: ForeignTable, cells: pd.Series, decimal: str) -> CellFault | None:
    """The topmost cell of one column that is missing or wrong."""
    column = foreign_column(cells, is_label=False, is_target=True, decimal=decimal)
    if column.wrong is not None:
        row, expected = column.wrong, column.expected.replace(TARGET, "a number")
        hint = together_hint(column.hint).replace(OTHER_TARGET, "").strip()
    elif column.missing.any():
        row, expected, hint = int(np.argmax(column.missing)), "", NUMBER_HINT
    else:
        return None
    return CellFault(table.cells.where([row]), str(cells.name), str(cells.iloc[row]), expected, hint)


def refuse_cells(frame: pd.DataFrame, name: str, expected: str, place: str = "") -> None:
    """Refuse a column that is no column of numbers in the file that the frame was read from.

    Parameters
    ----------
    frame : DataFrame
        As `mlperf.datasets.reading.any_table.read_any_table` makes it, with ``others="keep"``; of others nothing is known.
    name : str
        The column.
    expected : str
        What each cell should be.
    place : str
        The file, for the message.

    Raises
    ------
    DataError
        Names the line, the column as the file calls it, and what stands there.
    """
    fault = frame.attrs.get(FAULTS, {}).get(name)
    if fault is not None:
        raise fault.error(expected, place)
