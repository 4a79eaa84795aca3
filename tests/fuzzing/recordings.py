"""What recorders of a whole run write: small valid inputs, and what commands do with them."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

PERF = """python 5/5 [001] 10.000100: 5000000 cpu-clock:
\t10 gemm+0x4 (/lib/a.so)
\t20 main+0x1 (/bin/a)

pool 1 5/6 [000] 10.005100: 5000000 cpu-clock:
\t30 [unknown] (/lib/b.so)

"""
COUNTS = "#   PID    TID  cpu-clock\n  5  5  6000000\n  5  6  4000000\n"
STRACE = """5 100.000100 read(3,  <unfinished ...>
6 100.000200 write(4, "a"..., 10) = 7 <0.000050>
5 100.000400 <... read resumed>"x", 4096) = 512 <0.000300>
5 100.000600 --- SIGUSR1 {si_signo=SIGUSR1} ---
5 100.000800 exit_group(0) = ?
"""
WPROF = "\n".join(
    json.dumps(each)
    for each in (
        {"version": "3.1", "dur": 1.0, "timer_freq_hz": 100, "stack_cnt": 1, "pmus": []},
        {"id": 7, "frames": ["[U] main+0x1a", "[K] schedule+0x8e"], "srcs": ["a.c:4", ""]},
        {"ts": 0.01, "t": "timer", "task": {"tid": 6, "pid": 5, "comm": "python"}, "cpu": 1, "stack_id": 7},
        {
            "ts": 0.02,
            "t": "switch",
            "cpu": 1,
            "offcpu_dur": 0.005,
            "offcpu_stack_id": 7,
            "next_state": "idle",
            "prev": {"tid": 6, "pid": 5, "comm": "python"},
            "next": {"tid": 8, "pid": 5, "comm": "pool"},
        },
        {"ts": 0.03, "t": "softirq", "task": {"pid": 0, "comm": "swapper/1"}, "dur": 0.001, "cpu": 1, "action": "rcu"},
        {
            "ts": 0.04,
            "t": "cuda_memcpy",
            "task": {"tid": 6, "pid": 5, "comm": "python"},
            "dur": 0.001,
            "cpu": 1,
            "kind": "HtoD",
            "byte_cnt": 4096,
            "device_id": 0,
            "dst_device_id": 0,
            "stream_id": 7,
            "corr_id": 3,
        },
        {"ts": 0.05, "t": "utrace_entry", "task": {"tid": 6, "pid": 5, "comm": "python"}, "cpu": 1, "name": "step"},
        {"ts": 0.06, "t": "utrace_exit", "task": {"tid": 6, "pid": 5, "comm": "python"}, "cpu": 1, "name": "step"},
    )
)
MARKS = "# rank 0\n6000000000\t6900000000\t5\t0\tstep\n6100000000\t6400000000\t5\t64\tload\n7000000000\t7900000000\t5\t0\tstep\n"
STACKS = """N\t5\tMainThread
S\t0\t/a/train.py\t<module> (train.py:1);read (train.py:8)
L\t/a/train.py:9\twith self.lock:
T\t6200000000\t5\t0\t9\t20000000\t100
G\t6300000000\t6400000000\t2\t5
"""
TASKS = "N\t5\t5\tpython\nT\t6000000000\t5\t5\t20000000\nN\t5\t6\tpool\nT\t6000010000\t5\t6\t5\nT\t6010000000\t5\t5\t29000000\n"
EVENT_COUNTS = """# counted from 10000000000 to 11000000000: cache_misses page_faults
    5/5    10.100000:     200000 cache_misses:
    5/6    10.150000123:         64 page-faults/period=64/u:
    5/5    10.200000:     300000 cache_misses:u:
"""
SERIES = "D\t0\trun.cpu\tcores\t\nR\t6000000000\t0=1.5\nR\t6100000000\t0=2\n"
VMSTAT = """procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 1  0      0 23062072   9092 1457880    0    0   434   470  320 1069 37  3 60  0  0 2026-11-23 11:57:23
 1  0      0 23062072   9092 1457880    0    0     0     0   52   88  0  0 100  0  0 2026-11-23 11:57:24
"""
MPSTAT = """Linux 6.1.0 (host) 2026-11-23 _x86_64_ (2 CPU)

