"""Tables of AMD's profilers: rocprof's results, rocprofv3's kernel and copy traces."""

from __future__ import annotations

import re
from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.foreign import ROCPROF, ROCPROF_NEW, ROCPROF_OLD
from mlperf.traces.readers.system.csv_rows import Row, read_rows
from mlperf.traces.readers.system.device_rows import DeviceRow, device_table, kind_of


def read_rocprof(path: Path) -> EventTable:
    """Read ``results.csv`` of rocprof, or ``*_kernel_trace.csv`` or ``*_memory_copy_trace.csv`` of rocprofv3.

    Raises
    ------
    DataError
        It has no such columns, or an end lies before its begin; names file, line and column.
    """
    try:
        names, rows = read_rows(path, ROCPROF_NEW, ROCPROF)
    except DataError:
        names, rows = read_rows(path, ROCPROF_OLD, ROCPROF)
    begin, end = ROCPROF_NEW if ROCPROF_NEW[0] in names else ROCPROF_OLD
    found = [_row(row, begin, end) for row in rows]
    return device_table(found, f"rocprof: {path.name}", [])


def _row(row: Row, begin: str, end: str) -> DeviceRow:
    """One activity."""
    start, stop = round(row.number(begin)), round(row.number(end))
    if stop < start:
        raise DataError(f"got {stop}, expected >= {begin}, {start}", place=f"{row.place}, column {end}")
    name = row.text("KernelName", "Kernel_Name", "Name", "Direction", "Kind")
    direction = row.text("Direction")
    to_host = "DEVICE_TO_HOST" in direction
    kind = Kind.MEMCPY if direction or "MEMORY_COPY" in row.text("Kind") else kind_of(name)
    label = name
    if kind == Kind.MEMCPY:
        label = f"Memcpy {'HtoD' if 'HOST_TO_DEVICE' in direction else 'DtoH' if to_host else direction or name}"
    return DeviceRow(
        kind,
        start,
        stop - start,
        label.strip(),
        # Of a copy to the host its source is the device.
        device=_number(row.text("gpu-id", "Agent_Id", "Source_Agent_Id" if to_host else "Destination_Agent_Id")),
        stream=_number(row.text("queue-id", "Queue_Id", "Stream_Id")),
        pid=_number(row.text("pid", "Process_Id")),
        tid=_number(row.text("tid", "Thread_Id")),
        peer=HOST if "HOST" in direction else UNSET,
        corr=_number(row.text("Index", "Correlation_Id")),
    )


def _number(text: str) -> int:
    """A number, also one behind a word (``"Agent 4"``); -1 for none."""
    found = re.search(r"(\d{1,9})\s*$", text)
    return int(found[1]) if found else UNSET
