"""Rows to predict as they come: cells may be missing, labels may be new, and every such row is found again in its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import LONGEST, BoolArray
from mlperf.core.errors import DataError
from mlperf.datasets.dictionary.numbers import TEXT_HINT
from mlperf.datasets.joining.join import Keys, Table, join_tables
from mlperf.datasets.reading.any_table import read_any_table
from mlperf.datasets.reading.foreign import ForeignTable, open_table
from mlperf.datasets.reading.notes import FAULTS
from mlperf.datasets.reading.source import STANDARD_INPUT, is_standard_input
from mlperf.training.table.columns import NO_ZERO
from mlperf.training.table.levels import as_known
from mlperf.training.table.table_model import TableModel

MOST_NAMED = 3


@dataclass(frozen=True, slots=True, eq=False)
class AskedRows:
    """Rows that a model is asked about.

    Attributes
    ----------
    frame : DataFrame, shape (n_rows, ...)
        Every column of the table; NaN or ``""`` where a cell is missing.
    path : Path or None
        The file that they stand in, where it can be read again.
    name : str
        What the rows are called in messages.
    table : ForeignTable or None
        The rows as they came from the standard input, which cannot be read again.
    """

    frame: pd.DataFrame
    path: Path | None
    name: str
    table: ForeignTable | None = None

    def opened(self) -> ForeignTable | None:
        """Cells of the file that the rows stand in; None where they stand in none."""
        return self.table if self.path is None else open_table(self.path)

    @property
    def head(self) -> str:
        """The place of the columns' names."""
        return self.name if self.path is None and self.table is None else f"{self.path or self.name}, line 1"

    def where(self, rows: Sequence[int]) -> str:
        """Places of some rows (from 0, rising), the first few by number: ``"new.csv, lines 3, 7, 9 and 4 more"``."""
        table = self.opened()
        if table is not None:
            return f"{self.path or self.name}, {table.cells.where(rows)}"
        more = f" and {len(rows) - MOST_NAMED:,} more" if len(rows) > MOST_NAMED else ""
        return f"{self.name}, row{'s' if len(rows) > 1 else ''} {', '.join(str(row + 1) for row in rows[:MOST_NAMED])}{more}"

    def missing(self, name: str) -> BoolArray:
        """Rows whose cell of a column is missing, shape (n_rows,)."""
        column = self.frame[name]
        return np.asarray(column.isna() | column.astype(object).eq(""), bool)

    def new_labels(self, name: str, known: frozenset[str]) -> BoolArray:
        """Rows with a label of a column that is not among the known ones, shape (n_rows,)."""
        return ~self.frame[name].astype(str).isin(known).to_numpy(bool)


def asked_rows(model: TableModel, rows: Table, join: Sequence[Table] = (), on: Keys | Sequence[Keys] = ()) -> AskedRows:
    """Read rows to predict, with the columns of feature tables where some are given.

    Raises
    ------
    DataError
        A column that the model reads is missing, a key has no partner, or a cell is no number where the model needs one, or one
        with which one cannot count.
    """
    if isinstance(rows, pd.DataFrame):
        asked = AskedRows(rows.reset_index(drop=True), None, "rows")
    else:
        piped = open_table(rows) if is_standard_input(rows) else None
        frame = read_any_table(rows if piped is None else piped, duplicates="keep", others="keep")
        asked = AskedRows(frame, Path(rows), str(rows)) if piped is None else AskedRows(frame, None, str(STANDARD_INPUT), piped)
    if join:
        joined = join_tables(asked.frame if asked.path is None else asked.path, join, on, duplicates="keep", spare=True)
        asked = replace(asked, frame=joined.frame)
    model.check_columns(asked.frame, asked.head)
    typed = _typed(model, asked)
    _check_magnitudes(model, typed)
    _check_measured(model.target, typed)
    return typed


def _check_magnitudes(model: TableModel, asked: AskedRows) -> None:
    """Refuse numbers as no model was trained on, so that no term is beyond numbers."""
    for name in (each for each in model.columns if each not in model.levels):
        sizes = np.abs(asked.frame[name].to_numpy(float))
        wrong = np.flatnonzero((sizes > LONGEST) | ((sizes > 0.0) & (sizes < NO_ZERO)))
        if len(wrong):
            raise DataError(
                f"got {float(asked.frame[name].iloc[wrong[0]]):g}, expected numbers between {NO_ZERO:g} and {LONGEST:g}",
                place=f"{asked.where(wrong[:1].tolist())}, column {name}",
                hint="No table with such numbers is trained on, and terms multiply them: check the unit, or leave the cell empty.",
            )


def _typed(model: TableModel, asked: AskedRows) -> AskedRows:
    """Labels as texts and numbers as numbers, as the model was trained; DataError: a text among the numbers."""
    frame, labels = asked.frame, model.levels
    counted = [name for name in labels if pd.api.types.is_numeric_dtype(frame[name])]
    texts = [name for name in model.columns if name not in labels and not pd.api.types.is_numeric_dtype(frame[name])]
    made: dict[str, pd.Series] = {name: _labels(asked, name) for name in counted}
    for name, known in labels.items():
        given = made.get(name, frame[name])
        meant = as_known(given, known)
        if (meant.ne(given.astype(str)) & given.notna()).any():
            made[name] = meant.where(given.notna(), None)
    made |= {name: _numbers(asked, name) for name in texts}
    return replace(asked, frame=frame.assign(**made)) if made else asked


def _labels(asked: AskedRows, name: str) -> pd.Series[str]:
    """A column of labels that look like numbers, as they are written where they stand in a file."""
    table = asked.opened()
    if table is None or name not in table.header:
        column = asked.frame[name]
        # pandas 2 makes the text "nan" of a missing cell.
        return column.astype(str).where(column.notna(), None)
    return table.cells.texts([name])[name].str.strip()


def _check_measured(target: str, asked: AskedRows) -> None:
    """Refuse measured values that are no numbers, missing ones apart: they would silently be left out of the errors."""
    if target in asked.frame and not pd.api.types.is_numeric_dtype(asked.frame[target]):
        _numbers(asked, target)


def _refuse_unit(asked: AskedRows, name: str) -> None:
    """Refuse cells with a remedy of their own, as those in another unit than the column's name says."""
    fault = asked.frame.attrs.get(FAULTS, {}).get(name)
    if fault is not None and fault.expected and not fault.hint.startswith(TEXT_HINT):
        raise fault.error(fault.expected, str(asked.path or asked.name))


def _numbers(asked: AskedRows, name: str) -> pd.Series[float]:
    """A column of numbers that was read as texts: every cell is missing, or one is none."""
    column = asked.frame[name].replace("", np.nan)
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = np.flatnonzero(numbers.isna() & column.notna())
    if len(wrong):
        _refuse_unit(asked, name)
        raise DataError(
            f"got {column.iloc[wrong[0]]!r}, expected a number",
            place=f"{asked.where(wrong[:1].tolist())}, column {name}",
            hint="The model was trained on numbers there; leave the cell empty where none is known.",
        )
    return numbers
