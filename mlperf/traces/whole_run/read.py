"""A recorded run read back: all sources on one clock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.counters import CounterTable, joined_counters
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable, concatenate
from mlperf.traces.sources.registry import SOURCES, make_source
from mlperf.traces.whole_run.clock_readings import ClockReading
from mlperf.traces.whole_run.processor_time import missed_time, weighed_by_looks
from mlperf.traces.whole_run.profiled_twice import told_once
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.request import DOCUMENT
from mlperf.traces.whole_run.run import FORMAT, UNFINISHED, VERSION

HINT = "mlperf record -o DIR -- COMMAND makes one."
READ = ("before_ns", "realtime_ns", "after_ns")
LATEST_NS = 2**62
Kinds = tuple[type | tuple[type, ...], str]
NUMBER: Kinds = ((int, float), "a number")
KINDS: dict[str, Kinds] = {
    "command": (list, "a list of words"),
    "command_exit_code": (int, "a whole number"),
    "interrupted_ns": (int, "a whole number"),
    "user_s": NUMBER,
    "system_s": NUMBER,
    "host": (dict, "an object"),
    "sources": (list, "a list"),
    "clocks": ((list, type(None)), "a list"),
}
KINDS_OF_HOST: dict[str, Kinds] = {"n_cores": (int, "a whole number")}
"""What ``recording.json`` holds beside the times, each where it is known."""

SET_NS, LARGEST_SLEW = 1_000_000, 5e-4
"""A clock that is only steered goes at most 500 millionths faster or slower (adjtime(3)); more was set."""


def read_recording(folder: Path) -> Recording:
    """Read a folder of ``mlperf record``, or one with a folder ``rank-N`` for each rank that was recorded by itself.

    Returns
    -------
    Recording
        Times are nanoseconds since the command began (the first of several); ``events.origin_ns`` is that moment since 1970.

    Raises
    ------
    DataError
        It is none, or a file in it is not what a source writes; names the file.
    """
    ranks = sorted((path for path in folder.glob("rank-*") if (path / DOCUMENT).is_file()), key=lambda path: _rank_of(path.name))
    if ranks and not (folder / DOCUMENT).is_file():
        return merged(folder, [(_rank_of(path.name), _read_one(path)) for path in ranks])
    return _read_one(folder)


def _rank_of(name: str) -> int:
    """The number in ``rank-3``."""
    digits = name.rpartition("-")[2]
    return int(digits) if digits.isdigit() and len(digits) < 9 else -1


def merged(folder: Path, parts: Sequence[tuple[int, Recording]]) -> Recording:
    """Recordings of several ranks as one, by their clocks since 1970.

    What is not known of each machine's CLOCK_REALTIME is not known here either: machines whose clocks nobody keeps together need
    messages between them (``mlperf trace check --clocks``); of one machine the clocks are the same.
    """
    tables = [part.events.replace(rank=np.full(len(part.events), rank, dtype=np.int32)) for rank, part in parts]
    events = concatenate(tables)
    counters = joined_counters(
        [part.counters.replace(about=tuple(replace(each, rank=rank) for each in part.counters.about)) for rank, part in parts]
    )
    origin = min(part.events.origin_ns for _, part in parts)
    events = events.replace(start_ns=events.start_ns + (events.origin_ns - origin), origin_ns=origin).by_time()
    counters = counters.replace(time_ns=counters.time_ns + (counters.origin_ns - origin), origin_ns=origin)
    begin = min(part.events.origin_ns + part.start_ns for _, part in parts) - origin
    end = max(part.events.origin_ns + part.end_ns for _, part in parts) - origin
    cuts = [part.events.origin_ns + part.interrupted_ns - origin for _, part in parts if part.interrupted_ns is not None]
    first = parts[0][1].about
    spent = {name: sum(float(part.about.get(name, 0.0)) for _, part in parts) for name in ("user_s", "system_s")}
    about = {**first, **spent, "ranks": {str(rank): dict(part.about) for rank, part in parts}}
    return Recording(folder, about, events, counters, begin, end, min(cuts, default=None))


def _read_one(folder: Path) -> Recording:
    """One command's recording."""
    about = read_document(folder)
    start, end = int(about["start_ns"]), int(about["end_ns"])
    offset, uncertainty, set_clock = _realtime(about)
    found = {name: make_source(name).read(folder / name) for name in SOURCES if (folder / name).is_dir()}
    read = list(found.values())
    by_source = {name: _on_monotonic(each.events, offset) for name, each in found.items() if each.events is not None}
    if {"nsys", "torch"} <= set(by_source):
        by_source["nsys"] = told_once(by_source["nsys"], by_source["torch"])
    # A source of which nothing is left may have said why.
    tables = [table for table in by_source.values() if len(table) or table.notes]
    tables = weighed_by_looks(tables, next((each.looks for each in read if each.looks is not None), None))
    events = without_twins(_ranked(concatenate(tables))) if tables else concatenate([])
    counters = joined_counters([_series_on_monotonic(each.counters, offset) for each in read if each.counters is not None])
    if about.get(UNFINISHED):
        end = max([start, *(int(each.max()) for each in (events.end_ns, counters.time_ns) if len(each))])
    notes = [*events.notes, *missed_time(events, about), *_unfinished(about), *set_clock]
    attributes = {**events.attributes, "realtime_uncertainty_ns": uncertainty}
    events = events.replace(
        start_ns=events.start_ns - start, origin_ns=start + offset, notes=tuple(notes), attributes=attributes
    ).by_time()
    counters = counters.replace(time_ns=counters.time_ns - start, origin_ns=start + offset)
    cut = about.get("interrupted_ns")
    return Recording(folder, about, events, counters, 0, end - start, None if cut is None else cut - start)


