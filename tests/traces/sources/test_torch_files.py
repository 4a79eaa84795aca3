"""A profiler's file in the recording's folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from mlperf.traces.events.kinds import Kind
from mlperf.traces.recording.torch_traces import VARIABLE
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


def shifted(by_us: int, **members: object) -> str:
    events = [{**event, "ts": event["ts"] + by_us} for event in TRACE["traceEvents"]]
    return json.dumps({**TRACE, "traceEvents": events, **members})


def test_processes_that_tell_no_rank_are_numbered_and_their_parts_kept_together(tmp_path: Path) -> None:
    """A launcher's processes that never join a group, one of which profiles two parts of its run."""
    (tmp_path / "trace-11.json").write_text(shifted(0))
    (tmp_path / "trace-11-2.json").write_text(shifted(100))
    (tmp_path / "trace-12.json").write_text(shifted(200))
    # Packed by hand, and the file left beside it.
    (tmp_path / "trace-12.json.gz").write_bytes(gzip.compress(shifted(200).encode()))
    found = TorchFiles().read(tmp_path).events
    assert found is not None
    kernels = found.take(found.kind == Kind.KERNEL)
    assert sorted(zip(kernels.rank.tolist(), kernels.start_ns.tolist(), strict=True)) == [(0, 9000), (0, 109000), (1, 209000)]
    assert "2 of 2 processes tell no rank: they are numbered in the order of their files" in found.notes


def test_ranks_that_are_told_are_kept_and_may_come_twice(tmp_path: Path) -> None:
    """Two trainings of one command, one after the other, are rank 0 each; a third process tells nothing."""
    for pid, about in ((21, {"distributedInfo": {"rank": 0}}), (22, {"distributedInfo": {"rank": 0}}), (23, {})):
        (tmp_path / f"trace-{pid}.json").write_text(shifted(100 * pid, **about))
    found = TorchFiles().read(tmp_path).events
    assert found is not None
    kernels = found.take(found.kind == Kind.KERNEL)
    assert sorted(kernels.rank.tolist()) == [0, 0, 1]
