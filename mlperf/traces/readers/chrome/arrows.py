"""Arrows between slices: what they join gets one number, where nothing else says that it belongs together."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import IntArray
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable, column
from mlperf.traces.readers.chrome.pairs import innermost
from mlperf.traces.readers.chrome.raw import RawEvents, within_32_bits
from mlperf.traces.readers.chrome.slices import Slices


def join_arrows(table: EventTable, raw: RawEvents, slices: Slices, base_ns: int) -> EventTable:
    """Fill `corr` of slices that arrows join; those that share a number already keep it.

    An arrow's end belongs to the innermost slice around it on its thread.
    """
    free = np.flatnonzero((table.corr == UNSET) & (table.kind != Kind.MARK))
    if not len(slices.arrows) or not len(free):
        return table
    at_ns = raw.column("ts")[slices.arrows] + (base_ns - table.origin_ns)
    places = [within_32_bits(raw.column(name)[slices.arrows], UNSET).astype(np.int64) for name in ("pid", "tid")]
    thread = _thread(table.pid[free].astype(np.int64), table.tid[free].astype(np.int64))
    found = innermost(thread, table.start_ns[free], table.end_ns[free], _thread(*places), at_ns)
    joined = found >= 0
    key = np.stack((raw.column("cat")[slices.arrows], raw.column("id")[slices.arrows]), axis=1)[joined]
    row = free[found[joined]]
    if not len(row):
        return table
    _, number = np.unique(key, axis=0, return_inverse=True)
    number = number.reshape(-1)
    several = _has_several(number, row)
    corr = column(table.corr).copy()
    corr[row[several]] = number[several] + int(corr.max(initial=-1)) + 1
    return table.replace(corr=corr)


def _thread(pid: IntArray, tid: IntArray) -> IntArray:
    """One number for each process and thread."""
    return pid << 32 | tid & 0xFFFFFFFF


def _has_several(number: IntArray, row: IntArray) -> np.ndarray:
    """Whether an arrow joins more than one slice."""
    pairs = np.unique(np.stack((number, row), axis=1), axis=0)
    found: np.ndarray = np.bincount(pairs[:, 0], minlength=int(number.max()) + 1)[number] > 1
    return found
