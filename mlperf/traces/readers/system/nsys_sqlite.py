"""SQLite files of Nsight Systems: ``nsys export --type sqlite``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.chrome.collectives import join_collectives
from mlperf.traces.readers.chrome.launches import join_launches
from mlperf.traces.readers.chrome.meaning import CORR_SPAN, ON_DEVICE
from mlperf.traces.readers.system.device_rows import DeviceRow, device_table, kind_of

HINT = "nsys export --type sqlite -o FILE report.nsys-rep"
COPIES = {1: "Memcpy HtoD", 2: "Memcpy DtoH", 8: "Memcpy DtoD", 10: "Memcpy PtoP"}
"""CUPTI's numbers of copies."""
TABLES = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "NVTX_EVENTS",
)

SESSION = "TARGET_INFO_SESSION_START_TIME"
"""One row: the moment since 1970 from which all times count."""
GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
"""Launches of CUDA graphs as wholes, which nsys records instead of their kernels unless it is told otherwise."""


def read_nsys(path: Path) -> EventTable:
    """Read kernels, copies, memory sets, calls and NVTX ranges; tables that the file has not are named in a note.

    Launches are joined with what they started. Where several processes use devices, each is a rank, in the order of their devices.
    A CUDA graph that was recorded as a whole is one KERNEL row a launch, with a note. ``origin_ns`` is since 1970 where the file
    tells when its session began; else since that moment.

    Raises
    ------
    DataError
        It is no SQLite file, holds none of the tables, or a time is wrong.
    """
    if not path.is_file():
        raise DataError("cannot be read (No such file)", place=str(path), hint="Check the path and its permissions.")
    try:
        with sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True) as base:
            base.row_factory = sqlite3.Row
            there = {row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not there & {*TABLES, GRAPHS}:
                raise DataError("holds none of the tables of Nsight Systems", place=str(path), hint=HINT)
            strings = {row["id"]: str(row["value"]) for row in _rows(base, there, "StringIds")}
            graphs = [_row(Kind.KERNEL, row, f"CUDA graph {_value(row, 'graphId')}", path) for row in _rows(base, there, GRAPHS)]
            began = next((_value(row, "utcEpochNs") for row in _rows(base, there, SESSION)), 0)
            rows = [*_activities(base, there, strings, path), *graphs, *_host(base, there, strings, path)]
    except sqlite3.Error as error:
        raise DataError(f"cannot be read as SQLite ({error})", place=str(path), hint=HINT) from None
    notes = [f"the file has no table {name}" for name in TABLES if name not in there]
    if graphs:
        notes.append(f"{len(graphs)} launches of CUDA graphs are one row each: nsys --cuda-graph-trace=node tells their kernels")
    table = join_collectives(join_launches(_by_process(device_table(rows, f"nsys: {path.name}", notes))))
    return table.replace(origin_ns=table.origin_ns + max(began, 0))


def _by_process(table: EventTable) -> EventTable:
    """Processes that use devices as ranks, where there are several, with numbers of launches that no two share."""
    on_device = np.isin(table.kind, [int(kind) for kind in ON_DEVICE])
    pids = np.unique(table.pid[on_device])
    if len(pids) < 2 or pids[0] == UNSET:
        return table
    order = sorted(pids.tolist(), key=lambda pid: (int(table.device[on_device & (table.pid == pid)].min()), pid))
    rank = np.full(len(table), UNSET, dtype=np.int32)
    corr = table.corr.copy()
    for number, pid in enumerate(order):
        own = table.pid == pid
        rank[own] = number
        corr[own & (corr >= 0)] += number * CORR_SPAN
    corr[rank == UNSET] = UNSET
    note = f"{len(order)} processes use devices: they are ranks, in the order of their devices"
    return table.replace(rank=rank, corr=corr, notes=(*table.notes, note))


def _rows(base: sqlite3.Connection, there: set[str], table: str) -> Iterator[sqlite3.Row]:
    """Rows of a table that may be absent."""
    if table in there:
        yield from base.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - a name of our own list


def _activities(base: sqlite3.Connection, there: set[str], strings: dict[int, str], path: Path) -> Iterator[DeviceRow]:
    """What devices did."""
    for row in _rows(base, there, TABLES[0]):
        name = strings.get(_value(row, "demangledName"), "") or strings.get(_value(row, "shortName"), "kernel")
        yield _row(kind_of(name), row, name, path)
    for row in _rows(base, there, TABLES[1]):
        copy = _value(row, "copyKind")
        peer = HOST if copy in (1, 2) else _value(row, "dstDeviceId")
        yield _row(Kind.MEMCPY, row, COPIES.get(copy, f"Memcpy {copy}"), path, size=max(_value(row, "bytes"), 0), peer=peer)
    for row in _rows(base, there, TABLES[2]):
        yield _row(Kind.MEMSET, row, "Memset", path, size=max(_value(row, "bytes"), 0))


def _host(base: sqlite3.Connection, there: set[str], strings: dict[int, str], path: Path) -> Iterator[DeviceRow]:
    """Calls, and ranges of the program."""
    for row in _rows(base, there, TABLES[3]):
        yield _row(Kind.API, row, strings.get(_value(row, "nameId"), "call"), path)
    for row in _rows(base, there, TABLES[4]):
        text = row["text"] if "text" in row.keys() and row["text"] else strings.get(_value(row, "textId"), "")  # noqa: SIM118 - a Row
        if text and _value(row, "end") >= 0:
            yield _row(Kind.REGION, row, str(text), path)


def _row(kind: Kind, row: sqlite3.Row, name: str, path: Path, *, size: int = 0, peer: int = UNSET) -> DeviceRow:
    """One activity."""
    start, end = _value(row, "start"), _value(row, "end")
    if not 0 <= start <= end < 2**62:
        raise DataError(f"got start {start} and end {end}, expected times that follow each other", place=f"{path}, {name}")
    # Of devices' activities Nsight keeps the process alone.
    whole, process = _value(row, "globalTid"), _value(row, "globalPid")
    owner = whole if whole >= 0 else process
    return DeviceRow(
        kind,
        start,
        end - start,
        name,
        device=_value(row, "deviceId"),
        stream=_value(row, "streamId"),
        # Nsight keeps process and thread in one number, 24 bits each.
        pid=(owner >> 24) & 0xFFFFFF if owner >= 0 else UNSET,
        tid=whole & 0xFFFFFF if whole >= 0 else UNSET,
        peer=peer,
        corr=_value(row, "correlationId"),
        size_bytes=size,
    )


def _value(row: sqlite3.Row, name: str) -> int:
    """A whole number of a column that may be absent or empty; -1 for none."""
    value: Any = row[name] if name in row.keys() else None  # noqa: SIM118 - a Row is no mapping
    return int(value) if isinstance(value, (int, float)) and abs(value) < 2**62 else UNSET
