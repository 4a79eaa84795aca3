"""A document's events as a table: kinds, devices, streams, copies, places in the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, IntArray
from mlperf.traces.events.kinds import UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.readers.chrome.categories import BYTES, NEW_NAMES, OPERATOR, PROFILER, SYNCHRONISATION, kind_of
from mlperf.traces.readers.chrome.pairs import innermost
from mlperf.traces.readers.chrome.raw import FIRST_NAMED, RawEvents, present, within_32_bits
from mlperf.traces.readers.chrome.slices import Slices

CORR_SPAN = 1 << 33
"""Numbers that launches of one rank share lie between its position times this and the next."""
ON_DEVICE = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.COLL)


def table_of(raw: RawEvents, slices: Slices, rank: int, base_ns: int, source: str) -> EventTable:
    """The table of one document that somebody else wrote.

    Parameters
    ----------
    raw : RawEvents
    slices : Slices
        Of the same events.
    rank : int
        Of every event.
    base_ns : int
        What the document adds to all times, nanoseconds.
    source : str
        Its name.
    """
    strings = raw.strings()
    category, n_old = _new_names(raw.column("cat")[slices.event], strings)
    kept = category != _place(strings, PROFILER)
    name, flags = raw.column("name")[slices.event], slices.flags
    kind = _kinds(category, name, slices.is_mark, strings)
    columns: dict[str, NDArray[Any]] = {
        "start_ns": slices.start_ns,
        "duration_ns": slices.duration_ns,
        "kind": kind,
        "name": name,
        "name2": category,
        "flags": flags,
        **_places(raw, slices.event, kind),
        **_sizes(raw, slices.event, strings),
    }
    columns["site"] = _sites(raw, slices, columns, strings)
    _waits(raw, slices.event, category == _place(strings, SYNCHRONISATION), columns)
    columns = {each: values[kept] for each, values in columns.items()}
    notes = (*slices.notes, *((f"{n_old} events have category names of before 2022",) if n_old else ()))
    origin = int(columns["start_ns"].min(initial=np.iinfo(np.int64).max)) if kept.any() else 0
    columns["start_ns"] = columns["start_ns"] - origin
    return event_table(
        int(kept.sum()),
        strings=strings,
        sources=(source,),
        origin_ns=origin + base_ns,
        notes=notes,
        attributes=_names(raw, slices.names, rank, strings, np.concatenate((columns["pid"], columns["tid"]))),
        rank=rank,
        **columns,
    )


def _place(strings: list[str], text: str) -> int:
    """Number of a text, a new one if need be."""
    if text not in strings:
        strings.append(text)
    return strings.index(text)


def _new_names(category: NDArray[Any], strings: list[str]) -> tuple[NDArray[np.int32], int]:
    """Categories by their names of today, and how many were not."""
    new = np.arange(len(strings) + 1, dtype=np.int32)
    new[-1] = UNSET
    for number, text in enumerate(list(strings)):
        if text in NEW_NAMES:
            new[number] = _place(strings, NEW_NAMES[text])
    found = new[category]
    return found, int(np.count_nonzero(found != category))


def _kinds(category: NDArray[np.int32], name: NDArray[Any], is_mark: BoolArray, strings: list[str]) -> NDArray[np.uint8]:
    """Kind of every slice, asked once for each category and name."""
    pairs, which = np.unique(category.astype(np.int64) << 32 | (name.astype(np.int64) + 1), return_inverse=True)
    words = [(strings[each >> 32] if each >= 0 else "", (each & 0xFFFFFFFF) - 1) for each in pairs.tolist()]
    kinds = np.array([kind_of(group, strings[number] if number >= 0 else "") for group, number in words], dtype=np.uint8)
    found = kinds[which.reshape(-1)] if len(kinds) else np.zeros(0, dtype=np.uint8)
    found[is_mark] = Kind.MARK
    return found


def _places(raw: RawEvents, event: IntArray, kind: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Process, thread, device and stream, and what a launch and its activity have in common."""
    corr = raw.column("args.correlation")[event]
    linked = (corr > 0) & (corr < CORR_SPAN) & (kind != Kind.REGION) & (kind != Kind.MARK)
    return {
        "pid": within_32_bits(raw.column("pid")[event], UNSET),
        "tid": within_32_bits(raw.column("tid")[event], UNSET),
        "device": within_32_bits(raw.column("args.device")[event], UNSET),
        "stream": within_32_bits(raw.column("args.stream")[event], UNSET),
        "corr": np.where(linked, corr, UNSET),
    }


