"""Two profilers of one run: three parts of it in one of them, everything in the other."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.whole_run.profiled_twice import told_once
from mlperf.traces.whole_run.read import read_recording
from mlperf.traces.whole_run.request import DOCUMENT

SECOND = 1_000_000_000
BEGAN = 1_700_000_000 * SECOND


def rows(*each: tuple[Kind, int, int, int, int]) -> EventTable:
    """Rows of kind, begin, duration, process and device."""
    kind, start, duration, pid, device = np.array(each, dtype=np.int64).T
    return event_table(
        len(each), kind=kind.astype(np.uint8), start_ns=start, duration_ns=duration, pid=pid, device=device, sources=("one",)
    )


TORCH = rows((Kind.API, 100, 5, 7, -1), (Kind.KERNEL, 110, 40, 0, 0), (Kind.MEMCPY, 180, 20, 0, 0), (Kind.REGION, 0, 900, 7, -1))


def test_a_profiled_part_is_told_by_the_framework_and_the_rest_by_nsight() -> None:
    inside = ((Kind.API, 101, 5, 7, -1), (Kind.KERNEL, 111, 40, 7, 0), (Kind.MEMCPY, 179, 20, 7, 0), (Kind.KERNEL, 111, 9, -1, 0))
    kept = (
        (Kind.KERNEL, 20, 40, 7, 0),
        (Kind.KERNEL, 300, 40, 7, 0),
        # Another process, another device, a range of the program.
        (Kind.KERNEL, 111, 40, 8, 0),
        (Kind.KERNEL, 111, 40, -1, 1),
        (Kind.REGION, 110, 40, 7, -1),
    )
    found = told_once(rows(*kept[:2], *inside, *kept[2:]), TORCH)
    assert found.start_ns.tolist() == [each[1] for each in kept]
    assert found.pid.tolist() == [each[3] for each in kept]
    assert found.notes == ("4 activities and calls are in PyTorch's profile and in Nsight's: they are told once, by PyTorch's",)


def test_a_profile_without_a_device_replaces_nothing() -> None:
    seen = rows((Kind.API, 101, 5, 7, -1), (Kind.KERNEL, 111, 40, 7, 0))
    assert told_once(seen, TORCH.take(TORCH.kind != Kind.KERNEL).take(np.array([0, 2]))) is seen


def test_a_recording_of_both_holds_each_kernel_once_and_on_one_clock(tmp_path: Path) -> None:
    clock = {"before_ns": 4 * SECOND, "realtime_ns": BEGAN + 4 * SECOND, "after_ns": 4 * SECOND}
    document = {"format": "mlperf-recording", "version": 1, "command": ["train"], "start_ns": 5 * SECOND, "end_ns": 9 * SECOND}
    (tmp_path / DOCUMENT).write_text(json.dumps({**document, "clocks": [clock]}))
    (tmp_path / "torch").mkdir()
    (tmp_path / "nsys").mkdir()

    def event(name: str, category: str, second: float, pid: int, **more: object) -> dict[str, object]:
        args = {"correlation": 3, **more}
        return {"ph": "X", "cat": category, "name": name, "ts": second * 1e6, "dur": 1000, "pid": pid, "tid": 7, "args": args}

    launch, kernel = event("cudaLaunchKernel", "cuda_runtime", 7.0, 77), event("gemm", "kernel", 7.001, 0, device=0, stream=7)
    profile = {"baseTimeNanoseconds": BEGAN, "distributedInfo": {"rank": 5}, "traceEvents": [launch, kernel]}
    (tmp_path / "torch" / "trace-77.json").write_text(json.dumps(profile))
    with sqlite3.connect(tmp_path / "nsys" / "report.sqlite") as base:
        base.execute("CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER)")
        base.execute("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)", (BEGAN + 6 * SECOND,))
        base.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, globalPid INTEGER)")
        at = (SECOND // 2, SECOND + 1_000_100, 2 * SECOND)
        base.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, ?)", [(ns, ns + 10**6, 77 << 24) for ns in at])
    found = read_recording(tmp_path).events
    kernels = found.take(found.kind == Kind.KERNEL)
    assert kernels.start_ns.tolist() == [3 * SECOND // 2, 2 * SECOND + 1_000_000, 3 * SECOND]
    assert kernels.rank.tolist() == [5, 5, 5]
    assert any("told once" in note for note in found.notes)
