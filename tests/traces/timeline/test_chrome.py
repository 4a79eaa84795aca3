"""The trace by the rules of its format: complete events with microseconds, names for every process and thread."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mlperf.planning import recorded_threads
from mlperf.traces.timeline import ThreadTimeline
from mlperf.traces.timeline.chrome import chrome_text
from mlperf.traces.timeline.lanes import LOCK_WAITS

pytestmark = pytest.mark.slow


@pytest.fixture
def timeline(run_folder: Callable[..., Path]) -> ThreadTimeline:
    return recorded_threads(run_folder())


@pytest.fixture
def trace(timeline: ThreadTimeline) -> Any:
    return json.loads(chrome_text(timeline))


def complete(trace: Any) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def test_there_is_a_complete_event_for_every_interval(timeline: ThreadTimeline, trace: Any) -> None:
    events = complete(trace)
    assert len(events) == len(timeline.intervals)
    assert sum(event["dur"] for event in events) == pytest.approx(
        1e6 * (timeline.intervals["end_s"] - timeline.intervals["begin_s"]).sum(), abs=1e-3 * len(events)
    )
    for event in events:
        assert {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} <= set(event)
        assert event["dur"] >= 0
        assert event["ts"] >= 0


def test_events_of_a_thread_do_not_overlap(trace: Any) -> None:
    threads = defaultdict(list)
    for event in complete(trace):
        threads[(event["pid"], event["tid"])].append((event["ts"], event["ts"] + event["dur"]))
    assert len(threads) == 8
    for events in threads.values():
        events.sort()
        assert all(begin >= end - 1e-6 for (_, end), (begin, _) in pairwise(events))


def test_every_process_and_thread_has_a_name(trace: Any) -> None:
    named = {(e["name"], e["pid"], e["tid"]): e["args"] for e in trace["traceEvents"] if e["ph"] == "M"}
    for event in complete(trace):
        expected = "update" if event["tid"] == 0 else f"GPU {event['tid'] - 1}"
        assert named[("thread_name", event["pid"], event["tid"])] == {"name": expected}
        assert named[("process_name", event["pid"], 0)] == {"name": f"node {event['pid']}"}


def test_lock_waits_can_be_told_from_work(timeline: ThreadTimeline, trace: Any) -> None:
    waits = [event for event in complete(trace) if event["cat"] == "lock wait"]
    assert len(waits) == timeline.intervals["activity"].isin(LOCK_WAITS).sum() > 0
    assert {event["cat"] for event in complete(trace)} == {"lock wait", "barrier", "work"}
