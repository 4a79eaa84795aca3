"""Traces as JAX and TensorFlow write them: devices are processes, streams and summaries of them threads (XLA's profiler)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from profiles import write

from mlperf.traces.events.kinds import HOST, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.chrome.reader import read_chrome
from mlperf.traces.timeline.decomposition import decompose
from mlperf.traces.timeline.windows import marked_steps

Event = dict[str, Any]


def named(pid: int, process: str, threads: dict[int, str]) -> list[Event]:
    """What a process and its threads are called."""
    first: Event = {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": process}}
    return [first, *({"ph": "M", "pid": pid, "tid": t, "name": "thread_name", "args": {"name": n}} for t, n in threads.items())]


def ran(pid: int, tid: int, start_us: float, length_us: float, name: str) -> Event:
    """A complete event; this profiler gives no categories."""
    return {"ph": "X", "pid": pid, "tid": tid, "ts": start_us, "dur": length_us, "name": name}


def gpu_trace() -> list[Event]:
    """Three steps of 100 us: a copy of 5, a product of 40, an exchange of 20 of which 10 are hidden, on device 1."""
    threads = {1: "Stream #13(Compute)", 2: "Stream #14(MemcpyH2D)", 3: "XLA Modules", 4: "XLA Ops", 5: "Steps", 6: "Stream #15"}
    events = named(2, "/device:GPU:1", threads) + named(701, "/host:CPU", {9: "python"})
    for step in range(3):
        at = 1000.0 + 110 * step
        events += [
            ran(2, 2, at, 5, "MemcpyH2D"),
            ran(2, 1, at + 10, 40, "loop_add_fusion"),
            ran(2, 6, at + 40, 20, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"),
            ran(2, 3, at + 10, 50, "jit_train_step(1)"),
            ran(2, 4, at + 10, 40, "add.1"),
            ran(2, 5, at, 100, str(step + 7)),
            ran(701, 9, at, 90, "train"),
        ]
    return events


def names_of(table: EventTable, kind: Kind) -> set[str]:
    """Names of a kind's events."""
    return set(table.text(np.unique(table.name[table.kind == kind])))


def test_streams_tell_what_a_device_did_and_summaries_do_not(tmp_path: Path) -> None:
    table = read_chrome(write(tmp_path / "host.trace.json", gpu_trace()))
    assert names_of(table, Kind.KERNEL) == {"loop_add_fusion"}
    assert names_of(table, Kind.MEMCPY) == {"MemcpyH2D"}
    assert len(names_of(table, Kind.COLL)) == 1
    made = table.kind != Kind.REGION
    assert set(table.device[made].tolist()) == {1}
    assert set(table.stream[made].tolist()) == {13, 14, 15}
    assert set(table.peer[table.kind == Kind.MEMCPY].tolist()) == {HOST}
    assert table.device[table.name == table.strings.index("train")].tolist() == [-1] * 3
    assert table.device[table.name == table.strings.index("add.1")].tolist() == [1] * 3


def test_steps_are_those_of_the_device_and_their_parts_add_up(tmp_path: Path) -> None:
    table = read_chrome(write(tmp_path / "host.trace.json", gpu_trace()))
    windows = marked_steps(table, 0)
    assert windows is not None
    assert windows.number.tolist() == [7, 8, 9]
    found = decompose(table, [windows]).steps
    parts = {"step_s": 100, "gpu_kernel_s": 40, "gpu_exposed_collective_s": 10, "gpu_exposed_copy_s": 5, "cpu_s": 45}
    for name, us in parts.items():
        np.testing.assert_allclose(found[name], us * 1e-6, rtol=1e-9)
    np.testing.assert_allclose(found["h2d_s"], 5e-6)


def test_devices_without_streams_tell_it_among_their_operations(tmp_path: Path) -> None:
    events = named(3, "/device:TPU:0", {1: "Steps", 2: "XLA Modules", 3: "XLA Ops", 4: "Async XLA Ops", 5: "TensorFlow Ops"})
    events += [
        ran(3, 3, 0, 5, "fusion.1"),
        ran(3, 3, 5, 5, "all-reduce.2"),
        ran(3, 4, 0, 9, "copy-start.3"),
        ran(3, 5, 0, 5, "mul"),
    ]
    table = read_chrome(write(tmp_path / "host.trace.json", events))
    for kind, name in ((Kind.KERNEL, "fusion.1"), (Kind.COLL, "all-reduce.2"), (Kind.MEMCPY, "copy-start.3"), (Kind.REGION, "mul")):
        assert names_of(table, kind) == {name}


@pytest.mark.parametrize("process", ["/host:CPU", "/device:CPU:0", "python", "Device /gpu"])
def test_other_processes_stay_what_they_are(tmp_path: Path, process: str) -> None:
    table = read_chrome(write(tmp_path / "a.json", [*named(2, process, {1: "Stream #1", 2: "XLA Ops"}), ran(2, 1, 0, 5, "gemm")]))
    assert (table.kind.tolist(), table.device.tolist()) == ([Kind.REGION], [-1])


def test_what_jax_writes_once_more_for_perfetto_is_read_once(tmp_path: Path) -> None:
    for name in ("vm.trace.json", "perfetto_trace.json.gz"):
        write(tmp_path / name, gpu_trace())
    assert len(read_chrome(tmp_path)) == 21
