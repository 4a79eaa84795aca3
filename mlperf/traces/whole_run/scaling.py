"""Recordings of one program on more and more devices: step, throughput, speed-up, efficiency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import t as student

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError, UsageError
from mlperf.core.printable import printable
from mlperf.core.shown import Shown
from mlperf.traces.timeline.decomposition import devices_of
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps, with_ranks

COVERAGE = 0.95
FIXED, GROWING = "fixed", "growing"
WORK = (GROWING, FIXED)
"""A step does as much for each device on however many, or as much in all."""
LEAST_STEPS = 3
PARTS = ("gpu_kernel_s", "gpu_exposed_comm_s", "cpu_s")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Scaling(Shown, frame="runs"):
    """One program on more and more devices.

    Attributes
    ----------
    work : str
        ``"growing"``: a step does as much for each device; ``"fixed"``: as much in all.
    runs : DataFrame
        One row a recording, by devices: ``recording, n_processes, n_devices, n_steps, step_s``, ``throughput`` (work a second,
        1: what one device does in a step of one second), ``speed_up`` against the first row, ``efficiency`` (speed-up by devices);
        the last three and the step with ends of 95 % intervals ``..._lower, ..._upper``; parts of a step ``gpu_kernel_s,
        gpu_exposed_comm_s, cpu_s``, which add up to it, and so do its phases ``<phase>_s`` with ``other_s``.
    phases : tuple of str
        Marks inside steps, of all recordings; 0 s where a recording has none of that name.
    notes : tuple of str
    """

    work: str
    runs: pd.DataFrame
    phases: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Run:
    """What one recording says."""

    name: str
    n_processes: int
    n_devices: int
    step_s: FloatArray
    parts: dict[str, float]
    phases: tuple[str, ...]


def scaling(
    recordings: Sequence[Recording], *, work: str = GROWING, marker: str | None = None, level: int | None = None
) -> Scaling:
    """Set recordings of one program side by side.

    Parameters
    ----------
    recordings : sequence of Recording
        At least two. Devices are accelerators that were used; where none was, processes that have steps.
    work : str
        ``"growing"`` for a batch of its own on each device, ``"fixed"`` for one batch that is divided.
    marker, level
        What a step is: see `mlperf.traces.whole_run.steps.find_steps`.

    Raises
    ------
    UsageError
        Fewer than two recordings, or another kind of work.
    DataError
        A recording has no steps, or fewer than three on a rank.

    Notes
    -----
    A step of a run is the longest of its ranks'. Intervals are Student's for the mean over steps; as steps that follow each other
    are alike, their number counts as what their first autocorrelation leaves, n (1 - r) / (1 + r). Speed-up and efficiency carry
    the relative errors of both runs. Differences from run to run of the same program are not in them.
    """
    if len(recordings) < 2:
        raise UsageError(f"got {len(recordings)} recording, expected at least two", hint="mlperf record scaling RUN-1 RUN-2 RUN-4")
    if work not in WORK:
        raise UsageError(f"got {work!r}, expected one of {', '.join(WORK)}", place="work")
    runs = [_run(each, find_steps(each, marker=marker, level=level)) for each in recordings]
    runs.sort(key=lambda run: (run.n_devices, run.n_processes, run.name))
    phases = tuple(dict.fromkeys(name for run in runs for name in run.phases))
    table = pd.DataFrame([_row(run, runs[0], work) for run in runs])
    for name in phases:
        table[f"{name}_s"] = table[f"{name}_s"].fillna(0.0)
    return Scaling(work, table, phases, _notes(runs))


def _run(recording: Recording, steps: RunSteps) -> _Run:
    """The step of a recording: in each the longest of the ranks."""
    settled = steps.settled
    longest = settled.assign(place=settled.groupby("rank").cumcount()).groupby("place")["step_s"]
    step_s = longest.max()[longest.size() == settled["rank"].nunique()].to_numpy(float)
    if len(step_s) < LEAST_STEPS:
        hint = "Record more steps."
        raise DataError(f"got {len(step_s)} steps after the first, expected at least {LEAST_STEPS}", place=steps.source, hint=hint)
    ranks = [each.rank for each in steps.windows]
    events = with_ranks(recording.events)
    devices = sum(len([device for device in devices_of(events, rank) if device >= 0]) for rank in ranks)
    names = (*PARTS, *(f"{name}_s" for name in steps.phases), "other_s")
    parts = {name: float(settled[name].mean()) for name in names}
    return _Run(str(recording.folder), len(ranks), devices or len(ranks), step_s, parts, steps.phases)


def relative_error(values: FloatArray) -> float:
    """Half a 95 % interval of a mean over values in order, as a share of it."""
    mean, spread = float(values.mean()), float(values.std(ddof=1))
    if spread == 0:
        return 0.0
    centred = values - mean
    alike = float(np.clip((centred[1:] * centred[:-1]).sum() / (centred**2).sum(), 0.0, 0.95))
    n_apart = max(len(values) * (1 - alike) / (1 + alike), 2.0)
    return float(student.ppf(0.5 + COVERAGE / 2, n_apart - 1)) * spread / math.sqrt(n_apart) / mean


def _row(run: _Run, first: _Run, work: str) -> dict[str, object]:
    """A recording against the first one."""
    step, base = float(run.step_s.mean()), float(first.step_s.mean())
    own = relative_error(run.step_s)
    both = 0.0 if run is first else math.hypot(own, relative_error(first.step_s))
    grown, grown_first = (each.n_devices if work == GROWING else 1 for each in (run, first))
    throughput = grown / step
    speed_up = throughput / (grown_first / base)
    efficiency = speed_up * first.n_devices / run.n_devices
    return {
        "recording": printable(run.name),
        "n_processes": run.n_processes,
        "n_devices": run.n_devices,
        "n_steps": len(run.step_s),
        "step_s": step,
        "step_lower_s": step * (1 - own),
        "step_upper_s": step * (1 + own),
        "throughput": throughput,
        "throughput_lower": throughput / (1 + own),
        "throughput_upper": throughput / max(1 - own, 1e-9),
        "speed_up": speed_up,
        "speed_up_lower": speed_up * math.exp(-both),
        "speed_up_upper": speed_up * math.exp(both),
        "efficiency": efficiency,
        "efficiency_lower": efficiency * math.exp(-both),
        "efficiency_upper": efficiency * math.exp(both),
        **run.parts,
    }


def _notes(runs: Sequence[_Run]) -> tuple[str, ...]:
    """What is to be known about the comparison."""
    found = []
    counts = [run.n_devices for run in runs]
    if len(set(counts)) < len(counts):
        found.append("several recordings have as many devices: their differences are those from run to run")
    if counts[0] != 1:
        found.append(f"speed-up is against {counts[0]} devices, the fewest recorded")
    return tuple(found)