def read_document(folder: Path) -> dict[str, Any]:
    """What ``recording.json`` says."""
    path = folder / DOCUMENT
    if not path.is_file():
        raise DataError(f"holds no {DOCUMENT}: it is no recording", place=str(folder), hint=HINT)
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError, OSError) as error:
        raise DataError(f"cannot be read ({error})", place=str(path), hint=HINT) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise DataError(f"is not of format {FORMAT}", place=str(path), hint=HINT)
    if found.get("version") != VERSION:
        raise DataError(f"got version {found.get('version')!r}, expected {VERSION}", place=str(path))
    for name in ("start_ns", "end_ns"):
        if not isinstance(found.get(name), int) or not 0 <= found[name] < LATEST_NS:
            raise DataError(f"got {found.get(name)!r}, expected a whole number of nanoseconds", place=f"{path}, key {name}")
    _check_kinds(found, KINDS, str(path))
    _check_kinds(found.get("host", {}), KINDS_OF_HOST, f"{path}, key host")
    for number, source in enumerate(found.get("sources", [])):
        if not isinstance(source, dict):
            raise DataError(f"got {source!r}, expected an object", place=f"{path}, key sources[{number}]")
    return found


def _check_kinds(document: dict[str, Any], kinds: Mapping[str, Kinds], place: str) -> None:
    """DataError where a value that is there is of another kind; truth values are no numbers."""
    for name, (kind, words) in kinds.items():
        value = document.get(name)
        if name not in document:
            continue
        is_fine = isinstance(value, kind) and not isinstance(value, bool)
        if not is_fine or (isinstance(value, (int, float)) and not abs(value) < LATEST_NS):
            raise DataError(f"got {value!r}, expected {words}", place=f"{place}, key {name}")


def _unfinished(about: dict[str, Any]) -> list[str]:
    """A sentence where the recorder never came to its end."""
    if not about.get(UNFINISHED):
        return []
    return [
        "the recording is unfinished: its recorder runs still, or was killed; how the command ended is not known, "
        "its end is taken to be the last thing recorded"
    ]


def _realtime(about: dict[str, Any]) -> tuple[int, int, list[str]]:
    """What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC at the start, how well that is known for all of the run, and what to say."""
    try:
        readings = [ClockReading(**{name: int(each[name]) for name in READ}) for each in about.get("clocks") or []]
    except (KeyError, TypeError, ValueError, OverflowError):
        readings = []
    if not readings or any(abs(value) >= LATEST_NS for each in readings for value in asdict(each).values()):
        return 0, -1, []
    first, last = readings[0], readings[-1]
    drift = last.offset_ns - first.offset_ns
    known = max(each.uncertainty_ns for each in readings) + abs(drift)
    if abs(drift) <= SET_NS + (last.before_ns - first.before_ns) * LARGEST_SLEW:
        return first.offset_ns, known, []
    told = f"the machine's clock was set by {drift / 1e6:.3g} ms during the run"
    return first.offset_ns, known, [f"{told}: times that count since 1970 are off by up to that"]


def _on_monotonic(table: EventTable, offset: int) -> EventTable:
    """A table whose origin is a moment since 1970 on CLOCK_MONOTONIC."""
    if not table.origin_ns:
        return table
    return table.replace(start_ns=table.start_ns + (table.origin_ns - offset), origin_ns=0)


def _series_on_monotonic(table: CounterTable, offset: int) -> CounterTable:
    """The same of series."""
    if not table.origin_ns:
        return table
    return table.replace(time_ns=table.time_ns + (table.origin_ns - offset), origin_ns=0)


def _ranked(events: EventTable) -> EventTable:
    """Ranks of processes that told theirs, on all rows of these processes."""
    known = (events.rank != UNSET) & (events.pid != UNSET)
    if not known.any():
        return events
    pids, first = np.unique(events.pid[known], return_index=True)
    ranks = events.rank[known][first]
    place = np.minimum(np.searchsorted(pids, events.pid), len(pids) - 1)
    belongs = (events.rank == UNSET) & (pids[place] == events.pid)
    return events.replace(rank=np.where(belongs, ranks[place], events.rank).astype(np.int32))


def without_twins(events: EventTable) -> EventTable:
    """Marks that a program's own file and its MPI recorder both hold, once: the program's own."""
    marks = np.array([text.startswith("marks:") for text in events.sources] or [False], dtype=bool)
    own = marks[np.minimum(events.source, len(marks) - 1)] & (events.kind == Kind.REGION)
    if not own.any():
        return events
    other = (events.kind == Kind.REGION) & ~own & np.isin(events.rank, np.unique(events.rank[own])) & (events.pid == UNSET)
    return events.take(~other) if other.any() else events
