"""Events that the processor and the kernel count, by the moments at which so many more had happened."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.counters import CounterTable, Series, counter_table
from mlperf.traces.readers.content import read_content

FIELDS = "pid,tid,time,period,event"
"""What ``perf script -F`` is asked for."""
UNIT = "1/s"
LARGEST = 2**53
LATEST = 10**18
_SPAN = re.compile(r"# counted from (?P<begin>\d{1,18}) to (?P<end>\d{1,18}):(?P<events>(?: [\w-]+)*)")
_LINE = re.compile(
    r"\s*\d{1,10}/\d{1,10}\s+(?P<s>\d{1,9})\.(?P<fraction>\d{6,9}):\s+(?P<period>\d{1,16})\s+(?P<event>[\w-]+(?:[/:].*)?)"
)
_EVENT = re.compile(r"(?:(?:cpu(?:_\w+)?|arm\w+)/)?(?P<name>[\w-]+).*")


def plain_event(text: str) -> str:
    """The event's own name: ``cache-misses`` of ``cpu_atom/cache-misses/u``, as processors with several kinds of cores call it."""
    found = _EVENT.fullmatch(text)
    return found["name"] if found else text


def series_name(event: str) -> str:
    """The series of an event: ``run.cache_misses``."""
    return "run." + event.replace("-", "_")


def span_line(begin_ns: int, end_ns: int, events: Iterable[str]) -> str:
    """The line that says when what was counted, also where it never happened."""
    return f"# counted from {begin_ns} to {end_ns}: {' '.join(events)}\n"


def read_event_counts(path: Path) -> CounterTable:
    """Read samples of events.

    Parameters
    ----------
    path : Path
        ``perf script -F pid,tid,time,period,event``, without stacks; before it what `span_line` makes, where that is known.

    Returns
    -------
    CounterTable
        A series an event: its rate since the sample before, of all threads together, on the clock of the samples. Less than a
        sample's worth after the last one is none.

    Raises
    ------
    DataError
        A line is not of the format; names file and line.
    """
    found: dict[str, tuple[list[int], list[int]]] = {}
    begin, end = LATEST, 0
    for number, line in enumerate(read_content(path).decode("utf-8", "replace").splitlines(), 1):
        if (span := _SPAN.fullmatch(line.rstrip())) is not None:
            begin, end = int(span["begin"]), int(span["end"])
            found |= {series_name(each): ([], []) for each in span["events"].split()}
        if not line.strip() or line.startswith("#"):
            continue
        head = _LINE.fullmatch(line)
        if head is None or int(head["period"]) > LARGEST:
            hint = f"perf script -F {FIELDS}"
            raise DataError(f"got {line[:60]!r}, expected a sample of an event", place=f"{path}, line {number}", hint=hint)
        times, periods = found.setdefault(series_name(plain_event(head["event"])), ([], []))
        times.append(int(head["s"]) * 1_000_000_000 + int(head["fraction"].ljust(9, "0")))
        periods.append(int(head["period"]))
    readings = []
    for name, (times, periods) in found.items():
        ends = [(moment, 0) for moment in (begin, end) if begin < end]
        told = np.array([*ends, *zip(times, periods, strict=True)], dtype=np.int64).reshape(-1, 2)
        # Threads on two processors may tell at the same moment.
        moments, of_row = np.unique(told[:, 0], return_inverse=True)
        counts = np.bincount(of_row.reshape(-1), weights=told[:, 1], minlength=1)
        rates = counts[1:] / (np.diff(moments) * 1e-9)
        readings.append((Series(name, UNIT), moments, np.concatenate([[0.0], rates])[: len(moments)]))
    return counter_table(readings)
