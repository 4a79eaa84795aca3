"""A profiler's file in the recording's folder."""

from __future__ import annotations

import json
from pathlib import Path

from mlperf.traces.events.kinds import Kind
from mlperf.traces.recording.torch_profile import VARIABLE
from mlperf.traces.sources.torch_files import TorchFiles

TRACE = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10, "dur": 5, "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 3},
    ],
}


def test_a_trace_is_read(tmp_path: Path) -> None:
    source = TorchFiles()
    assert source.prepare(tmp_path) == {VARIABLE: str(tmp_path)}
    assert source.read(tmp_path).events is None
    (tmp_path / "trace-1.json").write_text(json.dumps(TRACE))
    found = source.read(tmp_path).events
    assert found is not None
    assert (found.kind == Kind.KERNEL).sum() == 1
    source.follow(1)
    assert source.stop() == 0.0
