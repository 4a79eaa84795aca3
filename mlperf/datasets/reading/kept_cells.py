"""Cells of columns that were only passed on: which of them is no number, told once somebody counts with the column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError
from mlperf.datasets.reading.foreign import ForeignTable
from mlperf.datasets.reading.inference import NUMBER_HINT, OTHER_TARGET, TARGET, TypedColumn, foreign_column, together_hint

FAULTS = "faults"
"""Attribute of a frame: `CellFault` by column."""


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
