"""Stacks of Python threads and garbage collections, as the sampler inside the programs wrote them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, concatenate, event_table
from mlperf.traces.readers.content import whole_lines

PATTERN = "*.stacks"
COLLECTION = "gc"
_NAME = re.compile(r"(\d+)\.stacks")
_FIELDS = {"S": 3, "L": 2, "N": 2, "T": 6, "G": 4}
LEAST_RUNNING = 0.5
"""A thread that used less of the time since its last stack than this share was waiting."""


def read_python_stacks(folder: Path) -> EventTable:
    """Read what all Python processes of a run wrote.

    Returns
    -------
    EventTable
        STACK rows (``name`` the innermost function, ``name2`` its file, ``tag`` the line where it stood, ``site`` the stack,
        ``weight_ns`` elapsed time, the flag WAITING where the thread hardly ran) and REGION rows ``gc`` with name2 ``python``.
        ``attributes["lines"]`` holds the text of lines by ``"file:line"``, ``attributes["threads"]`` names of threads.

    Raises
    ------
    DataError
        A line is not of the format; names file, line and field.
    """
    tables = [_read_file(path) for path in sorted(folder.glob(PATTERN))]
    return concatenate(tables) if tables else event_table(0)


def _read_file(path: Path) -> EventTable:
    lines, notes = whole_lines(path)
    named = _NAME.fullmatch(path.name)
    pid = min(int(named[1]), 2**31 - 1) if named else UNSET
    strings = Strings([COLLECTION, "python"])
    stacks: dict[int, tuple[int, int, int]] = {}
    texts: dict[str, str] = {}
    threads: dict[str, str] = {}
    rows: list[tuple[int, ...]] = []
    collections: list[tuple[int, int, int]] = []
    for number, line in enumerate(lines, 1):
        word, _, rest = line.partition("\t")
        fields = rest.split("\t")
        place = f"{path}, line {number}"
        if word not in _FIELDS or len(fields) < _FIELDS[word]:
            raise DataError(f"got {line[:40]!r}, expected a line of one of {', '.join(_FIELDS)}", place=place)
        if word == "S":
            leaf = fields[2].rpartition(";")[2]
            stacks[_whole(fields[0], place)] = (strings.number(leaf), strings.number(fields[1]), strings.number(fields[2]))
        elif word == "L":
            texts[fields[0]] = fields[1]
        elif word == "N":
            threads[f"{pid}/{_whole(fields[0], place)}"] = fields[1]
        elif word == "T":
            rows.append((*(_whole(each, place) for each in fields[:6]), number))
        else:
            collections.append((_whole(fields[0], place), _whole(fields[1], place), _whole(fields[3], place)))
    columns = _columns(path, rows, stacks, collections)
    return event_table(
        len(rows) + len(collections),
        pid=pid,
        strings=strings.all(),
        sources=(f"python: {path.name}",),
        notes=notes,
        attributes={"lines": texts, "threads": threads},
        **columns,
    )


def _whole(text: str, place: str) -> int:
    """A number of a line."""
    if not text.lstrip("-").isdigit() or len(text) > 18:
        raise DataError(f"got {text[:40]!r}, expected a whole number of at most 18 digits", place=place)
    return int(text)


def _columns(
    path: Path,
    rows: list[tuple[int, ...]],
    stacks: dict[int, tuple[int, int, int]],
    collections: list[tuple[int, int, int]],
) -> dict[str, Any]:
    """Columns of stacks, then of collections."""
    for row in rows:
        if row[2] not in stacks:
            raise DataError(f"got stack {row[2]}, which no line before explains", place=f"{path}, line {row[6]}")
    taken = np.array([row[:6] for row in rows], dtype=np.int64).reshape(-1, 6)
    named = np.array([stacks[row[2]] for row in rows], dtype=np.int64).reshape(-1, 3)
    found = np.array(collections, dtype=np.int64).reshape(-1, 3)
    if (found[:, 1] < found[:, 0]).any() or (taken[:, 4:] < 0).any():
        raise DataError("got a negative time", place=str(path))
    n, more = len(taken), len(found)
    limit = 2**31 - 1
    waiting = taken[:, 5] < LEAST_RUNNING * taken[:, 4]
    return {
        "kind": np.repeat(np.array([Kind.STACK, Kind.REGION]), (n, more)),
        "start_ns": np.concatenate((taken[:, 0], found[:, 0])),
        "duration_ns": np.concatenate((np.zeros(n, np.int64), found[:, 1] - found[:, 0])),
        "tid": np.minimum(np.concatenate((taken[:, 1], found[:, 2])), limit),
        "weight_ns": np.concatenate((taken[:, 4], np.zeros(more, np.int64))),
        "tag": np.minimum(np.concatenate((taken[:, 3], np.full(more, UNSET))), limit),
        "name": np.concatenate((named[:, 0], np.zeros(more, np.int64))),
        "name2": np.concatenate((named[:, 1], np.ones(more, np.int64))),
        "site": np.concatenate((named[:, 2], np.full(more, UNSET))),
        "flags": np.concatenate((np.where(waiting, int(Flag.WAITING), 0), np.zeros(more, np.int64))),
    }
