"""A table that another program wrote, opened: its cells, what separates them, and columns that are no part of the measurement."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlperf.core.errors import DataError
from mlperf.datasets.reading.decimal_marks import find_decimal_mark
from mlperf.datasets.reading.grid import ABOVE_HINT, Grid, check_names, first_cells, grid_of
from mlperf.datasets.reading.inference import TypedColumn, foreign_column
from mlperf.datasets.reading.parquet import Cells, parquet_rows
from mlperf.datasets.reading.separators import find_separator
from mlperf.datasets.reading.source import Source, read_foreign

# What pandas calls a column without a name, in a CSV and in a Parquet file.
UNNAMED, INDEX = "Unnamed: ", "__index_level_0__"
UNNAMED_HINT = "Give the column a name; where pandas wrote its index there, write the table with to_csv(..., index=False)."


@dataclass(frozen=True, slots=True, eq=False)
class ForeignTable:
    """Cells of a table from elsewhere.

    Attributes
    ----------
    cells : Grid or ParquetRows
        Where they are.
    unnamed : mapping of str to str
        Columns that are no part of the measurement, and a sentence that says why: row numbers, or nothing at all.
    """

    cells: Cells
    unnamed: dict[str, str]

    @property
    def source(self) -> Source:
        """The file."""
        return self.cells.source

    @property
    def header(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.cells.header

    def decimal_mark(self, names: Sequence[str]) -> str:
        """The mark before the fractions of numbers, as the named columns tell it."""
        return find_decimal_mark(self.cells, names) if isinstance(self.cells, Grid) else "."

    def typed(self, names: Sequence[str], labels: Collection[str], target: str | None, decimal: str) -> dict[str, TypedColumn]:
        """The named columns, typed, in file order."""
        counted = [name for name in names if name not in labels]
        numbers = self.cells.numbers(counted, decimal) if counted else {}
        rest = [name for name in names if name not in numbers]
        texts = self.cells.texts(rest) if rest else {}
        whole = np.zeros(self.cells.n_rows, dtype=bool)
        return {
            name: TypedColumn(numbers[name], whole)
            if name in numbers
            else foreign_column(texts[name], is_label=name in labels, is_target=name == target, decimal=decimal)
            for name in names
        }


def open_table(path: Path | str) -> ForeignTable:
    """Open a table that another program wrote: CSV with any of four separators, in several encodings, or Parquet.

    Parameters
    ----------
    path : path or str
        A file, gzipped where its name ends in ``.gz``, or ``-`` for the standard input.

    Raises
    ------
    DataError
        As `read_foreign` and `find_separator`; names that are empty or stand twice, no rows, rows of different length.
    MissingExtraError
        Parquet without pyarrow.
    """
    source = read_foreign(path)
    if not source.is_parquet:
        return _named_grid(source)
    cells = parquet_rows(source)
    return ForeignTable(cells, {INDEX: _counting(INDEX)} if _counts_rows(cells, INDEX) else {})


def _named_grid(source: Source) -> ForeignTable:
    """A file of text with a name for every column."""
    if source.path.suffix == ".parquet":
        hint = "Copy or write it again, or give a table of text a name that ends in .csv."
        raise DataError("is no Parquet file", place=str(source.path), hint=hint)
    separator = find_separator(source)
    cells = first_cells(source, separator)
    if cells and cells[0].lower().strip() == "sep=":
        raise DataError(f"got {cells[0]!r}, expected column names", place=f"{source.path}, line 1", hint=ABOVE_HINT)
    stripped = [cell.strip() for cell in cells]
    if not any(stripped):
        check_names(source, cells)
    blank = {f"{UNNAMED}{place}": place for place, name in enumerate(stripped) if not name}
    names = tuple(name or f"{UNNAMED}{place}" for place, name in enumerate(stripped))
    check_names(source, names)
    _check_quotable(source, names)
    grid = grid_of(source, names, separator)
    unnamed = {name: why for name in names if name.startswith(UNNAMED) and (why := _why_unnamed(grid, name, blank))}
    for name, place in blank.items():
        if name not in unnamed:
            raise DataError("got an empty column name", place=f"{source.path}, line 1, column {place + 1}", hint=UNNAMED_HINT)
    return ForeignTable(grid, unnamed)


def _check_quotable(source: Source, names: tuple[str, ...]) -> None:
    """Terms quote names in backquotes, so that no name may have one."""
    for name in names:
        if "`" in name:
            place = f"{source.path}, line 1, column {name}"
            raise DataError(f"got {name!r}, expected a name without backquotes", place=place, hint="Rename the column.")


def _why_unnamed(grid: Grid, name: str, blank: Collection[str]) -> str:
    """Why a column without a name is no part of the measurement; empty where it may be one."""
    if _counts_rows(grid, name):
        return _counting(name)
    if name in blank and (grid.texts([name])[name].str.strip() == "").all():
        return "has neither a name nor values"
    return ""


def _counting(name: str) -> str:
    """Why a column of row numbers is left out."""
    return f"{'has no name and ' if name.startswith(UNNAMED) else ''}counts the rows, as the index that pandas writes"


def _counts_rows(cells: Cells, name: str) -> bool:
    """Whether a column holds 0, 1, 2, ... or 1, 2, 3, ..."""
    values = cells.numbers([name]).get(name) if name in cells.header else None
    if values is None or values.dtype.kind != "i":
        return False
    return bool((values == np.arange(len(values)) + values[0]).all() and values[0] in (0, 1))
