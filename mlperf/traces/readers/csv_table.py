"""A trace as CSV with our own columns."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mlperf.core.errors import DataError
from mlperf.core.suggest import did_you_mean
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import COLUMNS, NAMES, EventTable, Strings, event_table
from mlperf.traces.readers.content import read_content
from mlperf.traces.readers.store import check_numbers

NEEDED = ("start_ns", "duration_ns", "rank", "kind")
LONG_ROW = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
HEADER_HINT = f"A first line names the columns, at least {', '.join(NEEDED)}."
LATEST_NS = 10**15
"""Eleven days: a first event later than that does not tell when it happened in its run, but what a clock showed."""


def read_csv(path: Path | str) -> EventTable:
    """Read a CSV whose header names columns of `EventTable`: start_ns, duration_ns, rank and kind (``SEND``), others as there are.

    Times count from the start of the run; readings of a clock, which begin more than eleven days after 0, from the first event.

    Raises
    ------
    DataError
        Names file, line and column of the first wrong cell.
    """
    path = Path(path)
    content = read_content(path)
    try:
        cells = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False, skip_blank_lines=False)
    except (ValueError, pd.errors.ParserError, UnicodeDecodeError) as error:
        told = LONG_ROW.search(str(error))
        if told:
            raise _long_row(path, int(told[2]), int(told[3]), int(told[1])) from None
        raise DataError(f"is no CSV table ({str(error).strip()})", place=str(path), hint=HEADER_HINT) from error
    # Where all rows have a cell more than the header, pandas takes the first for names of rows.
    if not isinstance(cells.index, pd.RangeIndex):
        raise _long_row(path, 2, len(cells.columns) + cells.index.nlevels, len(cells.columns))
    twice = [name for name in COLUMNS if f"{name}.1" in cells.columns]
    if twice:
        raise DataError(f"column {twice[0]!r} is there twice", place=f"{path}, line 1", hint="Leave one of them out.")
    unknown = [name for name in cells.columns if name not in COLUMNS]
    if unknown:
        raise DataError(f"got column {unknown[0]!r}", place=f"{path}, line 1", hint=did_you_mean(str(unknown[0]), COLUMNS))
    missing = [name for name in NEEDED if name not in cells.columns]
    if missing:
        raise DataError(f"lacks column {missing[0]}", place=f"{path}, line 1", hint=f"Needed: {', '.join(NEEDED)}.")
    strings = Strings()
    columns: dict[str, Any] = {name: _column(path, name, cells[name], strings) for name in cells.columns}
    table = event_table(len(cells), strings=strings.all(), sources=(f"csv {path.name}",), **columns)
    check_numbers(path, table, first_line=2)
    early = table.start_ns < 0
    if np.any(early):
        row = int(np.argmax(early))
        hint = "Times count from the start of the run: subtract the earliest, or take out rows of a clock that was set back."
        place = f"{path}, line {row + 2}, column start_ns"
        raise DataError(f"got {table.start_ns[row]}, expected a time of 0 or more", place=place, hint=hint)
    first_ns = int(table.start_ns.min()) if len(table) else 0
    if first_ns < LATEST_NS:
        return table
    note = f"times are readings of a clock, the first {first_ns} ns: they count from there"
    return table.replace(start_ns=table.start_ns - first_ns, origin_ns=first_ns, notes=(*table.notes, note))


def _long_row(path: Path, line: int, found: int, expected: int) -> DataError:
    """The error for a row with more cells than the header."""
    hint = "Every row has as many cells as the header: look for a comma too many, or for text with a comma and no quotes."
    return DataError(f"got {found} cells, expected {expected}", place=f"{path}, line {line}", hint=hint)


def _column(path: Path, name: str, cells: pd.Series[str], strings: Strings) -> NDArray[Any]:
    """One column's numbers."""
    codes, distinct = pd.factorize(cells)
    if name in NAMES:
        return np.array([strings.number(text) if text else UNSET for text in distinct], dtype=np.int32)[codes]
    values = np.zeros(len(distinct), dtype=np.int64)
    for place, text in enumerate(distinct):
        number = _number(name, str(text))
        if number is None:
            expected = "a kind such as SEND" if name == "kind" else f"a whole number of {np.dtype(COLUMNS[name][0])}"
            line = int(np.flatnonzero(codes == place)[0]) + 2
            raise DataError(f"got {text[:60]!r}, expected {expected}", place=f"{path}, line {line}, column {name}")
        values[place] = number
    return values[codes].astype(COLUMNS[name][0])


def _number(name: str, text: str) -> int | None:
    """A cell's number; None where it is none that the column can hold."""
    if name == "kind":
        return int(Kind[text]) if text in Kind.__members__ else None
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        return None
    limits = np.iinfo(COLUMNS[name][0])
    return int(text) if limits.min <= int(text) <= limits.max else None
