"""Lines of a made run: each event on the line of its thread and kind, samples drawn over the time before them."""

from __future__ import annotations

from collections import Counter

import numpy as np
from page_recordings import STEP_NS, everything

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import event_table
from mlperf.traces.timeline.event_lanes import event_lanes


def test_every_event_stands_on_one_line_of_its_kind() -> None:
    events = everything().events
    found = event_lanes(events)
    assert sorted(found.rows.tolist()) == list(range(len(events)))
    for number, lane in enumerate(found.lanes):
        rows = found.rows[found.first[number] : found.first[number + 1]]
        assert len(set(events.kind[rows].tolist()) - {int(Kind.RECV), int(Kind.SEND)}) <= 1
        assert set(events.rank[rows].tolist()) == {lane.rank}
        assert (np.diff(events.start_ns[rows]) >= 0).all()
    groups = Counter(lane.group for lane in found.lanes)
    assert groups == {
        "marks": 2, "Python stacks": 2, "processor samples": 2, "messages": 2, "device work": 2, "system calls": 2, "packets": 1
    }  # fmt: skip


def test_threads_and_streams_are_named() -> None:
    lanes = event_lanes(everything().events).lanes
    labels = {lane.label for lane in lanes if lane.pid == 10}
    assert all(label.startswith("Main <script>") and label.endswith("(1)") for label in labels)
    assert [lane.label for lane in lanes if lane.group == "device work"] == ["device 0, stream 7", "device 1, stream 7"]


def test_a_sample_is_drawn_over_the_time_before_it_and_never_over_another() -> None:
    times = np.array([10, 20, 23, 60])
    events = event_table(4, start_ns=times, weight_ns=np.full(4, 10), kind=np.full(4, Kind.SAMPLE), pid=np.ones(4), tid=np.ones(4))
    found = event_lanes(events)
    assert found.start_ns.tolist() == [0, 10, 20, 50]
    assert found.end_ns.tolist() == times.tolist()


def test_samples_of_a_busy_thread_cover_its_time() -> None:
    events = everything(3).events
    found = event_lanes(events)
    number = next(number for number, lane in enumerate(found.lanes) if lane.group == "processor samples")
    part = slice(found.first[number], found.first[number + 1])
    assert (found.end_ns[part] - found.start_ns[part]).sum() == 3 * STEP_NS


def test_rows_out_of_order_and_no_rows() -> None:
    events = event_table(3, start_ns=np.array([30, 10, 20]), kind=np.full(3, Kind.SYSCALL), tid=np.array([1, 1, 1]))
    assert event_lanes(events).rows.tolist() == [1, 2, 0]
    assert event_lanes(event_table(0)).lanes == ()