12:01:38     CPU    %usr   %sys   %idle
12:01:39     all    1.00    2.00    97.00
12:01:39       0    1.00    2.00    97.00
"""
LOAD = {"cpu": "all", "usr": 1.0, "idle": 99.0}
STATISTICS = [{"timestamp": "12:01:41", "cpu-load": [LOAD]}]
MPSTAT_JSON = json.dumps({"sysstat": {"hosts": [{"date": "11/23/26", "statistics": STATISTICS}]}})
NVPROF = """"Start","Duration","Size","Device","Stream","Name","Correlation_ID"
ms,us,KB,,,,
133.81,135.78,400.00,"Tesla P100 (0)",7,"[CUDA memcpy HtoD]",120
134.66,1820.0,,"Tesla P100 (0)",7,"gemm [134]",134
"""
NSYS_STATS = """Start (ns),Duration (ns),CorrId,Bytes (MB),Device,Strm,Name
1000,500,120,0.4,H200 (0),7,[CUDA memcpy HtoD]
2000,900,134,,H200 (0),7,gemm
"""
ROCPROF = "Index,KernelName,gpu-id,queue-id,pid,tid,BeginNs,EndNs\n0,gemm,4,0,99,101,1000,3000\n"
SMI = "timestamp, index, utilization.gpu [%], power.draw [W]\n2024/05/06 07:08:09.100, 0, 98 %, 250.50 W\n"
MATRIX = """traffic (MB):
 HOST GPU1 GPU2
HOST 0 5 0
GPU1 0 0 7
GPU2 5 7 0
time (s):
 HOST GPU1 GPU2
HOST 0 1 0
GPU1 0 0 1
GPU2 1 1 0
"""
LINKS = """	GPU0	GPU1	GPU2	CPU Affinity
GPU0	X	NV1	PHB	0-3
GPU1	NV1	X	SYS	0-3
GPU2	PHB	SYS	X	0-3
"""
METRICS = {"step_time_ms": 240.0, "input_wait_ms": 80.0, "forward_ms": 40.0, "h2d_ms": None}
ROWS = {"0": {"metrics": METRICS}}
TRACEML = json.dumps(
    {
        "schema_version": 1.9,
        "analysis_window": {},
        "step_time": {"global": {"window": {"steps_analyzed": 9}}, "groups": {"rows": ROWS}},
    }
)
DOCUMENT = json.dumps(
    {
        "format": "mlperf-recording",
        "version": 1,
        "command": ["train"],
        "command_exit_code": 0,
        "start_ns": 5_000_000_000,
        "end_ns": 9_000_000_000,
        "user_s": 1.0,
        "system_s": 0.5,
        "host": {"n_cores": 2},
        "sources": [{"source": "marks", "status": "ok", "reason": "", "hint": "", "cpu_s": 0.0, "size_bytes": 10}],
        "clocks": [{"before_ns": 1, "realtime_ns": 1000, "after_ns": 3}],
    }
)


def _frames() -> tuple[bytes, ...]:
    """Two packets, IPv4 and IPv6, over Ethernet."""
    ip4 = struct.pack(">BBHHHBBH", 0x45, 0, 40, 1, 0, 64, 6, 0) + bytes([10, 0, 0, 1, 10, 0, 0, 2]) + b"\0P\x1f\x90" + bytes(16)
    ip6 = struct.pack(">IHBB", 6 << 28, 8, 17, 64) + bytes(32) + b"\0\x35\x04\0" + bytes(4)
    return tuple(bytes(12) + kind + packet for kind, packet in ((b"\x08\x00", ip4), (b"\x86\xdd", ip6)))


def capture() -> bytes:
    """A capture of the classic format."""
    content = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    for number, frame in enumerate(_frames()):
        content += struct.pack("<IIII", 100 + number, 5, len(frame), len(frame)) + frame
    return content


def capture_in_blocks() -> bytes:
    """The same as pcapng, in nanoseconds."""

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack("<II", kind, len(body) + 12) + body + struct.pack("<I", len(body) + 12)

    content = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    content += block(1, struct.pack("<HHIHHI", 1, 0, 96, 9, 1, 9) + bytes(4))
    for number, frame in enumerate(_frames()):
        content += block(6, struct.pack("<5I", 0, 0, 100 + number, len(frame), len(frame)) + frame)
    return content


def nsight() -> bytes:
    """A file of Nsight Systems with one kernel."""
    base = sqlite3.connect(":memory:")
    base.executescript(
        "CREATE TABLE StringIds (id INTEGER, value TEXT); INSERT INTO StringIds VALUES (1, 'gemm');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, shortName INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 3000, 0, 1);"
    )
    return base.serialize()


PROTOCOL = (Path(__file__).parents[1] / "acceptance" / "planted_faults.toml").read_text(encoding="utf-8")
KEYWORDS = """[[swarm]]
name = "decoding"
words = ["decode", "idct"]
"""


def recording() -> Mapping[str, bytes]:
    """A folder of mlperf record."""
    return {
        "recording.json": DOCUMENT.encode(),
        "marks/5.marks": MARKS.encode(),
        "python/5.stacks": STACKS.encode(),
        "perf/perf.txt": PERF.encode(),
        "perf/threads.txt": COUNTS.encode(),
        "perf/total.csv": b"12.5,msec,task-clock,12500000,100.00,1.0,CPUs utilized\n",
        "tasks/tasks.txt": TASKS.encode(),
        "tree/series.txt": SERIES.encode(),
    }


def events_by(home: str, name: str) -> Callable[[Path], Any]:
    """Read one file by ``"module:function"``, and add up what a recording would."""

    def read(folder: Path) -> Any:
        module, _, function = home.partition(":")
        found = getattr(import_module(module), function)(folder / name)
        if hasattr(found, "duration_ns"):
            return found.start_ns, found.duration_ns, found.weight_ns, found.size_bytes, found.text(found.name)
        return found.time_ns, found.value

    return read


def matrix_and_ring(folder: Path) -> Any:
    """A matrix with the ring in use."""
    from mlperf.traces.links.matrix_file import read_matrix
    from mlperf.traces.links.rings import compare_rings

    found = read_matrix(folder / "matrix.txt")
    return found.comm_matrix_bytes, compare_rings(found, None).used


def best_of_links(folder: Path) -> Any:
    """Links with the best ring through them."""
    from mlperf.traces.links.rings import compare_rings
    from mlperf.traces.links.topology import read_links

    return compare_rings(None, read_links(folder / "links.txt")).best


def advice(folder: Path) -> Any:
    """A recording read, its steps found, advice given."""
    from mlperf.planning.advice.advise import advise
    from mlperf.traces.whole_run.read import read_recording

    found = advise(read_recording(folder))
    return found.step_s, found.hints["saved_s"].to_numpy(float)


TORCH_PROTOCOL = (Path(__file__).parents[1] / "acceptance" / "torch_faults.toml").read_text(encoding="utf-8")


def torch_protocol(folder: Path) -> Any:
    """A protocol of PyTorch's runs."""
    from mlperf.studies.torch_faults.protocol import read_torch_protocol

    return read_torch_protocol(folder / "protocol.toml")


