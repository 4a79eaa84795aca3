"""Cells turned into typed columns: all at once where everything is well, one by one to find what is not."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.datasets.dictionary.column import Column
from mlperf.datasets.dictionary.numbers import EMPTY_HINT, WHOLE_HINT, number_hint, parse_number
from mlperf.datasets.reading.grid import EVERY_DIGIT, Grid, cell_error

WHOLE_LIMIT = 2.0**63


@dataclass(frozen=True, slots=True, eq=False)
class ParsedTable:
    """Typed columns of a table, each of length n_rows.

    Attributes
    ----------
    values : Mapping[str, array or Series]
        int64, float64 or text by column name; 0 or ``""`` where a cell is empty.
    empty : Mapping[str, array]
        Which cells are empty, for the columns that may have such cells.
    """

    values: Mapping[str, Any]
    empty: Mapping[str, BoolArray]


def may_be_empty(column: Column) -> bool:
    """Whether some cells of the column are empty by right."""
    return column.absent_when is not None and not column.absent_text


def parse_columns(grid: Grid, columns: Sequence[Column]) -> ParsedTable:
    """Type every cell of the named columns.

    Raises
    ------
    DataError
        Names file, line, column and value of the first cell, in reading order, that is not of its column's kind.
    """
    parsed = parse_at_once(grid, columns) if grid.is_plain else None
    return parse_one_by_one(grid, columns) if parsed is None else parsed


def parse_at_once(grid: Grid, columns: Sequence[Column]) -> ParsedTable | None:
    """Type whole columns; None where some cell is not what it should be."""
    as_text = {column.name: str for column in columns if not column.is_numeric or may_be_empty(column)}
    frame = pd.read_csv(
        io.BytesIO(grid.source.data),
        usecols=[column.name for column in columns],
        dtype=as_text,
        keep_default_na=False,
        na_filter=False,
        skip_blank_lines=False,
        index_col=False,
        low_memory=False,
        encoding="utf-8",
        **EVERY_DIGIT,
    )
    values: dict[str, Any] = {}
    empty: dict[str, BoolArray] = {}
    for column in columns:
        cells = frame[column.name]
        if may_be_empty(column):
            empty[column.name] = (cells == "").to_numpy(dtype=bool)
        typed = whole_column(cells, column, empty.get(column.name))
        if typed is None:
            return None
        values[column.name] = typed
    return ParsedTable(values, empty)


def whole_column(cells: pd.Series[Any], column: Column, empty: BoolArray | None) -> Any:
    """One column typed; None where a cell is not of its kind."""
    if not column.is_numeric:
        # Columns of words repeat few of them.
        return cells if empty is not None or all(word.strip() for word in cells.unique()) else None
    if empty is not None:
        filled = pd.to_numeric(cells[~empty], errors="coerce")
        if not empty.all() and (filled.dtype.kind not in "iuf" or filled.isna().any()):
            return None
        numbers = np.zeros(len(cells))
        numbers[~empty] = filled
    else:
        if cells.dtype.kind not in "if":
            return None
        numbers = cells.to_numpy()
    if not np.isfinite(numbers).all():
        return None
    return as_whole(numbers) if column.kind == "integer" else numbers.astype(np.float64)


def as_whole(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """The same numbers as int64; None where one has a fraction or is too large."""
    if numbers.dtype.kind == "i":
        return numbers.astype(np.int64)
    fits = (np.abs(numbers) < WHOLE_LIMIT) & (numbers == np.floor(numbers))
    return numbers.astype(np.int64) if fits.all() else None


def parse_one_by_one(grid: Grid, columns: Sequence[Column]) -> ParsedTable:
    """Type cell after cell, in reading order; slow, and it knows where it is."""
    places = [(grid.header.index(column.name), column) for column in columns]
    places.sort(key=lambda place: place[0])
    found: dict[str, list[Any]] = {column.name: [] for column in columns}
    for line, cells in grid.records():
        for index, column in places:
            found[column.name].append(parse_cell(grid, line, cells[index], column))
    empty = {column.name: np.array([cell is None for cell in found[column.name]]) for column in columns if may_be_empty(column)}
    kinds = {"integer": np.int64, "number": np.float64}
    values: dict[str, Any] = {}
    for column in columns:
        blank = 0 if column.is_numeric else ""
        filled = [blank if cell is None else cell for cell in found[column.name]]
        values[column.name] = np.array(filled, dtype=kinds[column.kind]) if column.is_numeric else pd.Series(filled, dtype="str")
    return ParsedTable(values, empty)


def parse_cell(grid: Grid, line: int, text: str, column: Column) -> float | str | None:
    """One cell's value; None for an empty cell in a column that may have some."""
    if not text.strip() and may_be_empty(column):
        return None
    if not column.is_numeric:
        if not text.strip():
            raise cell_error(grid.source, line, column.name, text, column.expected, EMPTY_HINT)
        return text
    value = parse_number(text)
    if value is None:
        raise cell_error(grid.source, line, column.name, text, column.expected, number_hint(text))
    if column.kind == "integer" and not (abs(value) < WHOLE_LIMIT and value == int(value)):
        raise cell_error(grid.source, line, column.name, text, column.expected, WHOLE_HINT)
    return int(text) if column.kind == "integer" and text.strip().lstrip("+-").isdigit() else value
