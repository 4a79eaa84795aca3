"""Marks that programs wrote themselves: a file for each process."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable, Strings, concatenate, event_table
from mlperf.traces.readers.content import whole_lines

PATTERN = "*.marks"
_RANK = re.compile(r"# rank (-?[0-9]{1,9})(?!\S)")
_NAME = re.compile(r"(\d+)\.marks")


def read_marks(folder: Path) -> EventTable:
    """Read the marks of all processes of a run.

    Returns
    -------
    EventTable
        REGION rows on CLOCK_MONOTONIC, with rank, process, thread and bytes. A last line that is cut off is left out, with a note.

    Raises
    ------
    DataError
        A line is no mark; names file, line and field.
    """
    tables = [_read_file(path) for path in sorted(folder.glob(PATTERN))]
    return concatenate(tables) if tables else event_table(0)


def _read_file(path: Path) -> EventTable:
    lines, notes = whole_lines(path)
    named = _NAME.fullmatch(path.name)
    rank, strings = UNSET, Strings()
    rows: list[tuple[int, int, int, int, int]] = []
    for number, line in enumerate(lines, 1):
        if line.startswith("# rank"):
            named_rank = _RANK.match(line)
            rank = int(named_rank[1]) if named_rank else UNSET
            continue
        if line:
            rows.append(_row(path, number, line, strings))
    found = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return event_table(
        len(found),
        start_ns=found[:, 0],
        duration_ns=found[:, 1] - found[:, 0],
        kind=int(Kind.REGION),
        rank=min(max(rank, UNSET), 2**31 - 1),
        pid=min(int(named[1]), 2**31 - 1) if named else UNSET,
        tid=found[:, 2],
        size_bytes=found[:, 3],
        name=found[:, 4],
        strings=strings.all(),
        sources=(f"marks: {path.name}",),
        notes=notes,
    )


def _row(path: Path, number: int, line: str, strings: Strings) -> tuple[int, int, int, int, int]:
    """One mark as numbers."""
    fields = line.split("\t", 4)
    if len(fields) != 5:
        raise DataError(f"got {len(fields)} fields, expected begin, end, thread, bytes and name", place=f"{path}, line {number}")
    values = []
    for column, text in zip(("begin", "end", "thread", "bytes"), fields, strict=False):
        if not text.isdigit() or len(text) > 18:
            raise DataError(
                f"got {text!r}, expected a whole number of at most 18 digits", place=f"{path}, line {number}, column {column}"
            )
        values.append(int(text))
    if values[1] < values[0]:
        raise DataError(f"got {values[1]}, expected >= begin, {values[0]}", place=f"{path}, line {number}, column end")
    if values[2] > 2**31 - 1:
        raise DataError(f"got {values[2]}, expected a thread's number", place=f"{path}, line {number}, column thread")
    return values[0], values[1], values[2], values[3], strings.number(fields[4])
