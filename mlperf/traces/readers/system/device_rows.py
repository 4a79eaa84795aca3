"""Activities of devices as rows of our table, whoever recorded them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table

LIMIT = 2**31 - 1
COLLECTIVE = "nccl"


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """One activity.

    Attributes
    ----------
    kind : Kind
    start_ns, duration_ns : int
    name : str
    device, stream, pid, tid, peer, corr, size_bytes : int
        -1 and 0 where nothing is told.
    """

    kind: Kind
    start_ns: int
    duration_ns: int
    name: str
    device: int = UNSET
    stream: int = UNSET
    pid: int = UNSET
    tid: int = UNSET
    peer: int = UNSET
    corr: int = UNSET
    size_bytes: int = 0


def device_table(rows: Sequence[DeviceRow], source: str, notes: Sequence[str]) -> EventTable:
    """A table by time; times count from the first activity."""
    strings = Strings()
    first = min((row.start_ns for row in rows), default=0)
    columns: dict[str, Any] = {
        name: np.array([min(getattr(row, name), LIMIT) for row in rows], dtype=np.int64)
        for name in ("device", "stream", "pid", "tid", "peer")
    }
    columns |= {
        name: np.array([getattr(row, name) for row in rows], dtype=np.int64) for name in ("duration_ns", "corr", "size_bytes")
    }
    return event_table(
        len(rows),
        start_ns=np.array([row.start_ns - first for row in rows], dtype=np.int64),
        kind=np.array([int(row.kind) for row in rows], dtype=np.uint8),
        name=np.array([strings.number(row.name) for row in rows], dtype=np.int32),
        rank=0,
        **columns,
        strings=strings.all(),
        sources=(source,),
        notes=notes,
        origin_ns=first,
    ).by_time()


def kind_of(name: str) -> Kind:
    """Whether a device's activity copies, sets memory, communicates or computes, by its name."""
    lower = name.lower()
    # Page faults of unified memory move data, and compute nothing.
    if "memcpy" in lower or lower.startswith(("[unified memory", "copyhost", "copydevice")):
        return Kind.MEMCPY
    if "memset" in lower or lower.startswith("fillbuffer"):
        return Kind.MEMSET
    return Kind.COLL if COLLECTIVE in lower or "rccl" in lower else Kind.KERNEL
