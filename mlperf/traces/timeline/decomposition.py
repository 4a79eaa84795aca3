"""Where the time of a training step goes, so that the parts add up to the step exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.intervals import Intervals, clipped, joined, union, without
from mlperf.traces.timeline.phases import PHASES, phase_unions
from mlperf.traces.timeline.windows import Windows

COMPUTING = (Kind.KERNEL, Kind.MEMSET)
"""What counts as computation on a device; memory sets are kernels there."""
PARTS = ("gpu_kernel", "gpu_exposed_collective", "gpu_exposed_copy", "cpu")
NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepParts(Shown, frame="steps"):
    """Steps of all ranks, each split into its parts.

    Attributes
    ----------
    source : str
        The trace.
    steps : DataFrame
        One row a rank, device and step, times in seconds: ``rank, device, step, origin, start_s, step_s``; of it, adding up to it
        exactly, ``gpu_kernel_s`` (a kernel or memory set runs), ``gpu_exposed_collective_s`` (else a collective operation),
        ``gpu_exposed_copy_s`` (else a copy), ``cpu_s`` (else; the device idles); ``gpu_busy_s`` (any of the three),
        ``gpu_collective_s`` and ``gpu_copy_s`` (hidden or not), ``n_kernels``, ``n_collectives``, ``n_copies``; by what the
        program was doing when it launched the device's work or, where the device idles, itself: ``pre_s, h2d_s, forward_s,
        backward_s, update_s, d2h_s, other_s``, adding up to the step too.
    summary : DataFrame
        One row a rank and device: means over its steps, standard deviation of ``step_s``, number of steps.
    notes : tuple of str

    References
    ----------
    SOFA, figure 5 (its legend names the time on the CPU twice).
    """

    source: str
    steps: pd.DataFrame
    summary: pd.DataFrame
    notes: tuple[str, ...]


def decompose(table: EventTable, windows: list[Windows]) -> StepParts:
    """Split the steps of all ranks.

    Parameters
    ----------
    table : EventTable
    windows : list of Windows
        One for each rank that is wanted.
    """
    rows = []
    for each in windows:
        for device in devices_of(table, each.rank):
            rows += _device_rows(table, each, device)
    steps = pd.DataFrame(rows)
    return StepParts(", ".join(table.sources) or "a table", steps, step_means(steps, ["rank", "device"]), table.notes)


def devices_of(table: EventTable, rank: int) -> list[int]:
    """Devices that a rank used; -1 where it used none (or none is named)."""
    on_device = np.isin(table.kind, [int(kind) for kind in (*COMPUTING, Kind.MEMCPY)]) & (table.rank == rank)
    found = np.unique(table.device[on_device]).tolist()
    return [int(device) for device in found] or [UNSET]


def device_unions(table: EventTable, rank: int, device: int) -> dict[str, Intervals]:
    """When a device of a rank computes, communicates and copies."""
    here = (table.rank == rank) & ((table.device == device) | (table.device == UNSET))
    kinds = {"kernel": COMPUTING, "collective": (Kind.COLL,), "copy": (Kind.MEMCPY,)}
    found = {}
    for name, wanted in kinds.items():
        rows = here & np.isin(table.kind, [int(kind) for kind in wanted])
        found[name] = union(table.start_ns[rows], table.end_ns[rows])
    return found


def _device_rows(table: EventTable, windows: Windows, device: int) -> list[dict[str, object]]:
    """One row a step."""
    unions = device_unions(table, windows.rank, device)
    phases = phase_unions(table, windows.rank, device)
    here = (table.rank == windows.rank) & (table.device == device)
    counts = {
        "n_kernels": _sorted_starts(table, here & (table.kind == Kind.KERNEL)),
        "n_collectives": _sorted_starts(table, here & (table.kind == Kind.COLL)),
        "n_copies": _sorted_starts(table, here & (table.kind == Kind.MEMCPY)),
    }
    found: list[dict[str, object]] = []
    for number, start, end in zip(*(each.tolist() for each in (windows.number, windows.start_ns, windows.end_ns)), strict=True):
        parts = split({name: clipped(each, start, end) for name, each in unions.items()}, end - start)
        inside = {name: clipped(each, start, end).total_ns for name, each in phases.items()}
        inside["other"] = end - start - sum(inside.values())
        row = {"rank": windows.rank, "device": device, "step": number, "origin": windows.origin, "start_s": start * NS}
        row |= {f"{name}_s": value * NS for name, value in {**parts, **inside}.items()}
        row |= {name: int(np.searchsorted(each, end) - np.searchsorted(each, start)) for name, each in counts.items()}
        found.append(row)
    return found


def split(unions: dict[str, Intervals], step_ns: int) -> dict[str, int]:
    """Parts of a step, nanoseconds; `PARTS` add up to ``step_ns``.

    Parameters
    ----------
    unions : dict of Intervals
        ``kernel``, ``collective`` and ``copy``, inside the step.
    step_ns : int
        Its length.
    """
    kernel, collective, copy = (unions[name] for name in ("kernel", "collective", "copy"))
    busy = joined(kernel, collective, copy).total_ns
    exposed = without(collective, kernel).total_ns
    return {
        "step": step_ns,
        "gpu_kernel": kernel.total_ns,
        "gpu_exposed_collective": exposed,
        "gpu_exposed_copy": busy - kernel.total_ns - exposed,
        "cpu": step_ns - busy,
        "gpu_busy": busy,
        "gpu_collective": collective.total_ns,
        "gpu_copy": copy.total_ns,
    }


def _sorted_starts(table: EventTable, rows: np.ndarray) -> np.ndarray:
    """Starts of some rows in order."""
    return np.sort(table.start_ns[rows])


def step_means(steps: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Means of the times of steps by rank, or by rank and device, with ``n_steps`` and ``step_std_s``; nothing of no steps."""
    if steps.empty:
        return steps
    times = [name for name in steps.columns if name.endswith("_s") and name != "start_s"]
    groups = steps.groupby(by, sort=True)
    found = groups[times].mean()
    found.insert(1, "step_std_s", groups["step_s"].std())
    found.insert(0, "n_steps", groups.size())
    return found.reset_index()


__all__ = ["PARTS", "PHASES", "StepParts", "decompose", "device_unions", "devices_of", "split", "step_means"]
