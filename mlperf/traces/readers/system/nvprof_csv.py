"""``nvprof --print-gpu-trace --csv`` and ``--print-api-trace --csv``."""

from __future__ import annotations

import re
from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.foreign import NVPROF
from mlperf.traces.readers.system.csv_rows import Row, read_rows
from mlperf.traces.readers.system.device_rows import DeviceRow, device_table, kind_of

TIMES = {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1.0}
SIZES = {"B": 1.0, "KB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30}
_DEVICE = re.compile(r".*\((\d+)\)\s*")


def read_nvprof(path: Path) -> EventTable:
    """Read a trace of kernels and copies, or of calls.

    Returns
    -------
    EventTable
        KERNEL, MEMCPY, MEMSET and COLL rows with device and stream, or API rows; times count from the first one.

    Raises
    ------
    DataError
        It has no such columns, or a value is wrong; names file, line and column.
    """
    names, rows = read_rows(path, ("Start", "Duration", "Name"), NVPROF)
    units, rows = _units(names, rows, path)
    found = [_row(row, units, "Device" in names) for row in rows]
    return device_table(found, f"nvprof: {path.name}", [])


def _units(names: list[str], rows: list[Row], path: Path) -> tuple[dict[str, float], list[Row]]:
    """Factors of columns, from the row of units below the names."""
    if not rows or rows[0].text("Start") not in TIMES:
        raise DataError("has no row of units below the names of columns", place=str(path), hint=NVPROF)
    head = rows[0]
    found = {}
    for name in names:
        word = head.text(name)
        if name in ("Start", "Duration"):
            if word not in TIMES:
                raise DataError(f"got unit {word!r}, expected one of {', '.join(TIMES)}", place=f"{head.place}, column {name}")
            found[name] = TIMES[word]
        elif name == "Size":
            found[name] = SIZES.get(word, 1.0)
    return found, rows[1:]


def _row(row: Row, units: dict[str, float], on_device: bool) -> DeviceRow:
    """One activity or call."""
    name = row.text("Name")
    start, duration = (round(row.number(column) * units[column]) for column in ("Start", "Duration"))
    corr = round(row.number("Correlation_ID")) if row.text("Correlation_ID") else UNSET
    if not on_device:
        return DeviceRow(Kind.API, start, duration, re.sub(r" \[\d+\]$", "", name), corr=corr)
    size = round(row.number("Size") * units.get("Size", 1.0)) if row.text("Size") else 0
    stream = row.text("Stream")
    plain = re.sub(r" \[\d+\]$", "", name)
    kind = kind_of(plain)
    peer = HOST if kind == Kind.MEMCPY and ("HtoD" in plain or "DtoH" in plain) else UNSET
    return DeviceRow(
        kind,
        start,
        duration,
        plain,
        device=device_number(row.text("Device")),
        stream=int(stream) if stream.isdigit() and len(stream) < 10 else UNSET,
        peer=peer,
        corr=corr,
        size_bytes=size,
    )


def device_number(text: str) -> int:
    """The number in ``"Tesla P100-SXM2-16GB (0)"``."""
    found = _DEVICE.fullmatch(text)
    return int(found[1]) if found and len(found[1]) < 10 else UNSET
