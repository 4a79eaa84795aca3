"""What a training program is doing, by the words in its marks: loading, copying, forward, backward, update."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.intervals import Intervals, joined, union, without

PHASES: Mapping[str, re.Pattern[str]] = {
    "update": re.compile(r"optimizer|\badam|\bsgd|zero_grad|\blamb\b", re.IGNORECASE),
    "backward": re.compile(r"backward|autograd::engine|_bwd", re.IGNORECASE),
    "h2d": re.compile(r"HtoD|MemcpyH2D|copy_batch_to_gpu", re.IGNORECASE),
    "d2h": re.compile(r"DtoH|MemcpyD2H", re.IGNORECASE),
    "pre": re.compile(r"dataloader|data_load|wait_for_batch|preprocess|decode_(?:image|jpeg|video)|load_batch", re.IGNORECASE),
    "forward": re.compile(r"forward|^aten::|\bnn\.Module", re.IGNORECASE),
}
"""Words of each phase, the most telling first: a name that fits several belongs to the first."""


def phase_numbers(table: EventTable) -> NDArray[np.int8]:
    """Phase of every string of a table, -1 for none, shape (n_strings + 1,); the last answers for -1."""
    found = np.full(len(table.strings) + 1, UNSET, dtype=np.int8)
    for number, text in enumerate(table.strings):
        found[number] = next((place for place, words in enumerate(PHASES.values()) if words.search(text)), UNSET)
    return found


def phase_unions(table: EventTable, rank: int, device: int) -> dict[str, Intervals]:
    """When a rank is in which phase; at each moment in one at most.

    A device's work belongs to the phase of the outermost telling slice around its launch, a copy to its direction. Where the device
    idles, the host's slices tell; work on the device comes first, and of phases the one named first.
    """
    numbers = phase_numbers(table)
    busy = _device_phases(table, rank, device)
    host = _host_phases(table, rank, numbers)
    taken = joined(*busy.values())
    found: dict[str, Intervals] = {}
    for source in (busy, host):
        for name, when in source.items():
            own = when if source is busy else without(when, taken)
            for other in found:
                own = without(own, found[other])
            found[name] = joined(found[name], own) if name in found else own
    return {name: found[name] for name in ("pre", "h2d", "forward", "backward", "update", "d2h")}


def _host_phases(table: EventTable, rank: int, numbers: NDArray[np.int8]) -> dict[str, Intervals]:
    """Unions of the host's slices by phase."""
    rows = np.flatnonzero((table.kind == Kind.REGION) & (table.rank == rank) & (table.device == UNSET))
    phase = numbers[table.name[rows]]
    return {name: _union(table, rows[phase == number]) for number, name in enumerate(PHASES)}


def launch_phases(table: EventTable, rows: IntArray) -> NDArray[np.int8]:
    """Phase of each activity of one rank by its launch, of a copy by its direction, of a region by its name; -1 for none."""
    numbers = phase_numbers(table)
    phase = np.where(table.kind[rows] == Kind.MEMCPY, numbers[table.name[rows]], UNSET).astype(np.int8)
    host_rows = table.kind[rows] == Kind.REGION
    phase[host_rows] = numbers[table.name[rows[host_rows]]]
    launched = (phase == UNSET) & (table.match[rows] != UNSET)
    if launched.any():
        own = (table.kind == Kind.REGION) & (table.rank == table.rank[rows[0]]) & (table.device == UNSET)
        host = np.flatnonzero(own & (numbers[table.name] != UNSET))
        phase[launched] = _outermost(table, host, table.match[rows[launched]], numbers)
    return phase


def _device_phases(table: EventTable, rank: int, device: int) -> dict[str, Intervals]:
    """Unions of a device's work by the phase of its launch."""
    kinds = [int(kind) for kind in (Kind.KERNEL, Kind.COLL, Kind.MEMCPY, Kind.MEMSET)]
    rows = np.flatnonzero(np.isin(table.kind, kinds) & (table.rank == rank) & (table.device == device))
    phase = launch_phases(table, rows)
    return {name: _union(table, rows[phase == number]) for number, name in enumerate(PHASES)}


def _outermost(table: EventTable, host: IntArray, calls: IntArray, numbers: NDArray[np.int8]) -> NDArray[np.int8]:
    """Of the slices around each call on its thread the phase that is named first; -1 where none tells."""
    found = np.full(len(calls), UNSET, dtype=np.int8)
    thread = table.tid.astype(np.int64)
    for number in reversed(range(len(PHASES))):
        rows = host[numbers[table.name[host]] == number]
        for tid in np.unique(thread[rows]).tolist():
            when = _union(table, rows[thread[rows] == tid])
            on_thread = thread[calls] == tid
            inside = on_thread & when.hold(table.start_ns[calls])
            found[inside] = number
    return found


def _union(table: EventTable, rows: IntArray) -> Intervals:
    """When any of some rows lasts."""
    return union(table.start_ns[rows], table.end_ns[rows])
