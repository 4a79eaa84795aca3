"""How the contents and faults of a trace are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mlperf.report.text.answer import Answer, count_text, plain_time
from mlperf.report.text.views import Section

if TYPE_CHECKING:
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
    holds = f"{count_text(found.n_events, 'event')} of {count_text(found.n_ranks, 'rank')} in {plain_time(found.span_s)}"
    return Answer(found.source, f"{holds}; {count_text(found.n_messages, 'message')} matched; {', '.join(told) or 'nothing wrong'}")


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
