"""Our own stored traces: a zip of numpy columns and one JSON document, no pickle."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, UNSET, Kind
from mlperf.traces.events.table import COLUMNS, NAMES, EventTable, event_table
from mlperf.traces.readers.rank_file import MOST_RANKS

VERSION = 1
DOCUMENT = "trace.json"
HINT = "Was it written by mlperf trace import, and copied whole?"
MOST_EVENTS = 2**31
MOST_NS = 2**61
"""Beyond all clocks: 73 years."""
RANK_EXPECTED = f"a rank from 0 to {MOST_RANKS - 1}, or -1 for none"


def read_store(path: Path | str) -> EventTable:
    """Read what `write_store` wrote.

    Raises
    ------
    DataError
        The file is none, is cut off, or its columns contradict each other.
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read(DOCUMENT))
            # numpy reads a member to its stated end and refuses what would need pickle.
            columns = {
                name: np.load(archive.open(f"{name}.npy"), allow_pickle=False)
                for name in COLUMNS
                if f"{name}.npy" in archive.namelist()
            }
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", place=str(path), hint=HINT) from error
    except (KeyError, ValueError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise DataError(f"is no stored trace ({error})", place=str(path), hint=HINT) from error
    return _checked(path, document, columns)


def _checked(path: Path, document: Any, columns: dict[str, NDArray[Any]]) -> EventTable:
    """The table, if document and columns are of one trace."""
    if not isinstance(document, dict) or document.get("format") != "mlperf-trace" or document.get("version") != VERSION:
        raise DataError("is no stored trace of this version", place=f"{path}, {DOCUMENT}", hint=HINT)
    strings, sources, notes = (_words(path, document, name) for name in ("strings", "sources", "notes"))
    n_events, origin_ns, attributes = (document.get(name) for name in ("n_events", "origin_ns", "attributes"))
    if (
        type(n_events) is not int
        or type(origin_ns) is not int
        or not isinstance(attributes, dict)
        or not 0 <= n_events < MOST_EVENTS
    ):
        raise DataError("lacks n_events, origin_ns or attributes", place=f"{path}, {DOCUMENT}", hint=HINT)
    for name, values in columns.items():
        if values.dtype != COLUMNS[name][0] or values.shape != (n_events,):
            expected = f"{np.dtype(COLUMNS[name][0])} of shape ({n_events},)"
            raise DataError(f"got {values.dtype} of shape {values.shape}, expected {expected}", place=f"{path}, column {name}")
    table = event_table(
        n_events,
        strings=strings,
        sources=sources,
        origin_ns=origin_ns,
        notes=notes,
        attributes=with_numbers(attributes),
        **columns,
    )
    check_numbers(path, table)
    return table


def _words(path: Path, document: dict[str, Any], name: str) -> list[str]:
    """A list of strings of the document."""
    words = document.get(name)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError(f"{name} is no list of strings", place=f"{path}, {DOCUMENT}", hint=HINT)
    return words


def with_numbers(value: Any) -> Any:
    """JSON has only strings for keys: whole numbers are numbers again."""
    if isinstance(value, dict):
        return {int(key) if key.lstrip("-").isdigit() else key: with_numbers(each) for key, each in value.items()}
    return value


def is_no_rank(values: NDArray[Any]) -> BoolArray:
    """Which numbers are neither a rank nor -1, none."""
    return np.asarray((values < UNSET) | (values >= MOST_RANKS))


def check_numbers(path: Path, table: EventTable, first_line: int | None = None) -> None:
    """Numbers that point to strings, rows and sources must do so, and times must be times.

    Parameters
    ----------
    path : Path
        Named in errors.
    table : EventTable
    first_line : int, optional
        Line of the first row, where rows are lines of a text.

    Raises
    ------
    DataError
        Names the column, and where one row is to blame that row and its value.
    """
    n_events = len(table)
    bounds = {
        "match": n_events,
        "source": max(len(table.sources), 1),
        **dict.fromkeys(NAMES, len(table.strings)),
    }
    for name, most in bounds.items():
        values = getattr(table, name)
        if n_events and (int(values.min()) < -1 or int(values.max()) >= most):
            raise DataError(f"points to {int(values.max())} of {most}", place=f"{path}, column {name}")
    wrong = (
        ("duration_ns", (table.duration_ns < 0) | (table.duration_ns > MOST_NS), f"a duration of 0 to {MOST_NS} ns"),
        ("start_ns", (table.start_ns > MOST_NS) | (table.start_ns < -MOST_NS), f"a time of at most {MOST_NS} ns"),
        ("kind", ~np.isin(table.kind, [int(kind) for kind in Kind]), "a kind of event"),
        ("size_bytes", table.size_bytes < 0, "a size of 0 or more"),
        ("rank", is_no_rank(table.rank), RANK_EXPECTED),
        ("peer", is_no_rank(table.peer) & ~((table.peer == HOST) & (table.kind == Kind.MEMCPY)), RANK_EXPECTED),
    )
    for name, is_wrong, expected in wrong:
        if np.any(is_wrong):
            row = int(np.argmax(is_wrong))
            where = f"row {row}" if first_line is None else f"line {first_line + row}"
            raise DataError(f"got {getattr(table, name)[row]}, expected {expected}", place=f"{path}, {where}, column {name}")
