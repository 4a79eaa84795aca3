"""Strict reading of any CSV with a target column and numeric or categorical columns."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.dictionary.numbers import NEGATIVE_TIME_HINT, bound_hint
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.reading.folder import table_name
from mlperf.datasets.reading.grid import Grid, read_grid
from mlperf.datasets.reading.inference import MISSING_HINT, TypedColumn, number_column, typed_column
from mlperf.datasets.reading.read import ReadTable, read_table, separator_hint
from mlperf.datasets.reading.repeats import settle_copies
from mlperf.datasets.reading.source import check_settled, read_source

TIME_SUFFIXES = ("_s", "_ms", "_us", "_ns")
NA_POLICIES = ("error", "drop")


def read_any_table(
    path: Path | str,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    na: str = "error",
    duplicates: str = "error",
    positive: bool = True,
) -> pd.DataFrame:
    """Read a table that no dictionary describes.

    A file with the name and the columns of a campaign's table is read by the data dictionary instead (``read_table``).

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.csv.gz``.
    target : str, optional
        The response: numbers, all > 0 unless ``positive`` is False. None: there is none (rows to predict).
    columns : sequence of str, optional
        Columns to read and check beside the target; by default all.
    categorical : sequence of str
        Columns that hold labels even where these look like numbers.
    na : str
        ``"error"``, or ``"drop"`` to leave out rows with a missing cell (empty, NA, NaN, null) in one of the columns read.
    duplicates : str
        What to do with rows equal in every column of the file: ``"error"``, ``"keep"`` or ``"drop"``.
    positive : bool
        Whether the target must be > 0, as times are.

    Returns
    -------
    DataFrame
        In file order. A column is int64 or float64 where every cell is a number, text where none is. ``attrs`` holds
        ``n_rows_read`` and ``n_rows_missing``.

    Raises
    ------
    DataError
        Names file, line, column and value, with a hint: missing or repeated column, a column of numbers with something else
        in it, infinity, missing cell, negative time, target that is no number or not > 0, rows of different length, copied
        rows, no rows left, empty file, wrong encoding, file that changes while it is read.
    UsageError
        An unknown policy.
    """
    if na not in NA_POLICIES:
        raise UsageError(f"got na={na!r}, expected one of {', '.join(NA_POLICIES)}")
    grid = read_grid(read_source(Path(path)))
    if is_dictionary_table(grid):
        return dictionary_table(grid, target, columns, duplicates)
    names = _wanted_columns(grid, target, columns, categorical)
    typed = {name: typed_column(texts, is_label=name in categorical) for name, texts in text_columns(grid, names).items()}
    keep = _checked_rows(grid, typed, target, na=na, positive=positive)
    frame = pd.DataFrame({name: column.values for name, column in typed.items()}).loc[keep]
    if duplicates != "keep":
        frame = frame.loc[settle_copies(all_cells(grid).loc[keep], grid, duplicates).index]
    check_settled([grid.source])
    frame = frame.reset_index(drop=True)
    frame.attrs = {"n_rows_read": grid.n_rows, "n_rows_missing": int((~keep).sum())}
    return frame


def read_typed_table(
    path: Path | str,
    needed: Sequence[str] = (),
    *,
    labels: Sequence[str] = (),
    numbers: Callable[[str], bool] | None = None,
    others: bool = True,
    signed: Sequence[str] = (),
) -> ReadTable:
    """Read a table in which cells may be missing, and keep its places for what the caller checks besides.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.csv.gz``.
    needed : sequence of str
        Columns that must be there.
    labels : sequence of str
        Columns of text, even where it looks like numbers; those that the file lacks are no mistake.
    numbers : callable, optional
        Whether a column of some name holds numbers only, NaN where a cell is missing; by default none is known to.
    others : bool
        Whether to read columns of which neither is said: numbers where every cell is one or missing, else text.
    signed : sequence of str
        Columns in seconds that the reader does not refuse where they are negative.

    Returns
    -------
    ReadTable
        Columns in file order: text (missing: ``""``), int64, or float64 (missing: NaN).

    Raises
    ------
    DataError
        As `read_any_table`, but for missing cells and copied rows.
    """
    grid = read_grid(read_source(Path(path)))
    _wanted_columns(grid, None, needed, ())
    counted = {name for name in grid.header if numbers is not None and name not in labels and numbers(name)}
    names = [name for name in grid.header if others or name in counted or name in labels]
    typed = {
        name: number_column(cells) if name in counted else typed_column(cells, is_label=name in labels)
        for name, cells in text_columns(grid, names).items()
    }
    checked = {name: column for name, column in typed.items() if column.wrong is not None or name not in signed}
    faults = [one for name in checked for one in column_faults(name, checked[name], na="keep", positive=False, is_target=False)]
    if faults:
        raise grid.error(*min(faults, key=lambda fault: fault[0]))
    check_settled([grid.source])
    return ReadTable(pd.DataFrame({name: column.values for name, column in typed.items()}), grid)


def is_dictionary_table(grid: Grid) -> bool:
    """Whether the file has the name and the columns of a campaign's table."""
    name = table_name(grid.source.path)
    return name in TABLES and set(grid.header) == set(TABLES[name].names)


