"""Strict reading of the tables that the data dictionary knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mlperf.datasets.dictionary.column import TableSchema
from mlperf.datasets.dictionary.schema import table_schema
from mlperf.datasets.reading.cells import parse_columns
from mlperf.datasets.reading.grid import Grid, read_grid
from mlperf.datasets.reading.header import check_header
from mlperf.datasets.reading.repeats import settle_copies
from mlperf.datasets.reading.rules import first_violation
from mlperf.datasets.reading.source import check_settled, read_source


@dataclass(frozen=True, slots=True, eq=False)
class ReadTable:
    """A table and the file it came from.

    Attributes
    ----------
    frame : DataFrame
        Columns in the dictionary's order; int64, float64 or text; 0 or ``""`` where the dictionary has an empty cell. The
        index counts the rows of ``grid`` and has gaps where copies were dropped.
    grid : Grid
        The file's cells, for errors found later.
    """

    frame: pd.DataFrame
    grid: Grid


def read_table(path: Path | str, schema: TableSchema | str, duplicates: str = "error") -> pd.DataFrame:
    """Read one table of a campaign.

    Parameters
    ----------
    path : path
        A ``.csv`` or ``.csv.gz``.
    schema : TableSchema or str
        The table, or its name.
    duplicates : str
        What to do with rows equal in every column: ``"error"``, ``"keep"`` or ``"drop"``.

    Returns
    -------
    DataFrame
        Columns in the dictionary's order; times in seconds; 0 or ``""`` where the dictionary has an empty cell.

    Raises
    ------
    DataError
        Names file, line, column and value, with a hint: missing, unknown or repeated column, column in another unit, wrong
        type, NaN or infinity, negative number, zero or empty cell where there must be none, cell where there must be none,
        rows of different length, copied rows, empty file, wrong encoding, file that changes while it is read.
    """
    table = read_checked(Path(path), schema if isinstance(schema, TableSchema) else table_schema(schema), duplicates)
    check_settled([table.grid.source])
    return table.frame.reset_index(drop=True)


def read_checked(path: Path, schema: TableSchema, duplicates: str) -> ReadTable:
    """``read_table`` without the wait for a growing file; keeps the cells for later errors."""
    grid = read_grid(read_source(path))
    check_header(grid, schema)
    parsed = parse_columns(grid, schema.columns)
    violation = first_violation(parsed, schema.columns)
    if violation is not None:
        raise grid.error(violation.row, violation.column, violation.expected, violation.hint)
    frame = frame_of(parsed.values, schema)
    return ReadTable(settle_copies(frame, grid, duplicates), grid)


def frame_of(values: Mapping[str, Any], schema: TableSchema) -> pd.DataFrame:
    """Typed columns in the dictionary's order."""
    return pd.DataFrame({name: values[name] for name in schema.names})
