"""The moments that a page shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mlperf.report.recordings.page.parts import PageParts
from mlperf.traces.events.counters import Series, counter_table
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.whole_run.recording import Recording


def test_the_span_holds_what_was_recorded_before_and_after_the_command() -> None:
    events = event_table(2, start_ns=np.array([-50, 90]), duration_ns=np.array([10, 30]), kind=np.full(2, Kind.REGION))
    counters = counter_table([(Series("a", "cores"), [-70, 10], [1.0, 2.0])])
    assert PageParts(Recording(Path("a"), {}, events, counters, 0, 100)).span_ns == (-70, 120)


def test_a_recording_of_nothing_has_a_span() -> None:
    assert PageParts(Recording(Path("a"), {}, event_table(0), counter_table([]), 5, 5)).span_ns == (5, 6)


def test_a_sample_stands_for_the_time_before_it() -> None:
    events = event_table(1, start_ns=np.array([10]), weight_ns=np.array([30]), kind=np.full(1, Kind.SAMPLE))
    assert PageParts(Recording(Path("a"), {}, events, counter_table([]), 0, 5)).span_ns == (-20, 10)
