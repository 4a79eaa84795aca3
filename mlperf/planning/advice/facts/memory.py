"""How near the processor's memory a phase comes that mostly moves data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import FloatArray
from mlperf.planning.advice.facts.phases import phases_by_role
from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, column_name


@dataclass(frozen=True, slots=True, eq=False)
class MemoryFacts:
    """One phase whose marks say how many bytes it has to move.

    Attributes
    ----------
    phase : str
    step_s, phase_s : array, shape (n_steps,)
    bytes_per_step : float
        As marked.
    peak_bytes_per_s : float
        Measured on that machine by a copy with all its cores, NaN where it was not.
    peak_one_core_bytes_per_s : float
        With one core.
    """

    phase: str
    step_s: FloatArray
    phase_s: FloatArray
    bytes_per_step: float
    peak_bytes_per_s: float
    peak_one_core_bytes_per_s: float

    @property
    def bytes_per_s(self) -> float:
        """What the phase achieves."""
        return self.bytes_per_step / float(self.phase_s.mean()) if self.phase_s.mean() > 0 else float("nan")


def memory_facts(recording: Recording, steps: RunSteps) -> tuple[MemoryFacts, ...]:
    """Look at all phases whose marks carry bytes, exchanges between ranks left out: those move over a network."""
    events = recording.events
    exchanges = phases_by_role(steps.phases).get("exchange", [])
    host = recording.about.get("host", {})
    table = steps.settled
    found = []
    for phase in steps.phases:
        if phase in exchanges:
            continue
        numbers = [number for number, text in enumerate(events.strings) if column_name(text) == phase]
        rows = (events.kind == Kind.REGION) & np.isin(events.name, numbers) & (events.size_bytes > 0)
        if not rows.any():
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
            )
        )
    return tuple(found)
