"""Readings of ``nvidia-smi --query-gpu=timestamp,index,... --format=csv -l 1``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

from mlperf.core.durations import number_in
from mlperf.core.errors import DataError
from mlperf.traces.events.counters import CounterTable, Series, counter_table
from mlperf.traces.readers.system.csv_rows import Row, read_rows

HINT = "nvidia-smi --query-gpu=timestamp,index,utilization.gpu,memory.used,power.draw --format=csv -lms 200"
COLUMNS = {
    "utilization.gpu": ("gpu.utilisation", "share", 0.01),
    "utilization.memory": ("gpu.memory_utilisation", "share", 0.01),
    "memory.used": ("gpu.memory_used", "bytes", 2.0**20),
    "power.draw": ("gpu.power", "W", 1.0),
    "temperature.gpu": ("gpu.temperature", "C", 1.0),
    "clocks.current.sm": ("gpu.clock", "Hz", 1e6),
    "clocks.sm": ("gpu.clock", "Hz", 1e6),
}
MISSING = ("[N/A]", "N/A", "[Not Supported]", "[Unknown Error]", "")
_NAME = re.compile(r"([a-z_.]+)(?:\s*\[(.*)\])?")
_EPOCH = datetime(1970, 1, 1)


def read_nvidia_smi(path: Path) -> CounterTable:
    """Read series of all devices; times are the machine's local time, taken as UTC.

    Raises
    ------
    DataError
        There is no line of names with ``timestamp``, or a value is no number; names file, line and column.
    """
    names, rows = read_rows(path, ("timestamp",), HINT)
    wanted = {}
    for name in names:
        found = _NAME.fullmatch(name)
        if found and found[1] in COLUMNS:
            wanted[name] = COLUMNS[found[1]]
    readings: dict[Series, tuple[list[int], list[float]]] = {}
    n_missing = 0
    for row in rows:
        at = _time(row)
        device = row.text("index") or "0"
        for name, (series, unit, factor) in wanted.items():
            text = row.text(name)
            if text in MISSING:
                n_missing += 1
                continue
            times, values = readings.setdefault(Series(series, unit, device), ([], []))
            times.append(at)
            values.append(_number(text, f"{row.place}, column {name}") * factor)
    origin = min((times[0] for times, _ in readings.values()), default=0)
    notes = [f"{n_missing} values are not available"] if n_missing else []
    return counter_table(
        [(about, [at - origin for at in times], values) for about, (times, values) in readings.items()],
        origin_ns=origin,
        notes=notes,
    )


def _time(row: Row) -> int:
    """Nanoseconds of ``2024/05/06 07:08:09.123``."""
    text = row.text("timestamp")
    try:
        found = datetime.strptime(text, "%Y/%m/%d %H:%M:%S.%f")
    except ValueError:
        raise DataError(f"got {text[:40]!r}, expected 2024/05/06 07:08:09.123", place=f"{row.place}, column timestamp") from None
    return int((found - _EPOCH) / timedelta(microseconds=1)) * 1000


def _number(text: str, place: str) -> float:
    """A number before its unit."""
    value = number_in(text.split()[0])
    if not 0 <= value < 1e18:
        raise DataError(f"got {text[:40]!r}, expected a number >= 0", place=place)
    return value
