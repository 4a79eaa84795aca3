"""Files of a recording, made by hand, on one clock and without twins."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import concatenate, event_table
from mlperf.traces.whole_run.read import read_recording, without_twins
from mlperf.traces.whole_run.request import DOCUMENT

SECOND = 1_000_000_000


def write(folder: Path, **changes: object) -> Path:
    document = {
        "format": "mlperf-recording",
        "version": 1,
        "command": ["train"],
        "command_exit_code": 0,
        "start_ns": 5 * SECOND,
        "end_ns": 9 * SECOND,
        "user_s": 3.0,
        "system_s": 1.0,
        "host": {},
        "sources": [],
        "clocks": [{"before_ns": 4 * SECOND, "realtime_ns": 1004 * SECOND + 50, "after_ns": 4 * SECOND + 100}],
        **changes,
    }
    (folder / DOCUMENT).write_text(json.dumps(document))
    for name, text in {
        "marks/7.marks": f"# rank 2\n{6 * SECOND}\t{7 * SECOND}\t7\t0\tstep\n",
        "perf/perf.txt": "a 7/8 [000] 6.500000: 1000000000 cpu-clock: 10 f+0x1 (a.so)\n",
        "tree/series.txt": f"D\t0\trun.cpu\tcores\t\nR\t{6 * SECOND}\t0=1\n",
    }.items():
        (folder / name).parent.mkdir()
        (folder / name).write_text(text)
    return folder


def test_all_sources_count_from_the_commands_begin(tmp_path: Path) -> None:
    found = read_recording(write(tmp_path))
    assert found.events.start_ns.tolist() == [SECOND, SECOND + SECOND // 2]
    assert found.events.kind.tolist() == [Kind.REGION, Kind.SAMPLE]
    assert found.counters.time_ns.tolist() == [SECOND]
    assert found.events.origin_ns == found.counters.origin_ns == 1005 * SECOND
    assert (found.start_ns, found.end_ns) == (0, 4 * SECOND)
    assert found.events.attributes["realtime_uncertainty_ns"] == 50


def test_samples_belong_to_the_rank_of_their_process(tmp_path: Path) -> None:
    assert read_recording(write(tmp_path)).events.rank.tolist() == [2, 2]


def test_samples_that_miss_the_processor_time_are_said(tmp_path: Path) -> None:
    assert any("add up to 1 s" in note and "counted 4 s" in note for note in read_recording(write(tmp_path)).events.notes)
    (tmp_path / "other").mkdir()
    exact = read_recording(write(tmp_path / "other", user_s=1.02, system_s=0.0))
    assert not any("add up" in note for note in exact.events.notes)


def test_marks_that_both_recorders_hold_are_kept_once() -> None:
    own = event_table(1, kind=int(Kind.REGION), rank=0, pid=3, strings=("step",), name=0, sources=("marks: 3.marks",))
    twin = event_table(2, kind=np.array([Kind.REGION, Kind.SEND]), rank=0, strings=("step",), name=0, sources=("rank 0",))
    stranger = event_table(1, kind=int(Kind.REGION), rank=1, strings=("step",), name=0, sources=("rank 1",))
    found = without_twins(concatenate([own, twin, stranger]))
    assert found.kind.tolist() == [Kind.REGION, Kind.SEND, Kind.REGION]
    assert found.pid.tolist() == [3, -1, -1]
    assert len(without_twins(twin)) == 2


def test_without_clock_readings_the_time_since_1970_is_not_known(tmp_path: Path) -> None:
    found = read_recording(write(tmp_path, clocks=[]))
    assert found.events.attributes["realtime_uncertainty_ns"] == -1
    assert found.events.origin_ns == pytest.approx(5 * SECOND)


def test_ranks_that_recorded_themselves_are_one_recording(tmp_path: Path) -> None:
    for rank, late in ((0, 0), (1, SECOND)):
        folder = tmp_path / f"rank-{rank}"
        folder.mkdir()
        # The second machine has been up for two seconds more, and its command begins a second later.
        clock = {"before_ns": 4 * SECOND, "realtime_ns": 1004 * SECOND + late, "after_ns": 4 * SECOND}
        write(folder, clocks=[clock])
    found = read_recording(tmp_path)
    assert found.events.rank.tolist() == [0, 0, 1, 1]
    assert found.events.start_ns.tolist() == [SECOND, SECOND + SECOND // 2, 2 * SECOND, 2 * SECOND + SECOND // 2]
    assert found.events.origin_ns == 1005 * SECOND
    assert (found.start_ns, found.end_ns) == (0, 5 * SECOND)
    assert {each.rank for each in found.counters.about} == {0, 1}
    assert found.about["user_s"] == 6.0
    assert set(found.about["ranks"]) == {"0", "1"}


def test_what_the_clock_drifted_is_not_known(tmp_path: Path) -> None:
    first = {"before_ns": 4 * SECOND, "realtime_ns": 1004 * SECOND, "after_ns": 4 * SECOND + 100}
    steered = {"before_ns": 9 * SECOND, "realtime_ns": 1009 * SECOND + 70_000, "after_ns": 9 * SECOND + 100}
    found = read_recording(write(tmp_path, clocks=[first, steered])).events
    assert found.attributes["realtime_uncertainty_ns"] == 70_000 + 50
    assert not any("was set" in note for note in found.notes)


def test_a_clock_that_was_set_is_said(tmp_path: Path) -> None:
    first = {"before_ns": 4 * SECOND, "realtime_ns": 1004 * SECOND, "after_ns": 4 * SECOND + 100}
    last = {"before_ns": 9 * SECOND, "realtime_ns": 1007 * SECOND, "after_ns": 9 * SECOND + 100}
    found = read_recording(write(tmp_path, clocks=[first, last])).events
    assert found.attributes["realtime_uncertainty_ns"] == 2 * SECOND + 50
    assert any("was set by -2e+03 ms during the run" in note for note in found.notes)
