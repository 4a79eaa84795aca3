"""How near the processor's memory a phase comes that mostly moves data: by its marks, and by the cache misses that were counted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray
from mlperf.planning.advice.facts.input_pipeline import inside
from mlperf.planning.advice.facts.phases import phases_by_role
from mlperf.specs.memory_channels import data_sheet_bytes_per_s
from mlperf.traces.events.kinds import Kind
from mlperf.traces.timeline.intervals import union
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, column_name

MISSES = "run.cache_misses"
LINE_BYTES = 64
"""Bytes of a cache line, of every processor in use but a few."""
NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class MemoryFacts:
    """One phase whose marks say how many bytes it has to move, or whose cache misses were counted.

    Attributes
    ----------
    phase : str
    step_s, phase_s : array, shape (n_steps,)
    bytes_per_step : float
        As marked; 0 where no mark says.
    peak_bytes_per_s : float
        Measured on that machine by a copy with all its cores, NaN where it was not.
    peak_one_core_bytes_per_s : float
        With one core.
    counted_bytes_per_s : float
        Cache lines that all threads missed during the phase, bytes a second; NaN where nobody counted.
    data_sheet_bytes_per_s : float
        What all channels of a socket give at most by the processor's data sheet; NaN where it is not known.
    """

    phase: str
    step_s: FloatArray
    phase_s: FloatArray
    bytes_per_step: float
    peak_bytes_per_s: float
    peak_one_core_bytes_per_s: float
    counted_bytes_per_s: float = float("nan")
    data_sheet_bytes_per_s: float = float("nan")

    @property
    def bytes_per_s(self) -> float:
        """What the phase achieves."""
        return self.bytes_per_step / float(self.phase_s.mean()) if self.phase_s.mean() > 0 else float("nan")


def memory_facts(recording: Recording, steps: RunSteps) -> tuple[MemoryFacts, ...]:
    """Look at all phases whose marks carry bytes, at all of them where cache misses were counted.

    Exchanges between ranks are left out: those move over a network.
    """
    events = recording.events
    exchanges = phases_by_role(steps.phases).get("exchange", [])
    host = recording.about.get("host", {})
    table = steps.settled
    found = []
    for phase in steps.phases:
        if phase in exchanges:
            continue
        numbers = [number for number, text in enumerate(events.strings) if column_name(text) == phase]
        rows = (events.kind == Kind.REGION) & np.isin(events.name, numbers)
        counted = _counted_bytes_per_s(recording, rows)
        if not (events.size_bytes[rows] > 0).any() and np.isnan(counted):
            continue
        per_step = float(events.size_bytes[rows].sum()) / max(sum(len(each) for each in steps.windows), 1)
        found.append(
            MemoryFacts(
                phase,
                table["step_s"].to_numpy(float),
                table[f"{phase}_s"].to_numpy(float),
                per_step,
                float(host.get("memory_bytes_per_s", float("nan"))),
                float(host.get("memory_one_core_bytes_per_s", float("nan"))),
                counted,
                data_sheet_bytes_per_s(host),
            )
        )
    return tuple(found)


def _counted_bytes_per_s(recording: Recording, rows: BoolArray) -> float:
    """Cache misses while any rank is in a phase, as bytes a second of that time; NaN where none were counted."""
    events = recording.events
    numbers = recording.counters.numbers(MISSES)
    when = union(events.start_ns[rows], events.end_ns[rows])
    if not numbers or not when.total_ns:
        return float("nan")
    missed = 0.0
    for number in numbers:
        time_ns, rate = recording.counters.of(number)
        # What a sample stands for had happened when it was taken.
        missed += float((rate[1:] * np.diff(time_ns))[inside(when, time_ns[1:])].sum()) * NS
    return missed * LINE_BYTES / (when.total_ns * NS)
