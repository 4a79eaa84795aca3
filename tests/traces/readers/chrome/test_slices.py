"""Intervals, marks, and what is wrong with others."""

from __future__ import annotations

import json

from mlperf.traces.events.kinds import Flag
from mlperf.traces.readers.chrome.fields import find_fields
from mlperf.traces.readers.chrome.raw import RawEvents
from mlperf.traces.readers.chrome.slices import Slices, slices_of


def found(events: list[dict[str, object]]) -> Slices:
    raw = RawEvents()
    raw.take(find_fields((", ".join(json.dumps(event) for event in events) + "]").encode()))
    return slices_of(raw)


def test_halves_are_joined_and_marks_take_no_time() -> None:
    slices = found(
        [
            {"ph": "B", "ts": 1, "pid": 0, "tid": 0},
            {"ph": "B", "ts": 2, "pid": 0, "tid": 0},
            {"ph": "X", "ts": 0, "dur": 9},
            {"ph": "E", "ts": 5, "pid": 0, "tid": 0},
            {"ph": "i", "ts": 6},
            {"ph": "E", "ts": 8, "pid": 0, "tid": 0},
            {"ph": "M", "name": "process_name"},
            {"ph": "s", "ts": 1, "id": 1},
        ]
    )
    assert slices.event.tolist() == [0, 1, 2, 4]
    assert slices.duration_ns.tolist() == [7000, 3000, 9000, 0]
    assert slices.is_mark.tolist() == [False, False, False, True]
    assert slices.names.tolist() == [6]
    assert slices.arrows.tolist() == [7]
    assert slices.notes == ()


def test_everything_odd_is_counted() -> None:
    slices = found(
        [
            {"ph": "B", "ts": 1},
            {"ph": "E", "ts": 5, "pid": 3},
            {"ph": "X", "ts": 2},
            {"ph": "X", "ts": 2, "dur": -4},
            {"ph": "X"},
            {"ph": "Q", "ts": 3},
        ]
    )
    assert slices.flags.tolist() == [Flag.TRUNCATED, Flag.ASSUMED_TIME, Flag.REPAIRED]
    text = " ".join(slices.notes)
    for words in (
        "1 beginning without an end",
        "1 end without a beginning",
        "1 complete event has no duration",
        "1 duration below 0",
        "1 event without a time",
        "phases that are not read" if "2 events are" in text else "of a phase that is not read (Q)",
    ):
        assert words in text
