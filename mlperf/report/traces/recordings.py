"""How a recording and a measured network are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from mlperf.report.text.answer import Answer, count_text
from mlperf.report.text.numbers import number_text, percent_text
from mlperf.report.text.views import Section

if TYPE_CHECKING:
    from mlperf.collect.loggps.summary import MeasuredNetwork
    from mlperf.traces.recording.recorded import Recorded

MOST_CALLS = 20


def recording_sections(found: Recorded) -> tuple[Section, ...]:
    """What was recorded, and what it cost."""
    sections = []
    if len(found.calls):
        sections.append(Section("Calls of the first run, sums over the ranks", found.calls.head(MOST_CALLS)))
    if len(found.regions):
        sections.append(Section("Regions: of the run, and of the recording", found.regions))
    rows = [
        ("ranks", f"{found.n_ranks:,}"),
        ("events", f"{found.n_events:,}"),
        ("bytes", f"{found.n_bytes:,}"),
        ("bytes per event", "" if math.isnan(found.bytes_per_event) else number_text(found.bytes_per_event, 4)),
        ("recorder's share of the ranks' time", "" if math.isnan(found.own_share) else percent_text(found.own_share)),
        ("selected", found.selected or "everything"),
        ("scale to the run", number_text(found.scale, 4)),
        ("exit code", str(found.command_exit_code)),
    ]
    return (*sections, Section(f"Recording {found.folder}", pd.DataFrame(rows, columns=["what", "value"])))


def recording_answer(found: Recorded) -> Answer:
    """Events, ranks and the command's end."""
    kept = f"{count_text(found.n_events, 'event')} of {count_text(found.n_ranks, 'rank')} in {found.folder}"
    return Answer(f"{' '.join(found.command)} (exit code {found.command_exit_code})", kept)


def network_sections(found: MeasuredNetwork) -> tuple[Section, ...]:
    """Parameters, then the times that they are made of."""
    title = f"LogGPS parameters over {found.transport}, in {found.path}"
    return (Section(title, found.parameters), Section("Smallest times by size", found.times))
