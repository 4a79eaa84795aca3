"""Strict reading of any table with a target column and numeric or categorical columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.suggest import nearest_hint
from mlperf.datasets.dictionary.numbers import NEGATIVE_TIME_HINT, bound_hint, parse_number
from mlperf.datasets.dictionary.schema import TABLES
from mlperf.datasets.reading.folder import table_name
from mlperf.datasets.reading.foreign import ForeignTable, open_table
from mlperf.datasets.reading.grid import Grid, read_grid
from mlperf.datasets.reading.inference import MISSING_HINT, TypedColumn, has_gaps, number_column, typed_column, with_gaps
from mlperf.datasets.reading.notes import FAULTS, label_notes, number_faults, reading_notes, row_notes, set_aside, unit_notes
from mlperf.datasets.reading.read import ReadTable, read_table, separator_hint
from mlperf.datasets.reading.repeats import distinct_rows
from mlperf.datasets.reading.source import Source, check_settled, read_source
from mlperf.datasets.reading.time_units import TIME_SUFFIXES

NA_POLICIES = ("error", "drop")
SIGNED_HINT = "A response that is no time may be zero or negative: positive=False (--noise absolute)."
NO_TIME_HINT = "The name of a target that is no time must not end as that of one: rename the column."
OTHERS = ("check", "leave", "aside", "offer", "keep")


def read_any_table(
    path: Path | str | ForeignTable,
    target: str | None = None,
    *,
    columns: Sequence[str] | None = None,
    categorical: Sequence[str] = (),
    na: str = "error",
    duplicates: str = "error",
    positive: bool = True,
    others: str | None = None,
) -> pd.DataFrame:
    """Read a table that no dictionary describes.

    A file with the name and the columns of a campaign's table is read by the data dictionary instead (``read_table``). Cells may
    be separated by commas, semicolons, tabs or bars, numbers have decimal points, or decimal commas where commas do not separate.

    Parameters
    ----------
    path : path
        A file of text, gzipped where its name ends in ``.gz``; Parquet where pyarrow is installed; ``-`` for the standard input.
        Or what `open_table` made of it: the standard input can be read only once.
    target : str, optional
        The response: numbers, all > 0 unless ``positive`` is False. None: there is none (rows to predict).
    columns : sequence of str, optional
        Columns that are used beside the target; by default all.
    categorical : sequence of str
        Columns that hold labels even where these look like numbers.
    na : str
        ``"error"``, or ``"drop"`` to leave out rows with a missing cell (empty, NA, NaN, null) in one of the columns checked.
    duplicates : str
        What to do with rows equal in every column of the file: ``"error"``, ``"keep"`` or ``"drop"``.
    positive : bool
        Whether the target must be > 0, as times are.
    others : str, optional
        What to do with columns that nobody named: ``"check"`` them as if they were (the default without ``columns``); ``"leave"``
        them unread (the default with it); ``"aside"``: check those that can be used, leave out dates and, unless rows are
        dropped, columns with missing cells, and name them; ``"offer"``: the same, but columns with missing cells stay in the
        frame (NaN, None) and ``attrs["gaps"]`` says where each lacks its first value; ``"keep"`` them as they are, missing cells
        and all: `mlperf.datasets.reading.notes.refuse_cells` tells of one that is no column of numbers.

    Returns
    -------
    DataFrame
        In file order. A column is int64 or float64 where every cell is a number, text where none is. ``attrs`` holds
        ``n_rows_read``, ``n_rows_missing``, ``sha256`` of the content, ``aside``: the columns left out, each with the reason, and
        ``notes``: sentences with file, column and line about everything that was not taken as it stands, these columns too.

    Raises
    ------
    DataError
        Names file, line, column and value, with a hint: missing or repeated column, a column of numbers with something else
        in it, infinity, missing cell, negative time, target that is no number or not > 0, rows of different length, copied
        rows, no rows left, empty file, two marks that may separate, numbers that may have thousands apart, unknown encoding,
        file that changes while it is read.
    MissingExtraError
        Parquet without pyarrow.
    UsageError
        An unknown policy.
    """
    check_policies(na, others)
    table = path if isinstance(path, ForeignTable) else open_table(path)
    if isinstance(table.cells, Grid) and is_dictionary_table(table.cells):
        return dictionary_table(table.cells, target, columns, duplicates)
    others = others or ("check" if columns is None else "leave")
    asked = _asked_columns(table.source, table.header, target, columns, categorical)
    names = [name for name in table.header if name in asked or (others != "leave" and name not in table.unnamed)]
    # A column that is only passed on does not say how the others write their numbers, unless nobody named a column of numbers.
    all_tell = others != "keep" or asked <= set(categorical)
    telling = [name for name in names if name not in categorical and (name in asked or all_tell)]
    decimal = table.decimal_mark(telling)
    typed = table.typed(names, categorical, target, decimal)
    aside = {name: why for name, why in table.unnamed.items() if name not in names}
    gaps: dict[str, TypedColumn] = {}
    if others in ("aside", "offer"):
        own = set_aside(table, {name: typed[name] for name in names if name not in asked}, na)
        gaps = {name: typed[name] for name in own if others == "offer" and has_gaps(typed[name])}
        aside |= own
    used = {name: column for name, column in typed.items() if name in asked or (others != "keep" and name not in aside)}
    keep = _checked_rows(table, used, target, na=na, positive=positive)
    shown = {name: with_gaps(column) if name in gaps else column.values for name, column in typed.items()}
    frame = pd.DataFrame({name: values for name, values in shown.items() if name in gaps or name not in aside}).loc[keep]
    whole = len(frame)
    frame = distinct_rows(frame, table.cells, duplicates)
    check_settled([table.source])
    notes = (
        *reading_notes(table, decimal, aside),
        *row_notes(table, used, whole - len(frame)),
        *unit_notes(table, used),
        *(label_notes(table, used) if others != "keep" else ()),
    )
    frame = frame.reset_index(drop=True)
    frame.attrs = _attrs(table.source, table.cells.n_rows, int((~keep).sum()), aside, notes)
    if isinstance(table.cells, Grid) and table.cells.is_plain and len(frame) == table.cells.n_rows:
        frame.attrs["first_line"] = 2
    if others == "keep":
        frame.attrs[FAULTS] = number_faults(table, {name: typed[name] for name in typed if name not in asked}, decimal)
    if others == "offer":
        frame.attrs["gaps"] = {name: table.cells.where([int(np.argmax(column.missing))]) for name, column in gaps.items()}
    return frame


def check_policies(na: str, others: str | None) -> None:
    """UsageError: no such policy."""
    if na not in NA_POLICIES:
        raise UsageError(f"got na={na!r}, expected one of {', '.join(NA_POLICIES)}")
    if others is not None and others not in OTHERS:
        raise UsageError(f"got others={others!r}, expected one of {', '.join(OTHERS)}")


def _attrs(source: Source, n_rows: int, n_missing: int, aside: Mapping[str, str], notes: Sequence[str]) -> dict[Any, Any]:
    """What a frame says of its file."""
    counts = {"n_rows_read": n_rows, "n_rows_missing": n_missing}
    return {**counts, "sha256": source.sha256, "aside": dict(aside), "notes": tuple(notes)}


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
    _asked_columns(grid.source, grid.header, None, needed, (), separator_hint(grid.header))
    counted = {name for name in grid.header if numbers is not None and name not in labels and numbers(name)}
    names = [name for name in grid.header if others or name in counted or name in labels]
    typed = {
        name: number_column(cells) if name in counted else typed_column(cells, is_label=name in labels)
        for name, cells in grid.texts(names).items()
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
    asked = _asked_columns(grid.source, grid.header, target, columns, ())
    names = [name for name in grid.header if columns is None or name in asked]
    frame = read_table(grid.source.path, schema, duplicates)[names]
    frame.attrs = _attrs(grid.source, grid.n_rows, 0, {}, ())
    return frame


def _asked_columns(
    source: Source,
    header: Sequence[str],
    target: str | None,
    columns: Sequence[str] | None,
    categorical: Sequence[str],
    advice: str = "",
) -> set[str]:
    """Columns that the caller named; DataError: one of them is not in the file."""
    asked = (*(() if target is None else (target,)), *(columns or ()), *categorical)
    for name in asked:
        if name not in header:
            got = ", ".join(header)
            if not advice and len(header) == 1 and len(header[0].split()) > 1:
                advice = "Cells are separated by commas, semicolons, tabs or bars, not by blanks."
            if not advice and all(parse_number(each) is not None for each in header):
                advice = "The first line holds numbers: write a line with the names of the columns above it."
            raise DataError(
                f"is missing: got {got}, expected also {name!r}",
                place=f"{source.path}, line 1, column {name}",
                hint=advice or nearest_hint(name, header),
            )
    return set(asked)


def _checked_rows(
    table: ForeignTable, typed: Mapping[str, TypedColumn], target: str | None, *, na: str, positive: bool
) -> BoolArray:
    """Rows to keep, once every cell has been found right or missing by leave."""
    missing = np.zeros(table.cells.n_rows, dtype=bool)
    faults: list[tuple[int, str, str, str]] = []
    for name, column in typed.items():
        missing |= column.missing
        faults.extend(column_faults(name, column, na=na, positive=positive and name == target, is_target=name == target))
    if faults:
        raise table.cells.error(*min(faults, key=lambda fault: fault[0]))
    if missing.all():
        name = next(name for name, column in typed.items() if column.missing[0])
        raise DataError(
            f"got {table.cells.n_rows} rows, each with a missing cell, expected at least one whole row",
            place=f"{table.source.path}, {table.cells.where([0])}, column {name}",
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
        if positive and not name.endswith(TIME_SUFFIXES) and "time" not in name.lower():
            hint = f"{hint} {SIGNED_HINT}"
        elif not positive and is_target:
            hint = f"{hint} {NO_TIME_HINT}"
        faults.append((row, name, expected, hint))
    return faults
