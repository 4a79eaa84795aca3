"""A few numbers of a recording, counted by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isnan

import pytest
from made_recordings import MS, Made

from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.recorded import recorded_run, sources_frame

ABOUT = {
    "command": ["python", "train.py"],
    "command_exit_code": 3,
    "interrupted": True,
    "user_s": 1.5,
    "system_s": 0.5,
    "sources": [{"source": "marks", "status": "ok", "reason": "", "hint": "", "cpu_s": 0.25, "size_bytes": 10}],
}


def test_what_is_counted(made: Callable[[], Made]) -> None:
    maker = made()
    end = maker.marks(0, {"load": 100 * MS})
    maker.samples(0, end, "f")
    maker.add(Kind.REGION, 0, MS, "gc", rank=0, pid=10, tid=1, name2="python")
    found = recorded_run(replace(maker.recording(), about=ABOUT))
    assert (found.command, found.command_exit_code, found.interrupted) == ("python train.py", 3, True)
    assert (found.n_events, found.n_marks, found.n_readings) == (23, 2, 0)
    assert found.cpu_s == 2.0
    assert found.sampled_cpu_s == pytest.approx(0.1)
    assert found.wall_s == pytest.approx(0.1)
    assert found.recorder_cpu_s == 0.25


def test_without_samples_their_time_is_not_known(made: Callable[[], Made]) -> None:
    maker = made()
    maker.marks(0, {"load": MS})
    assert isnan(recorded_run(maker.recording()).sampled_cpu_s)
    assert sources_frame({}).empty
