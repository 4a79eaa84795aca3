"""Files of times that somebody measured already."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError

HINT = "One number a line; a CSV with a header; or JSON: a list, an object with one list, or an object a line."
MOST_BYTES = 256 << 20


def read_times(path: Path, column: str | None = None) -> FloatArray:
    """Read what was measured, in its order.

    Parameters
    ----------
    path : Path
        One number a line; a CSV with a header; JSON: a list of numbers, an object with a list of numbers in it (the ``results`` of
        hyperfine too), or one object a line.
    column : str, optional
        Column or key, where there are several.

    Returns
    -------
    array, shape (n,)
        In the units of the file, all > 0.

    Raises
    ------
    DataError
        It cannot be read, a number is not > 0, or it is not clear which numbers are meant.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"has more than {MOST_BYTES >> 20} MiB", place=str(path))
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read ({error})", place=str(path), hint=HINT) from None
    head = text.lstrip()[:1]
    values = _of_json(path, text, column) if head and head in "[{" else _of_lines(path, text, column)
    return _checked(path, values)


def _of_lines(path: Path, text: str, column: str | None) -> list[Any]:
    """Numbers a line, or a CSV where the first line is no number."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [(number, line) for number, line in lines if not line.startswith("#")]
    if not lines:
        raise DataError("holds no numbers", place=str(path), hint=HINT)
    if column is None and _is_number(lines[0][1]):
        return [line for _, line in lines]
    import csv

    try:
        rows = list(csv.reader([line for _, line in lines], strict=False))
    except csv.Error as error:
        raise DataError(f"cannot be read as CSV ({error})", place=str(path), hint=HINT) from None
    chosen = _chosen(path, rows[0], column)
    at = rows[0].index(chosen)
    for (number, _), row in zip(lines[1:], rows[1:], strict=False):
        if len(row) <= at:
            raise DataError(f"got {len(row)} cells, expected {len(rows[0])}", place=f"{path}, line {number}")
    return [row[at] for row in rows[1:]]


def _of_json(path: Path, text: str, column: str | None) -> list[Any]:
    """A list, an object with lists, or an object a line."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = _json_lines(path, text)
    if isinstance(found, Mapping) and isinstance(found.get("results"), list) and len(found["results"]) == 1:
        found = found["results"][0]
    if isinstance(found, list) and found and all(isinstance(each, Mapping) for each in found):
        names = [name for name, value in found[0].items() if _is_number(value)]
        chosen = _chosen(path, names, column)
        return [each.get(chosen) for each in found]
    if isinstance(found, Mapping):
        lists = [str(name) for name, value in found.items() if isinstance(value, list) and value and _is_number(value[0])]
        return list(found[_chosen(path, lists, column)])
    if not isinstance(found, list):
        raise DataError("holds no list of numbers", place=str(path), hint=HINT)
    return found


def _json_lines(path: Path, text: str) -> list[Any]:
    """One document a line."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise DataError(f"is not JSON ({error})", place=f"{path}, line {number}", hint=HINT) from None
    return found


def _chosen(path: Path, names: list[str], column: str | None) -> str:
    """The column that was asked for, or the only one."""
    told = ", ".join(names[:12]) or "none"
    if column is not None:
        if column not in names:
            raise DataError(f"has no column {column!r}", place=str(path), hint=f"There are: {told}.")
        return column
    if len(names) != 1:
        raise DataError(f"has {len(names)} columns of numbers", place=str(path), hint=f"Name one with --column: {told}.")
    return names[0]


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _checked(path: Path, values: list[Any]) -> FloatArray:
    """Numbers > 0."""
    found = np.empty(len(values))
    for at, value in enumerate(values):
        if not _is_number(value) or not 0 < float(value) < float("inf"):
            raise DataError(f"got {value!r:.40}, expected a number > 0", place=f"{path}, value {at + 1}", hint=HINT)
        found[at] = float(value)
    return found
