"""Tables written whole or not at all, the same bytes for the same rows."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError
from mlperf.core.files import write_bytes_whole
from mlperf.core.places import make_folder
from mlperf.datasets.dictionary.column import Column, TableSchema
from mlperf.datasets.dictionary.numbers import NOT_FINITE_HINT, WHOLE_HINT
from mlperf.datasets.dictionary.schema import table_schema
from mlperf.datasets.reading.cells import ParsedTable, as_whole, may_be_empty
from mlperf.datasets.reading.read import first_violation, frame_of


def write_table(frame: pd.DataFrame, path: Path | str, schema: TableSchema | str) -> None:
    """Write one table of a campaign; what is written can be read back.

    Parameters
    ----------
    frame : DataFrame
        The table's columns, in any order; 0, NaN or ``""`` where the dictionary has an empty cell. One that a file may leave out is
        left out where the frame does not have it or has no value in it.
    path : path
        ``.csv``, or ``.csv.gz`` for gzip (the same rows give the same bytes at any time); the campaign's folder is made if need be.
    schema : TableSchema or str
        The table, or its name.

    Raises
    ------
    DataError
        A column too many or too few, or a cell that the dictionary does not allow; names row (from 0), column and value.
    """
    schema = schema if isinstance(schema, TableSchema) else table_schema(schema)
    unknown = [name for name in schema.optional if name in frame and frame[name].isna().all()]
    parsed = parse_frame(frame.drop(columns=unknown), Path(path), schema)
    violation = first_violation(parsed, [column for column in schema.columns if column.name in parsed.values])
    if violation is not None:
        value = parsed.values[violation.column][violation.row]
        raise frame_error(Path(path), violation.row, violation.column, value, violation.expected, violation.hint)
    cells = frame_of(parsed.values, schema).astype(object)
    for name, empty in parsed.empty.items():
        cells.loc[empty, name] = ""
    write_csv(cells, Path(path))


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write any frame as CSV, gzipped where the name ends in ``.gz``; numbers keep every digit, missing folders are made."""
    make_folder(path.parent, above=True)
    text = frame.to_csv(index=False, lineterminator="\n").encode("utf-8")
    write_bytes_whole(path, zipped(text) if path.suffix == ".gz" else text)


def zipped(content: bytes) -> bytes:
    """Gzip without name and time, so that equal content gives equal bytes."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0) as stream:
        stream.write(content)
    return buffer.getvalue()


def parse_frame(frame: pd.DataFrame, path: Path, schema: TableSchema) -> ParsedTable:
    """The frame's columns with the dictionary's types, row numbers from 0."""
    surplus, missing = set(frame.columns) - set(schema.names), set(schema.required) - set(frame.columns)
    if surplus or missing:
        got = ", ".join(str(name) for name in frame.columns)
        raise DataError(
            f"got columns {got}, expected {', '.join(schema.names)}", place=str(path), hint=column_hint(surplus, missing)
        )
    frame = frame.reset_index(drop=True)
    columns = [column for column in schema.columns if column.name in frame]
    texts: dict[str, Any] = {
        column.name: frame[column.name].fillna("").astype("str") for column in columns if not column.is_numeric
    }
    empty = {column.name: nothing_to_say(frame, texts, column) for column in columns if may_be_empty(column)}
    numbers = {column.name: numeric(frame, path, column, empty.get(column.name)) for column in columns if column.is_numeric}
    return ParsedTable({**texts, **numbers}, empty)


def nothing_to_say(frame: pd.DataFrame, texts: dict[str, Any], column: Column) -> BoolArray:
    """Rows whose cell is to be written empty: the dictionary says so and the frame holds 0, NaN or no text."""
    rule = column.absent_when
    absent: BoolArray = np.zeros(len(frame), dtype=bool) if rule is None else rule.holds({**frame, **texts})
    cells = frame[column.name]
    blank = cells.isna() | (cells == 0) if column.is_numeric else texts[column.name] == ""
    return np.logical_and(absent, blank.to_numpy(dtype=bool))


def numeric(frame: pd.DataFrame, path: Path, column: Column, empty: BoolArray | None) -> Any:
    """A numeric column; every cell that is to be written is a finite number of the column's kind."""
    numbers = pd.to_numeric(frame[column.name], errors="coerce").to_numpy(dtype=np.float64)
    if empty is not None:
        numbers = np.where(empty, 0.0, numbers)
    bad = ~np.isfinite(numbers)
    if bad.any():
        row = int(np.argmax(bad))
        raise frame_error(path, row, column.name, frame[column.name][row], column.expected, NOT_FINITE_HINT)
    if column.kind == "number":
        return numbers
    whole = as_whole(numbers)
    if whole is None:
        row = int(np.argmax(numbers != np.floor(numbers)))
        raise frame_error(path, row, column.name, frame[column.name][row], column.expected, WHOLE_HINT)
    return whole


def frame_error(path: Path, row: int, column: str, value: object, expected: str, hint: str) -> DataError:
    """The error for a cell of a frame that must not be written."""
    return DataError(
        f"got {str(value)!r}, expected {expected}", place=f"{path}, row {row + 1} of the frame, column {column}", hint=hint
    )


def column_hint(surplus: Sequence[Any] | set[Any], missing: Sequence[Any] | set[Any]) -> str:
    """Which columns to drop and which to add."""
    parts = [("too many", surplus), ("missing", missing)]
    return "; ".join(f"{words}: {', '.join(sorted(map(str, names)))}" for words, names in parts if names)