def dictionary_table(grid: Grid, target: str | None, columns: Sequence[str] | None, duplicates: str) -> pd.DataFrame:
    """A campaign's table, read by the dictionary."""
    schema = TABLES[str(table_name(grid.source.path))]
    names = _wanted_columns(grid, target, columns, ())
    frame = read_table(grid.source.path, schema, duplicates)[names]
    frame.attrs = {"n_rows_read": grid.n_rows, "n_rows_missing": 0}
    return frame


def _wanted_columns(grid: Grid, target: str | None, columns: Sequence[str] | None, categorical: Sequence[str]) -> list[str]:
    """Columns to read, in file order; DataError: one of them is not in the file."""
    asked = (*(() if target is None else (target,)), *(columns or ()), *categorical)
    for name in asked:
        if name not in grid.header:
            got = ", ".join(grid.header)
            hint = separator_hint(grid) or did_you_mean(name, grid.header)
            raise DataError(
                f"is missing: got {got}, expected also {name!r}", place=f"{grid.source.path}, line 1, column {name}", hint=hint
            )
    return [name for name in grid.header if columns is None or name in asked]


def text_columns(grid: Grid, names: Sequence[str]) -> dict[str, pd.Series[Any]]:
    """Cells of the named columns as texts."""
    if not grid.is_plain:
        rows = [cells for _, cells in grid.records()]
        places = {name: grid.header.index(name) for name in names}
        return {name: pd.Series([cells[index] for cells in rows], name=name, dtype="str") for name, index in places.items()}
    frame = pd.read_csv(
        io.BytesIO(grid.source.data), usecols=list(names), dtype=str, na_filter=False, skip_blank_lines=False, index_col=False
    )
    return {name: frame[name] for name in names}


def all_cells(grid: Grid) -> pd.DataFrame:
    """Every cell of the file as text."""
    return pd.DataFrame(text_columns(grid, grid.header))


def _checked_rows(grid: Grid, typed: dict[str, TypedColumn], target: str | None, *, na: str, positive: bool) -> BoolArray:
    """Rows to keep, once every cell has been found right or missing by leave."""
    missing = np.zeros(grid.n_rows, dtype=bool)
    faults: list[tuple[int, str, str, str]] = []
    for name, column in typed.items():
        missing |= column.missing
        faults.extend(column_faults(name, column, na=na, positive=positive and name == target, is_target=name == target))
    if faults:
        row, name, expected, hint = min(faults, key=lambda fault: fault[0])
        raise grid.error(row, name, expected, hint)
    if missing.all():
        raise DataError(
            f"got {grid.n_rows} rows, each with a missing cell, expected at least one whole row",
            place=f"{grid.source.path}, line 2, column {next(name for name, column in typed.items() if column.missing[0])}",
            hint="Name the columns that matter (columns=): missing cells elsewhere are then no reason to leave a row out.",
        )
    return ~missing


def column_faults(name: str, column: TypedColumn, *, na: str, positive: bool, is_target: bool) -> list[tuple[int, str, str, str]]:
    """Row, column, expectation and hint of the first wrong cells of a column, one of each kind."""
    faults = []
    if column.wrong is not None:
        faults.append((column.wrong, name, column.expected, column.hint))
    if na == "error" and column.missing.any():
        faults.append((int(np.argmax(column.missing)), name, "a value", MISSING_HINT))
    if column.wrong is not None:
        return faults
    numbers = np.asarray(column.values)
    if numbers.dtype.kind not in "if":
        if is_target and not column.missing.all():
            row = int(np.argmax(~column.missing))
            faults.append((row, name, "a number: the target is what the model predicts", "Choose a column of numbers as target."))
        return faults
    low = numbers <= 0 if positive else numbers < 0
    if (positive or name.endswith(TIME_SUFFIXES)) and low.any():
        row = int(np.argmax(low))
        expected = "a number > 0" if positive else "a time >= 0"
        hint = bound_hint(float(numbers[row]), is_time=True) if positive else NEGATIVE_TIME_HINT
        faults.append((row, name, expected, hint))
    return faults
