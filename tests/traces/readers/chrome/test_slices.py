"""Which events are intervals, and what is said of the others."""

from __future__ import annotations

import json
from typing import Any

from mlperf.traces.events.kinds import Flag
from mlperf.traces.readers.chrome.fields import find_fields
from mlperf.traces.readers.chrome.raw import RawEvents
from mlperf.traces.readers.chrome.slices import Slices, slices_of


def of(*events: dict[str, Any]) -> Slices:
    raw = RawEvents()
    raw.take(find_fields(json.dumps(events)[1:].encode()))
    return slices_of(raw)


def test_halves_become_intervals() -> None:
    place = {"pid": 1, "tid": 2}
    found = of(
        {"ph": "B", "name": "a", "ts": 1, **place},
        {"ph": "B", "name": "b", "ts": 2, **place},
        {"ph": "E", "ts": 3.5, **place},
        {"ph": "E", "ts": 4, **place},
    )
    assert (found.start_ns.tolist(), found.duration_ns.tolist(), found.notes) == ([1000, 2000], [3000, 1500], ())


def test_a_beginning_without_an_end_lasts_to_the_end() -> None:
    found = of(
        {"ph": "B", "ts": 1, "pid": 1, "tid": 1},
        {"ph": "B", "ts": 9, "pid": 1, "tid": 2},
        {"ph": "E", "ts": 11, "pid": 1, "tid": 2},
    )
    assert found.duration_ns.tolist() == [10_000, 2000]
    assert found.flags.tolist() == [Flag.TRUNCATED, 0]
    assert found.notes == ("1 beginning without an end lasts to the end of the file",)


def test_nothing_odd_passes_in_silence() -> None:
    found = of(
        {"ph": "E", "ts": 1},
        {"ph": "X", "ts": 1},
        {"ph": "X", "ts": 1, "dur": -2},
        {"ph": "X", "dur": 2},
        {"ph": "C", "ts": 1},
        {"ph": "i", "ts": 5},
        {"ph": "M"},
        {"ph": "s", "ts": 1},
        {},
    )
    assert found.event.tolist() == [1, 2, 5]
    assert found.duration_ns.tolist() == [0, 0, 0]
    assert found.flags.tolist() == [Flag.ASSUMED_TIME, Flag.REPAIRED, 0]
    assert found.is_mark.tolist() == [False, False, True]
    assert found.notes == (
        "1 end without a beginning is left out",
        "1 complete event has no duration and gets 0",
        "1 duration below 0 or beyond all clocks is set to 0",
        "1 event without a time is left out",
        "2 events are of phases that are not read (none, C)",
    )
