"""How clocks of a trace are shown: offsets with bounds, contradictions, what the bounds come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.traces.clocks.report import ClockReport

NS_PER_S = 1e9


def clock_answer(report: ClockReport) -> Answer:
    """How well the clocks are known."""
    asked = f"{count_text(len(report.clocks), 'clock')} against {report.clocks[report.reference]}"
    if report.contradiction:
        return Answer(asked, "they contradict each other, whatever their offsets")
    unbounded = int((~report.is_bounded).sum())
    known = report.uncertainty_ns[report.is_bounded]
    sure = f"offsets known within {plain_time(float(known.max()) / NS_PER_S)}" if len(known) > 1 else "no other offset is bounded"
    alone = f"; {count_text(unbounded, 'clock')} with an offset that is unbounded" if unbounded else ""
    fits = "; the times as recorded are possible" if report.as_recorded_fits else "; the times as recorded are NOT possible"
    return Answer(asked, f"{sure}{alone}{fits}")


def clock_sections(report: ClockReport) -> tuple[Section, ...]:
    """Offsets, then what they come from."""
    counts = [count_text(number, name) for name, number in report.n_constraints.items() if number]
    drift = f"drift up to {report.most_drift_ppm:g} ppm allowed for" if report.most_drift_ppm else "clocks taken to run alike"
    text = f"Bounds from {', '.join(counts) or 'nothing'} between different clocks; {drift}."
    frame = report.to_frame().replace([np.inf, -np.inf], np.nan)
    sections = [] if report.contradiction else [Section("Clocks (offset: to add to a reading)", frame, secondary=("bounded",))]
    return (*sections, Section("", text="\n".join((text, *report.notes))))
