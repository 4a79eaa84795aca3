"""Strict reading of the tables that the data dictionary knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.datasets.dictionary.column import UNIT_WORDS, Column, TableSchema
from mlperf.datasets.dictionary.numbers import EMPTY_HINT, bound_hint
from mlperf.datasets.dictionary.schema import RUNS, table_schema
from mlperf.datasets.reading.cells import ParsedTable, may_be_empty, parse_columns
from mlperf.datasets.reading.folder import OF_OTHER_FOLDERS
from mlperf.datasets.reading.grid import Grid, read_grid
from mlperf.datasets.reading.repeats import settle_copies
from mlperf.datasets.reading.source import check_settled, read_source


@dataclass(frozen=True, slots=True)
class Violation:
    """The first cell that breaks a rule: where, what was expected, what to do."""

    row: int
    column: str
    expected: str
    hint: str


def first_violation(parsed: ParsedTable, columns: Sequence[Column]) -> Violation | None:
    """The violation in the topmost row, and there in the leftmost of ``columns``; None where there is none."""
    found: Violation | None = None
    for column in columns:
        violation = column_violation(parsed, column)
        if violation is not None and (found is None or violation.row < found.row):
            found = violation
    return found


def column_violation(parsed: ParsedTable, column: Column) -> Violation | None:
    """The topmost violation in one column."""
    values = parsed.values[column.name]
    absent = rows_where(parsed, column)
    filled = has_value(parsed, column)
    wrong = (absent & filled) | (~absent & ~allowed(parsed, column))
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    if absent[row] and column.absent_when is not None:
        wanted = f"0 ({column.absent_when.words})" if column.absent_text else f"an empty cell ({column.absent_when.words})"
        return Violation(row, column.name, wanted, "The data dictionary says which cells go with which rows (mlperf data columns).")
    if not filled[row] and (may_be_empty(column) or not column.is_numeric):
        return Violation(row, column.name, column.expected, EMPTY_HINT)
    if not column.is_numeric:
        return Violation(row, column.name, shortened(column), did_you_mean(str(pd.Series(values).iloc[row]), column.choices))
    value = float(values[row])
    expected = f"{column.expected.replace('>= 0', '> 0')}" if value == 0 else column.expected
    return Violation(row, column.name, expected, bound_hint(value, is_time=column.unit == "s"))


def rows_where(parsed: ParsedTable, column: Column) -> BoolArray:
    """Rows in which the column has nothing to say."""
    n_rows = len(parsed.values[column.name])
    return np.zeros(n_rows, dtype=bool) if column.absent_when is None else column.absent_when.holds(parsed.values)


def has_value(parsed: ParsedTable, column: Column) -> BoolArray:
    """Rows in which the cell says something: not empty, and not the zero that stands for nothing."""
    values = parsed.values[column.name]
    if column.name in parsed.empty:
        return ~parsed.empty[column.name]
    if column.is_numeric and column.absent_text:
        return np.asarray(np.asarray(values) != 0, dtype=bool)
    if not column.is_numeric:
        return np.asarray(pd.Series(values) != "", dtype=bool)
    return np.ones(len(values), dtype=bool)


def allowed(parsed: ParsedTable, column: Column) -> BoolArray:
    """Rows whose cell is inside its bounds or among its choices."""
    values: Any = parsed.values[column.name]
    if not column.is_numeric:
        known = pd.Series(values).isin(column.choices).to_numpy(dtype=bool) if column.choices else np.ones(len(values), dtype=bool)
        return known & has_value(parsed, column)
    numbers = np.asarray(values)
    inside = (
        (numbers >= column.lower) & (numbers <= column.upper) & ~parsed.empty.get(column.name, np.zeros(len(numbers), dtype=bool))
    )
    if column.lower > 0:
        return np.asarray(inside, dtype=bool)
    zero_allowed = False if column.zero_when is None else column.zero_when.holds(parsed.values)
    return np.asarray(inside & ((numbers != 0) | zero_allowed), dtype=bool)


def shortened(column: Column) -> str:
    """What a text should be, without listing more choices than a line holds."""
    return column.expected if len(column.choices) <= 12 else f"a known {column.name}"


UNIT_FACTORS = {
    "s": {"s": "1", "ms": "0.001", "us": "1e-6", "ns": "1e-9", "min": "60", "h": "3600"},
    "bytes": {"bytes": "1", "kb": "1000", "mb": "1e6", "gb": "1e9", "kib": "1024", "mib": "1048576", "gib": "1073741824"},
}
OTHER_SPELLINGS = frozenset({"sec", "secs", "second", "seconds", "msec", "usec", "minutes", "hours", "byte", "b", "k", "m", "g"})
ENGINE = "engine"
"""Column of runs of synchronous training alone."""

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def _check_header(grid: Grid, schema: TableSchema) -> None:
    """Check that the file has the columns of its table, in any order, and no other; those with a default it may lack."""
    place = f"{grid.source.path}, line 1, column"
    if schema is RUNS and ENGINE in grid.header:
        # Folders of `mlperf collect ddp` with runs of one process have no table of exchanges: only the header tells them.
        hint = OF_OTHER_FOLDERS["exchange"].format(folder=grid.source.path.parent)
        raise DataError("got runs of mlperf collect ddp, expected those of asynchronous SGD", place=f"{place} {ENGINE}", hint=hint)
    for name in grid.header:
        if name in schema.names:
            continue
        meant = other_unit(name, schema)
        if meant is not None:
            word = UNIT_WORDS[meant.unit]
            raise DataError(f"got {name!r}, expected {meant.name!r} ({word})", place=f"{place} {name}", hint=unit_hint(name, meant))
        hint = separator_hint(grid.header) or did_you_mean(name, schema.names)
        raise DataError(
            f"got {name!r}, expected only the columns of {schema.name}",
            place=f"{place} {name}",
            hint=f"{hint} (mlperf data columns {schema.name} describes them)",
        )
    for name in schema.required:
        if name not in grid.header:
            got = ", ".join(grid.header)
            hint = f"mlperf data template {schema.name} writes a header to start from."
            raise DataError(f"is missing: got {got}, expected also {name!r}", place=f"{place} {name}", hint=hint)


def other_unit(name: str, schema: TableSchema) -> Column | None:
    """The dictionary's column that ``name`` is, but for its unit."""
    for column in schema.columns:
        if column.unit not in UNIT_FACTORS:
            continue
        rest = name.lower().removeprefix(column.stem)
        if rest == name.lower() or (rest and not rest.startswith("_")):
            continue
        unit = rest.removeprefix("_")
        if not unit or unit in OTHER_SPELLINGS or any(unit in factors for factors in UNIT_FACTORS.values()):
            return column
    return None


