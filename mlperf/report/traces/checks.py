"""How the contents and faults of a trace, and its clocks, are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.traces.clocks.report import ClockReport
    from mlperf.traces.events.validation import TraceCheck

SECONDARY = ("first_s", "n_received", "n_sent", "n_events")


def check_answer(found: TraceCheck) -> Answer:
    """What the trace holds, and whether it can be replayed."""
    faults = [
        (found.n_unmatched, "end without a partner", "ends without a partner"),
        (found.n_violations, "message received before it was sent", "messages received before they were sent"),
        (found.n_different_sizes, "message of two sizes", "messages of two sizes"),
    ]
    told = [count_text(number, one, many) for number, one, many in faults if number]
    if not told:
        told = ["nothing wrong" if not found.notes else f"{count_text(len(found.notes), 'note')} below, else nothing wrong"]
    holds = f"{count_text(found.n_events, 'event')} of {count_text(found.n_ranks, 'rank')} in {plain_time(found.span_s)}"
    return Answer(found.source, f"{holds}; {count_text(found.n_messages, 'message')} matched; {', '.join(told)}")


def check_sections(found: TraceCheck) -> tuple[Section, ...]:
    """Ranks and kinds, then everything odd."""
    lines = [f"{note[:1].upper()}{note[1:]}." for note in found.notes]
    if found.n_wildcard:
        what = count_text(found.n_wildcard, "receive")
        lines.append(f"{what} took any source or tag: what-ifs keep the messages that came.")
    if found.n_violations:
        lines.append(f"The worst message is {plain_time(found.worst_violation_s)} early: clocks disagree by at least that.")
    unknown = math.isnan(found.clock_uncertainty_s)
    lines.append(
        "The format tells nothing of the clocks' uncertainty."
        if unknown
        else f"Clocks are known within {plain_time(found.clock_uncertainty_s)}."
    )
    return (
        Section("Ranks", found.ranks, secondary=SECONDARY),
        Section("Kinds of events", found.kinds),
        Section("", text="\n".join(lines)),
    )


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
