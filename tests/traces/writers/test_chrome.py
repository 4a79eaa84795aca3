"""Chrome trace events: the table comes back exactly, and viewers get what they need."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from profiles import training_job
from same import assert_same

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import COLUMNS, NAMES, EventTable, event_table
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.readers.rank_file import MOST_RANKS
from mlperf.traces.writers.chrome import microseconds, write_chrome
from mlperf.traces.writers.registry import export_trace


def any_table(seed: int) -> EventTable:
    """Every column at random, as any recorder may have filled it."""
    rng = np.random.default_rng(seed)
    n_events = 60
    strings = ("a", 'b "quoted"', "é\n\\", "kernel<float>{lambda(int)#1}")
    columns = {}
    for name, (kind, default) in COLUMNS.items():
        if name in NAMES:
            columns[name] = rng.integers(-1, len(strings), n_events)
        elif name not in ("kind", "source", "match", "start_ns", "duration_ns", "size_bytes"):
            columns[name] = np.where(rng.random(n_events) < 0.3, default, rng.integers(0, np.iinfo(kind).max, n_events, dtype=kind))
    return event_table(
        n_events,
        strings=strings,
        sources=("one", "two"),
        origin_ns=1_700_000_000_123_456_789,
        notes=("something",),
        attributes={"n_ranks": 3, "clock_uncertainty_ns": {0: 1.5, 2: 7.0}},
        start_ns=rng.integers(0, 2**50, n_events),
        duration_ns=rng.integers(0, 2**40, n_events),
        size_bytes=rng.integers(0, 2**40, n_events),
        match=rng.integers(-1, n_events, n_events),
        kind=rng.choice([int(kind) for kind in Kind], n_events),
        **{
            **columns,
            "rank": rng.integers(-1, 3, n_events),
            "peer": rng.integers(-1, MOST_RANKS, n_events),
            "device": rng.integers(-2, 3, n_events),
        },
    )


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
@pytest.mark.parametrize("seed", range(3))
def test_any_table_comes_back(seed: int, name: str, tmp_path: Path) -> None:
    table = any_table(seed)
    write_chrome(table, tmp_path / name)
    assert_same(read_chrome(tmp_path / name), table)


def test_a_recording_and_nothing_at_all_come_back(tmp_path: Path) -> None:
    table = read_chrome(training_job(tmp_path / "job", [[10.0, 30.5]])[0])
    for each in (table, table.take(np.zeros(0, dtype=np.int64))):
        export_trace(each, tmp_path / "a.json")
        assert_same(read_chrome(tmp_path / "a.json"), each)


def test_viewers_get_lanes_times_and_arrows(tmp_path: Path) -> None:
    write_chrome(read_chrome(training_job(tmp_path / "job", [[10.0]])[0]), tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    events = document["traceEvents"]
    names = {each["args"]["name"] for each in events if each["ph"] == "M" and "name" in each["args"]}
    assert names == {"rank 0, process 10", "thread 11", "rank 0, device 0", "stream 7", "stream 20"}
    intervals = [each for each in events if each["ph"] == "X"]
    assert [each["ts"] - intervals[0]["ts"] for each in intervals[:3]] == [0.0, 10.0, 15.0]
    arrows = {phase: [each["id"] for each in events if each["ph"] == phase] for phase in "sf"}
    assert sorted(arrows["s"]) == sorted(arrows["f"])
    assert len(arrows["s"]) == 2
    assert all(isinstance(each["ts"], float) for each in events if each["ph"] == "X")


def test_microseconds_are_exact() -> None:
    assert [microseconds(each) for each in (0, 1, 1_234_567, -5)] == ["0.000", "0.001", "1234.567", "-0.005"]
