"""Communication matrices and topologies as text: tables with names of places in the first row and column."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.durations import number_in
from mlperf.core.errors import DataError
from mlperf.traces.links.matrix import CommMatrix
from mlperf.traces.readers.content import read_content

ENDINGS = (".csv", ".txt", ".tsv")
UNITS = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "S": 1.0, "MS": 1e-3, "US": 1e-6}
_TITLE = re.compile(r"\s*(?:.*\btraffic\b|.*\bmatrix\b|.*\bbytes\b)?.*\(\s*(?P<unit>[A-Za-z]+)\s*\)\s*:?\s*", re.IGNORECASE)
HINT = "A line of names, then a line for each with its name and numbers; a title before it may say (MB) or (s)."


def is_table(path: Path) -> bool:
    """Whether a file is a table by its ending, and no trace as CSV by its first line."""
    if path.suffix.lower() not in ENDINGS or not path.is_file():
        return False
    with path.open("rb") as lines:
        return b"start_ns" not in lines.readline(4096)


def read_matrix(path: Path) -> CommMatrix:
    """Read a matrix of bytes, and one of seconds where a second table follows.

    Parameters
    ----------
    path : Path
        Words separated by blanks, tabs or commas. A title ``... (MB):`` or ``... (s):`` before a table says its unit; without one
        numbers are bytes.

    Raises
    ------
    DataError
        A row is too short, a name or number is wrong; names file, line and column.
    """
    lines = read_content(path).decode("utf-8", "replace").splitlines()
    tables: dict[str, tuple[tuple[str, ...], FloatArray]] = {}
    at, unit = 0, "B"
    while at < len(lines):
        title = _TITLE.fullmatch(lines[at].strip(" \t,"))
        if not lines[at].strip(" \t,") or lines[at].lstrip().startswith("#"):
            at += 1
        elif title:
            unit = title["unit"].upper()
            if unit not in UNITS:
                raise DataError(f"got unit {title['unit']!r}, expected one of {', '.join(UNITS)}", place=f"{path}, line {at + 1}")
            at += 1
        else:
            names, values, at = _table(path, lines, at)
            tables["seconds" if unit in ("S", "MS", "US") else "bytes"] = (names, values * UNITS[unit])
    if "bytes" not in tables:
        raise DataError("holds no matrix of bytes", place=str(path), hint=HINT)
    places, sent = tables["bytes"]
    other = tables.get("seconds", (places, np.full(sent.shape, np.nan)))
    if other[0] != places:
        raise DataError("its two matrices have different names", place=str(path))
    return CommMatrix(path.name, places, sent, other[1], (sent > 0).astype(np.int64), ("counts of messages are not known",))


def _table(path: Path, lines: list[str], first: int) -> tuple[tuple[str, ...], FloatArray, int]:
    """Names, numbers and the line behind them."""
    names = _words(lines[first])
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError(
            f"got {lines[first][:60]!r}, expected different names of places", place=f"{path}, line {first + 1}", hint=HINT
        )
    values = np.zeros((len(names), len(names)))
    for row, name in enumerate(names):
        number = first + 1 + row
        words = _words(lines[number]) if number < len(lines) else []
        place = f"{path}, line {number + 1}"
        if words[:1] != [name] or len(words) != len(names) + 1:
            expected = f"{name!r} and {len(names)} numbers"
            raise DataError(f"got {' '.join(words)[:60]!r}, expected {expected}", place=place, hint=HINT)
        values[row] = [_number(word, f"{place}, column {names[column]}") for column, word in enumerate(words[1:])]
    return tuple(names), values, first + 1 + len(names)


def _words(line: str) -> list[str]:
    return [word for word in re.split(r"[,\s]+", line.strip()) if word]


def _number(word: str, place: str) -> float:
    """A number that is not negative."""
    value = number_in(word)
    if not 0 <= value < np.inf:
        raise DataError(f"got {word!r}, expected a number >= 0", place=place)
    return value
