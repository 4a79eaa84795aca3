"""A recording for Perfetto: events read back, threads named, every reading a counter event of the published format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from page_recordings import EVIL, everything

from mlperf.traces.readers.registry import read_trace
from mlperf.traces.whole_run.chrome_file import counter_lines, write_recording_chrome


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_events_are_read_back(name: str, tmp_path: Path) -> None:
    recording = everything()
    write_recording_chrome(recording, tmp_path / name)
    again = read_trace(tmp_path / name)
    for column in ("start_ns", "duration_ns", "weight_ns", "size_bytes", "rank", "tid", "kind", "match"):
        np.testing.assert_array_equal(getattr(again, column), getattr(recording.events, column))
    assert again.text(again.site) == recording.events.text(recording.events.site)


def test_threads_and_processes_are_named(tmp_path: Path) -> None:
    write_recording_chrome(everything(), tmp_path / "run.json")
    document = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    named = {(event["name"], event["args"].get("name")) for event in document["traceEvents"] if event["ph"] == "M"}
    assert ("thread_name", f"Main {EVIL}") in named
    assert ("process_name", "rank 0, python train.py 10") in named
    assert ("process_name", "series") in named


def test_each_reading_is_a_counter_event() -> None:
    """Trace Event Format: phase C, numbers in args, microseconds."""
    counters = everything().counters
    told = [event for event in map(json.loads, counter_lines(counters)) if event["ph"] == "C"]
    assert len(told) == len(counters)
    users = [event for event in told if event["name"] == "cpu.user"]
    assert [event["ts"] for event in users] == [100_000.0 * number for number in range(1, 13)]
    assert {event["args"]["cores"] for event in users} == {1.5}
    assert {event["name"] for event in told} == {"cpu.user", "cpu.system", "net.received <b>eth0</b>"}
