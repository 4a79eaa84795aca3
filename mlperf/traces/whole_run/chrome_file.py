"""A whole recording as Chrome trace events for Perfetto: events of all sources with named threads, series as counters."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.traces.events.counters import CounterTable
from mlperf.traces.events.table import EventTable
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.writers.chrome import event_lines, metadata, microseconds, write_lines, written

SERIES_PROCESS = 1_000_000
"""Process of the viewer that holds the series: above those that stand for ranks, devices and processes."""


def write_recording_chrome(recording: Recording, path: Path) -> None:
    """Write events and series of a recording; gzipped where the name ends in ``.gz``.

    Notes
    -----
    `mlperf.traces.readers.registry.read_trace` gives the events back; series are for the viewer.
    """
    events = recording.events
    named = events.replace(attributes={**events.attributes, **_names(events)})
    lines = chain(event_lines(named, np.arange(len(events)), 0), counter_lines(recording.counters))
    with written(path) as stream:
        write_lines(stream, events, lines, len(events), 0)


def _names(events: EventTable) -> dict[str, dict[str, str]]:
    """Names of threads and processes as the writer of traces looks them up: with their rank before them."""
    owners = (
        {(rank, pid) for rank, pid in np.unique(np.stack((events.rank, events.pid)), axis=1).T.tolist()} if len(events) else set()
    )
    ranks: dict[str, list[int]] = {}
    for rank, pid in sorted(owners):
        ranks.setdefault(str(pid), []).append(rank)
    threads = _mapping(events, "threads").items()
    processes = _mapping(events, "processes").items()
    return {
        "thread_names": {f"{rank}/{key}": str(name) for key, name in threads for rank in ranks.get(key.partition("/")[0], [])},
        "process_names": {f"{rank}/{pid}": str(name) for pid, name in processes for rank in ranks.get(pid, [])},
    }


def _mapping(events: EventTable, name: str) -> Mapping[str, Any]:
    found = events.attributes.get(name, {})
    return found if isinstance(found, Mapping) else {}


def counter_lines(counters: CounterTable) -> Iterator[str]:
    """One event a reading: phase ``C``, the series' name with what it is of, its value under its unit."""
    if len(counters):
        yield json.dumps(metadata("process_name", SERIES_PROCESS, 0, name="series"))
    names = [json.dumps(" ".join(filter(None, (each.name, each.what, _rank(each.rank))))) for each in counters.about]
    units = [json.dumps(each.unit or "value") for each in counters.about]
    for time, number, value in zip(counters.time_ns.tolist(), counters.series.tolist(), counters.value.tolist(), strict=True):
        if math.isfinite(value):
            where = f'"pid": {SERIES_PROCESS}, "tid": 0, "ts": {microseconds(time)}'
            yield f'{{"ph": "C", "name": {names[number]}, {where}, "args": {{{units[number]}: {value!r}}}}}'


def _rank(rank: int) -> str:
    return f"rank {rank}" if rank >= 0 else ""