def fault_protocol(folder: Path) -> Any:
    """The protocol of planted faults."""
    from mlperf.studies.planted_faults.protocol import read_fault_protocol

    return read_fault_protocol(folder / "protocol.toml").limits.gain


CASE_PROTOCOL = (Path(__file__).parents[1] / "acceptance" / "case_studies.toml").read_text(encoding="utf-8")


def case_protocol(folder: Path) -> Any:
    """The protocol of case studies: what is run."""
    from mlperf.studies.case_studies.protocol import read_case_protocol

    found = read_case_protocol(folder / "protocol.toml")
    return [each.settings(4) for each in found.series.values()]


GPU_PROTOCOL = (Path(__file__).parents[1] / "acceptance" / "gpu_steps.toml").read_text(encoding="utf-8")


def gpu_protocol(folder: Path) -> Any:
    """The protocol of steps on a GPU: what is judged."""
    from mlperf.studies.judgement.steps import read_steps_protocol

    return [each.limits for each in read_steps_protocol(folder / "protocol.toml").sets]


def measured_times(folder: Path) -> Any:
    """Times of runs."""
    from mlperf.traces.runs.times_file import read_times

    return read_times(folder / "times.csv", "wall_s")


def keywords(folder: Path) -> Any:
    """Rules that name swarms."""
    from mlperf.traces.swarms.keywords import read_rules

    return len(read_rules(folder / "keywords.toml"))


def traceml(folder: Path) -> Any:
    """A final summary of TraceML."""
    from mlperf.traces.readers.system.traceml import read_traceml

    found = read_traceml(folder / "final_summary.json")
    return found.n_steps, found.ranks["rank"].to_numpy()


def task_times(folder: Path) -> Any:
    """Processor time of threads."""
    from mlperf.traces.readers.system.task_looks import read_task_looks

    found = read_task_looks(folder / "tasks.txt").samples()
    return found.start_ns, found.weight_ns


def read_counts(folder: Path) -> Any:
    """Samples of the whole text, weighed by counts that may be broken."""
    from mlperf.traces.readers.system.perf_counts import read_perf_counts, weighed_by_counts
    from mlperf.traces.readers.system.perf_script import read_perf_script

    (folder / "samples.txt").write_text(PERF)
    found = weighed_by_counts(read_perf_script(folder / "samples.txt"), read_perf_counts(folder / "counts.txt"))
    return found.weight_ns
