"""Rows of a Parquet file, with the questions that the reader asks of a CSV's grid; needs pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.errors import DataError, MissingExtraError
from mlperf.core.extras import require
from mlperf.datasets.reading.grid import MOST_NAMED, Grid, check_names, listed
from mlperf.datasets.reading.source import Source

INSTALL_HINT = "pip install pyarrow (or the extra: pip install 'mlperf-estimator[parquet]'), or write the table as CSV."


@dataclass(frozen=True, slots=True, eq=False)
class ParquetRows:
    """A table whose file knows the type of every column.

    Attributes
    ----------
    source : Source
        The file.
    header : tuple of str
        Column names, distinct.
    n_rows : int
        Number of rows; messages count them from 1.
    table : pyarrow.Table
        The columns.
    """

    source: Source
    header: tuple[str, ...]
    n_rows: int
    table: Any

    def texts(self, names: Sequence[str]) -> dict[str, pd.Series[Any]]:
        """Values of the named columns as a CSV would show them; empty where there is none."""
        columns = {name: self.table.column(self.header.index(name)).to_pylist() for name in names}
        return {
            name: pd.Series(["" if value is None else str(value) for value in values], name=name, dtype="str")
            for name, values in columns.items()
        }

    def numbers(self, names: Sequence[str], decimal: str = ".") -> dict[str, np.ndarray[Any, Any]]:  # noqa: ARG002 - as Grid's
        """Those of the named columns that hold finite numbers in every row, as int64 or float64."""
        found = {}
        for name in names:
            column = self.table.column(self.header.index(name))
            values = np.asarray(column.to_numpy()) if column.null_count == 0 else np.empty(0, dtype=object)
            kind = {"i": np.int64, "f": np.float64}.get(values.dtype.kind)
            if kind is not None and np.isfinite(values).all():
                found[name] = values.astype(kind)
        return found

    def where(self, rows: Sequence[int]) -> str:
        """Numbers of rows (from 0): ``"rows 3, 7, 9 and 4 more"``."""
        return listed("row", [row + 1 for row in rows[:MOST_NAMED]], len(rows))

    def error(self, row: int, column: str, expected: str, hint: str) -> DataError:
        """The error for a value that is not what it should be."""
        text = self.texts([column])[column].iloc[row]
        got = repr(text) if text.strip() else "no value"
        return DataError(f"got {got}, expected {expected}", place=f"{self.source.path}, row {row + 1}, column {column}", hint=hint)


Cells = Grid | ParquetRows
"""Where the cells of a table are: in lines of text, or in a Parquet file."""


def parquet_rows(source: Source) -> ParquetRows:
    """Open the bytes of a Parquet file.

    Raises
    ------
    MissingExtraError
        pyarrow is not installed.
    DataError
        The file is damaged or has no rows, or two of its columns have one name.
    """
    try:
        arrow, parquet = require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    except MissingExtraError as error:
        raise MissingExtraError(error.message, place=str(source.path), hint=INSTALL_HINT) from error
    try:
        table = parquet.read_table(arrow.BufferReader(source.data))
    except (OSError, ValueError) as error:
        first = str(error).partition("\n")[0]
        raise DataError(f"is no whole Parquet file ({first})", place=str(source.path), hint="Copy or write it again.") from error
    header = tuple(str(name) for name in table.column_names)
    check_names(source, header)
    if table.num_rows == 0:
        hint = "A table without measurements teaches nothing: leave it out."
        raise DataError("got columns and no rows", place=f"{source.path}, row 1", hint=hint)
    return ParquetRows(source, header, table.num_rows, table)
