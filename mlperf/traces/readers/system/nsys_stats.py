"""Tables of ``nsys stats --format csv``: traces of devices, calls and ranges."""

from __future__ import annotations

import re
from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.chrome.launches import join_launches
from mlperf.traces.readers.foreign import NSYS_EXPORT, NSYS_STATS, Columns, columns_of, is_summary, is_trace
from mlperf.traces.readers.system.csv_rows import Row, read_tables
from mlperf.traces.readers.system.device_rows import DeviceRow, device_table, kind_of
from mlperf.traces.readers.system.nvprof_csv import device_number

TIMES = {
    **dict.fromkeys(("ns", "nsec"), 1.0),
    **dict.fromkeys(("us", "µs", "μs", "usec"), 1e3),
    **dict.fromkeys(("ms", "msec"), 1e6),
    **dict.fromkeys(("s", "sec"), 1e9),
}
"""Nanoseconds of each unit that ``--timeunit`` prints in the names of columns."""
SIZES = {
    **dict.fromkeys(("B", "byte", "bytes"), 1.0),
    **{f"{prefix}B": 1000.0**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)},
    **{f"{prefix}iB": 1024.0**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)},
}
COPIES = {
    **dict.fromkeys(("HtoD", "Host-to-Device"), "HtoD"),
    **dict.fromkeys(("DtoH", "Device-to-Host"), "DtoH"),
    **dict.fromkeys(("DtoD", "Device-to-Device"), "DtoD"),
    **dict.fromkeys(("PtoP", "Peer-to-Peer"), "PtoP"),
}
_COPY = re.compile(r"\[CUDA memcpy ([\w-]+)\]", re.IGNORECASE)


def read_nsys_stats(path: Path) -> EventTable:
    """Read what the reports ``cuda_gpu_trace``, ``cuda_api_trace`` and ``nvtx_pushpop_trace`` tell, one or several in a file.

    Returns
    -------
    EventTable
        KERNEL, MEMCPY, MEMSET and COLL rows with device and stream, API and REGION rows; times count from the first one.

    Raises
    ------
    DataError
        It holds only summaries, or none of these tables, or a value is wrong; names file, line and column.
    """
    rows: list[DeviceRow] = []
    n_summaries = n_traces = 0
    for names, lines in read_tables(path, lambda cells: is_trace(cells) or is_summary(cells)):
        if is_summary(names):
            n_summaries += 1
            continue
        n_traces += 1
        columns = columns_of(names)
        rows += [_row(row, columns) for row in lines]
    if not n_traces:
        nothing = "has no line that names Start (ns), Duration (ns), Name"
        got = "is a summary: it tells no times at which anything ran" if n_summaries else nothing
        raise DataError(got, place=str(path), hint=f"{NSYS_STATS}; better still {NSYS_EXPORT}, which has calls and ranges, too.")
    notes = [f"{n_summaries} summaries in the file are left out"] if n_summaries else []
    return join_launches(device_table(rows, f"nsys stats: {path.name}", notes))


def _row(row: Row, columns: Columns) -> DeviceRow:
    """One activity, call or range."""
    start, duration = (_time(row, columns, each) for each in ("start", "duration"))
    name = _text(row, columns, "name")
    pid, tid, corr = (_number(_text(row, columns, each)) for each in ("pid", "tid", "corrid"))
    if "pid" in columns.names:
        is_call = "corrid" in columns.names or "result" in columns.names
        kind = Kind.API if is_call else Kind.REGION
        # A range of the default domain stands behind a colon.
        return DeviceRow(kind, start, duration, name if is_call else name.removeprefix(":"), pid=pid, tid=tid, corr=corr)
    kind = kind_of(name)
    copy = _COPY.fullmatch(name)
    way = COPIES.get(copy[1], copy[1]) if copy else ""
    return DeviceRow(
        kind,
        start,
        duration,
        f"Memcpy {way}" if copy else name,
        device=device_number(_text(row, columns, "device")),
        stream=_number(_text(row, columns, "strm")),
        peer=HOST if way in ("HtoD", "DtoH") else UNSET,
        corr=corr,
        size_bytes=_size(row, columns),
    )


def _text(row: Row, columns: Columns, plain: str) -> str:
    """A cell; empty where the table has no such column."""
    return row.text(columns.names[plain]) if plain in columns.names else ""


def _time(row: Row, columns: Columns, plain: str) -> int:
    """Nanoseconds of a cell."""
    unit, column = columns.units[plain], columns.names[plain]
    if unit not in TIMES:
        raise DataError(f"got unit {unit!r}, expected one of {', '.join(TIMES)}", place=f"{row.place}, column {column}")
    return round(row.number(column) * TIMES[unit])


def _size(row: Row, columns: Columns) -> int:
    """Bytes of a copy or of memory that is set; 0 where nothing is told."""
    factor = SIZES.get(columns.units.get("bytes", "B"))
    return round(row.number(columns.names["bytes"]) * factor) if factor and _text(row, columns, "bytes") else 0


def _number(text: str) -> int:
    """A whole number; -1 for none."""
    return int(text) if text.isdigit() and len(text) < 10 else UNSET
