"""What a device did, recorded by two profilers at once: told once."""

from __future__ import annotations

import numpy as np

from mlperf.core.arrays import BoolArray
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable

ON_DEVICE = (Kind.KERNEL, Kind.COLL, Kind.MEMCPY, Kind.MEMSET)


def told_once(nsys: EventTable, torch: EventTable) -> EventTable:
    """Leave out of Nsight's activities and calls those that PyTorch's profiler recorded, too.

    PyTorch's profiler runs for parts of a run and knows the operators that launched something, Nsight sees all of it: of each
    profiled part the former is kept, of all else the latter.

    Parameters
    ----------
    nsys, torch : EventTable
        On one clock. Times of both agree within what their clocks do: an activity that is cut by the begin or the end of a profiled
        part may be told twice.

    Returns
    -------
    EventTable
        Of ``nsys``, with a note on what is left out. Processes are told apart by their numbers; an activity without one belongs to
        a profiled process that used its device.
    """
    middle_ns = nsys.start_ns + (nsys.origin_ns - torch.origin_ns) + nsys.duration_ns // 2
    twice = np.zeros(len(nsys), dtype=bool)
    for part in np.unique(torch.source):
        own = torch.source == part
        seen = own & _is_activity(torch)
        if not (own & np.isin(torch.kind, ON_DEVICE)).any():
            continue
        pids = np.unique(torch.pid[seen & (torch.kind == Kind.API)])
        devices = np.unique(torch.device[seen])
        same = np.isin(nsys.pid, pids) | ((nsys.pid == UNSET) & np.isin(nsys.device, devices))
        twice |= same & (torch.start_ns[seen].min() <= middle_ns) & (middle_ns <= torch.end_ns[seen].max())
    twice &= _is_activity(nsys)
    if not twice.any():
        return nsys
    note = f"{int(twice.sum())} activities and calls are in PyTorch's profile and in Nsight's: they are told once, by PyTorch's"
    left = nsys.take(~twice)
    return left.replace(notes=(*left.notes, note))


def _is_activity(table: EventTable) -> BoolArray:
    """Rows of devices, and calls of their runtime."""
    found: BoolArray = np.isin(table.kind, (*ON_DEVICE, Kind.API))
    return found