def _sizes(raw: RawEvents, event: IntArray, strings: list[str]) -> dict[str, NDArray[Any]]:
    """Bytes of copies and collective operations, and the groups and sequence numbers of the latter."""
    size = raw.column("args.bytes")[event]
    size = np.where(present(size) & (raw.column("ph")[event] == ord("X")), np.maximum(size, 0), 0)
    if raw.has("args.In msg nelems"):
        width = np.array([BYTES.get(text, 0) for text in strings] + [0], dtype=np.int64)
        n_elements = raw.column("args.In msg nelems")[event]
        told = present(n_elements) & (n_elements >= 0) & (n_elements < 2**50)
        size = np.where(told, n_elements * width[raw.column("args.dtype")[event]], size)
    return {
        "size_bytes": size,
        "comm": raw.column("args.Process Group Name")[event].astype(np.int32),
        "tag": within_32_bits(raw.column("args.Seq")[event], UNSET),
    }


def _sites(raw: RawEvents, slices: Slices, columns: dict[str, NDArray[Any]], strings: list[str]) -> NDArray[np.int32]:
    """Shapes of an operator's arguments; of what is launched on a device the operator that did so, with its shapes."""
    event, kind = slices.event, columns["kind"]
    shapes = raw.column("args.Input Dims")[event]
    site = shapes.astype(np.int32)
    operators = np.flatnonzero(columns["name2"] == _place(strings, OPERATOR))
    launches = np.flatnonzero((kind == Kind.API) & (columns["corr"] >= 0) & (columns["device"] == UNSET))
    activities = np.flatnonzero(np.isin(kind, ON_DEVICE) & (columns["corr"] >= 0))
    if not len(operators) or not len(launches):
        return site
    start, end = slices.start_ns, slices.start_ns + slices.duration_ns
    thread = columns["pid"].astype(np.int64) << 32 | columns["tid"].astype(np.int64) & 0xFFFFFFFF
    around = innermost(thread[operators], start[operators], end[operators], thread[launches], start[launches])
    order = np.argsort(columns["corr"][launches], kind="stable")
    known = columns["corr"][launches][order]
    at = np.minimum(np.searchsorted(known, columns["corr"][activities]), len(known) - 1)
    launched = np.where(known[at] == columns["corr"][activities], around[order[at]], -1)
    activities, operator = activities[launched >= 0], operators[launched[launched >= 0]]
    pairs, which = np.unique(np.stack((columns["name"][operator], shapes[operator]), axis=1), axis=0, return_inverse=True)
    first = len(strings)
    for name, shape in pairs.tolist():
        strings.append(
            " ".join(part for part in (strings[name] if name >= 0 else "", strings[shape] if shape >= 0 else "") if part)
        )
    site[activities] = first + which.reshape(-1)
    return site


def _waits(raw: RawEvents, event: IntArray, of_device: BoolArray, columns: dict[str, NDArray[Any]]) -> None:
    """What a synchronisation waits for: the stream as ``peer``, the launch that recorded its event as ``tag``."""
    columns["peer"] = np.full(len(event), UNSET, dtype=np.int32)
    for column, field in (("peer", "args.wait_on_stream"), ("tag", "args.wait_on_cuda_event_record_corr_id")):
        values = within_32_bits(raw.column(field)[event], UNSET)
        columns[column] = np.where(of_device, values, columns[column]).astype(np.int32)


def _names(raw: RawEvents, events: IntArray, rank: int, strings: list[str], numbers: NDArray[Any]) -> Mapping[str, Any]:
    """What processes and threads are called, by rank and number, and what stands for a number that was a name."""
    found: dict[str, dict[str, str]] = {"process_names": {}, "thread_names": {}, "id_names": {}}
    labels = raw.column("args.name")
    what, pids, tids = raw.column("name"), raw.column("pid"), raw.column("tid")
    for event in events.tolist():
        kind, label = strings[what[event]] if what[event] >= 0 else "", labels[event]
        pid, tid = (int(within_32_bits(np.array([each]), UNSET)[0]) for each in (pids[event], tids[event]))
        if label >= 0 and kind == "process_name":
            found["process_names"][f"{rank}/{pid}"] = strings[label]
        elif label >= 0 and kind == "thread_name":
            found["thread_names"][f"{rank}/{pid}/{tid}"] = strings[label]
    named = np.unique(numbers[numbers >= FIRST_NAMED])
    found["id_names"] = {f"{rank}/{number}": strings[number - FIRST_NAMED] for number in named.tolist()}
    return {name: values for name, values in found.items() if values}


def flagged(table: EventTable, rows: NDArray[Any], flag: Flag) -> EventTable:
    """The table with a flag more at some rows."""
    flags = np.array(table.flags)
    flags[rows] |= np.uint16(flag)
    return table.replace(flags=flags)
