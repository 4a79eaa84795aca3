"""wprof's JSON: records written after its schema (version 3.1) and its emitter; no wprof runs here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, Flag, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.registry import format_of
from mlperf.traces.readers.system.wprof import read_wprof

HEADER = {"version": "3.1", "dur": 1.0, "timer_freq_hz": 1000, "stacks": ["timer", "offcpu"], "stack_cnt": 2, "pmus": []}
STACKS = [
    {"id": 17, "frames": ["[U] main+0x1a", "[Py] load", "[U] decode+0x35"], "srcs": ["main.c:42", "load.py:7", "src/decode.c:118"]},
    {"id": 42, "frames": ["[U] main+0x1a", "[K] do_syscall_64+0x6b", "[K] schedule+0x8e"]},
]
WORKER = {"tid": 1234, "pid": 1000, "comm": "worker"}
TRAINER = {"tid": 5678, "pid": 5000, "comm": "trainer"}
IDLE = {"pid": 0, "comm": "swapper/3"}


def read(folder: Path, *events: dict[str, Any], header: dict[str, Any] | None = None) -> EventTable:
    path = folder / "run.wprof"
    lines = [header or HEADER, *STACKS, *events]
    path.write_text("\n".join(json.dumps(each) for each in lines) + "\n")
    return read_wprof(path)


def event(what: str, at: float, /, **values: Any) -> dict[str, Any]:
    return {"ts": at, "t": what, "task": TRAINER, "cpu": 3, **values}


def test_timer_samples_stand_for_the_timers_period(tmp_path: Path) -> None:
    found = read(tmp_path, event("timer", 0.010012345, stack_id=17), event("timer", 0.02, task=IDLE), event("timer", 0.03))
    assert found.kind.tolist() == [Kind.SAMPLE] * 2
    assert found.start_ns.tolist() == [10_012_345, 30_000_000]
    assert found.weight_ns.tolist() == [1_000_000] * 2
    assert found.text(found.name) == ["decode", "[trainer]"]
    assert found.text(found.name2) == ["src/decode.c", ""]
    assert found.text(found.site) == ["main;load;decode", ""]
    assert found.tag.tolist() == [0x35, -1]
    assert (found.pid[0], found.tid[0], found.cpu[0]) == (5000, 5678, 3)
    assert found.attributes["threads"] == {"5000/5678": "trainer"}


def test_without_a_timer_slices_are_the_samples(tmp_path: Path) -> None:
    """The first slice began before the session: nobody knows when."""
    switches = [
        {"ts": 0.1, "t": "switch", "cpu": 0, "prev": WORKER, "next": TRAINER},
        {"ts": 0.4, "t": "switch", "cpu": 0, "prev": TRAINER, "next": IDLE},
        {"ts": 0.5, "t": "switch", "cpu": 0, "prev": IDLE, "next": WORKER},
        {"ts": 0.7, "t": "switch", "cpu": 0, "prev": WORKER, "next": IDLE},
    ]
    found = read(tmp_path, *switches, header={**HEADER, "timer_freq_hz": 0})
    assert found.text(found.name) == ["[trainer]", "[worker]"]
    assert found.start_ns.tolist() == [100_000_000, 500_000_000]
    assert found.weight_ns.tolist() == [300_000_000, 200_000_000]
    assert len(read(tmp_path, *switches)) == 0


def test_a_thread_that_comes_back_had_waited(tmp_path: Path) -> None:
    switch = {"ts": 0.5, "t": "switch", "cpu": 3, "prev": WORKER, "next": TRAINER, "offcpu_dur": 0.005, "offcpu_stack_id": 42}
    found = read(tmp_path, {**switch, "next_state": "interruptible_sleep"}, {**switch, "ts": 0.6, "offcpu_stack_id": 99})
    assert found.kind.tolist() == [Kind.STACK] * 2
    assert found.start_ns.tolist() == [495_000_000, 595_000_000]
    assert found.weight_ns.tolist() == [5_000_000] * 2
    assert found.flags.tolist() == [Flag.WAITING] * 2
    assert found.text(found.name) == ["schedule", "waiting"]
    assert found.text(found.name2) == ["[kernel]", ""]
    assert found.tid.tolist() == [5678] * 2


def test_interrupts_end_and_cuda_begins_at_its_time(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        event("hardirq", 0.000234175, dur=0.000011568, start_ts=0.000222607, irq=193, action="nvme1q30"),
        event("softirq", 0.000297060, dur=0.000000411, action="rcu"),
        event("cuda_api", 0.0005, dur=0.00005, name="cudaLaunchKernel", corr_id=500),
        event("cuda_kernel", 0.00055, dur=0.002, name="sgemm", device_id=0, stream_id=7, corr_id=500),
        event("cuda_kernel", 0.003, dur=0.001, name="ncclDevKernel_AllReduce", device_id=1, stream_id=9, corr_id=501),
        event("cuda_memcpy", 0.005, dur=0.0005, byte_cnt=4194304, kind="HtoD", device_id=0, dst_device_id=0, stream_id=7),
        event("cuda_memcpy", 0.006, dur=0.0005, byte_cnt=8, kind="PtoP", device_id=0, dst_device_id=1, stream_id=7, corr_id=6),
        event("cuda_memset", 0.007, dur=0.00001, byte_cnt=64, kind="device", device_id=0, stream_id=7, corr_id=7),
    )
    assert found.start_ns.tolist()[:4] == [222_607, 296_649, 500_000, 550_000]
    assert found.duration_ns.tolist()[:4] == [11_568, 411, 50_000, 2_000_000]
    kinds = [Kind.SYSCALL, Kind.SYSCALL, Kind.API, Kind.KERNEL, Kind.COLL, Kind.MEMCPY, Kind.MEMCPY, Kind.MEMSET]
    assert found.kind.tolist() == kinds
    assert found.text(found.name)[:2] == ["interrupt nvme1q30", "soft interrupt rcu"]
    assert found.corr.tolist()[2:4] == [500, 500]
    assert found.size_bytes.tolist()[-3:] == [4194304, 8, 64]
    assert found.peer.tolist()[-3:-1] == [HOST, 1]
    assert found.device.tolist()[3:5] == [0, 1]


def test_spans_of_probes_and_operators(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        event("utrace_entry", 0.1, utrace_id="0", name="step"),
        event("pytorch_entry", 0.11, name="aten::linear"),
        event("pytorch_entry", 0.12, name="aten::mm"),
        event("pytorch_exit", 0.13, name="aten::mm"),
        event("pytorch_exit", 0.14, name="aten::linear"),
        event("utrace_exit", 0.2, utrace_id="0", name="step"),
        event("pytorch_exit", 0.21, name="aten::mm"),
        event("utrace_entry", 0.3, utrace_id="0", name="step"),
    )
    assert found.text(found.name) == ["step", "aten::linear", "aten::mm"]
    assert found.kind.tolist() == [Kind.REGION, Kind.API, Kind.API]
    assert found.duration_ns.tolist() == [100_000_000, 30_000_000, 10_000_000]
    assert found.notes == ("records without a row: 1 pytorch_exit without an entry, 1 utrace_entry without an exit",)


def test_samples_of_counters_are_time_only_where_they_count_a_clock(tmp_path: Path) -> None:
    clock = event("pmu_event", 0.1, pmu="cpu-clock", sample_period=2_000_000, stack_id=17)
    cycles = event("pmu_event", 0.2, pmu="cpu-cycles", sample_period=1_000_000)
    found = read(tmp_path, clock, cycles, header={**HEADER, "timer_freq_hz": 0})
    assert found.weight_ns.tolist() == [2_000_000]
    assert found.notes == ("records without a row: 1 pmu_event of cpu-cycles",)
    assert len(read(tmp_path, clock)) == 0


def test_what_has_no_row_is_counted(tmp_path: Path) -> None:
    queues = [event("scx_dsq", at, dur=0.1) for at in (0.1, 0.4)]
    found = read(tmp_path, *queues, event("task_free", 0.2), event("exec", 0.3, filename="/usr/bin/env"))
    assert found.text(found.name) == ["exec /usr/bin/env"]
    assert found.notes == ("records without a row: 2 scx_dsq, 1 task_free",)


def test_what_began_before_the_session_is_first(tmp_path: Path) -> None:
    found = read(tmp_path, event("softirq", 0.001, dur=0.002, action="rcu"), event("timer", 0.002))
    assert found.start_ns.tolist() == [0, 3_000_000]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["x"], "line 1.*is not JSON"),
        ([{"t": "timer"}], "line 1, key version"),
        ([{**HEADER, "version": "2.0"}], "expected 3.x"),
        ([HEADER, {"id": 1}, STACKS[1]], "line 2, key frames"),
        ([HEADER, *STACKS, event("timer", "soon")], "line 4, key ts"),
        ([HEADER, *STACKS, {"ts": 0.1, "t": "timer", "cpu": 0}], "line 4, key task"),
        ([HEADER, *STACKS, event("hardirq", 0.1, action="x")], "line 4, key dur"),
    ],
)
def test_what_is_none_of_it_is_refused(tmp_path: Path, lines: list[Any], told: str) -> None:
    (tmp_path / "run.wprof").write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines))
    with pytest.raises(DataError, match=told):
        read_wprof(tmp_path / "run.wprof")


def test_it_is_known_by_its_name() -> None:
    assert [format_of(Path(name)) for name in ("a.wprof", "a.wprof.json", "a.ndjson")] == ["wprof"] * 3
    assert format_of(Path("a.json")) == "chrome"