def unit_hint(name: str, meant: Column) -> str:
    """How to get from the unit in ``name`` to the dictionary's."""
    unit = name.lower().removeprefix(meant.stem).removeprefix("_")
    factor = UNIT_FACTORS[meant.unit].get(unit)
    convert = (
        f"multiply its values by {factor}, then rename it" if factor and unit != meant.unit else "check its unit, then rename it"
    )
    return f"The data dictionary keeps this column in {UNIT_WORDS[meant.unit]}: {convert}."


def separator_hint(header: Sequence[str]) -> str:
    """What to say where the whole header is one cell because something other than commas separates."""
    found = [word for mark, word in SEPARATORS.items() if len(header) == 1 and mark in header[0]]
    return f"cells are separated by commas, here by {found[0]}" if found else ""


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
        Columns in the dictionary's order; times in seconds; 0 or ``""`` where the dictionary has an empty cell; the default of a
        column that the file may lack and lacks.

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
    _check_header(grid, schema)
    given = [column for column in schema.columns if column.name in grid.header]
    parsed = parse_columns(grid, given)
    violation = first_violation(parsed, given)
    if violation is not None:
        raise grid.error(violation.row, violation.column, violation.expected, violation.hint)
    kept = settle_copies(frame_of(parsed.values, schema), grid, duplicates)
    return ReadTable(completed(kept, schema), grid)


def frame_of(values: Mapping[str, Any], schema: TableSchema) -> pd.DataFrame:
    """Typed columns in the dictionary's order."""
    return pd.DataFrame({name: values[name] for name in schema.names if name in values})


def completed(frame: pd.DataFrame, schema: TableSchema) -> pd.DataFrame:
    """The frame with the defaults of the columns that it lacks."""
    lacking = {name: default.values(len(frame)) for name, default in schema.optional.items() if name not in frame}
    return frame.assign(**lacking)[list(schema.names)] if lacking else frame
