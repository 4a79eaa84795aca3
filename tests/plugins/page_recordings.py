"""A recorded run with something of everything, for pages and reports; names of functions try to break out of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from made_recordings import MS, Made

from mlperf.traces.events.counters import Series, counter_table
from mlperf.traces.events.kinds import Kind
from mlperf.traces.whole_run.recording import Recording

EVIL = "<script>alert('1')</script>"
EVIL_END = '</script><img src="x" onerror="alert(2)">'
N_STEPS = 20
STEP = {"load": 10 * MS, "forward": 20 * MS, "backward": 30 * MS}
STEP_NS = sum(STEP.values())
SAMPLE_NS = 1 * MS


def everything(n_steps: int = N_STEPS, folder: Path = Path("made")) -> Recording:
    """Two ranks whose steps are marked, sampled and stacked; messages, device work, system calls, packets and series."""
    maker = Made()
    for rank in (0, 1):
        for number in range(n_steps):
            _step(maker, rank, number * STEP_NS)
    for number in range(n_steps):
        at = number * STEP_NS
        maker.add(Kind.SEND, at + 40 * MS, 2 * MS, "MPI_Send", rank=0, peer=1, size_bytes=1000)
        maker.add(Kind.RECV, at + 40 * MS, 3 * MS, "MPI_Recv", rank=1, peer=0, size_bytes=1000)
        maker.add(Kind.PACKET, at + 41 * MS, 0, name2="10.0.0.2:80", site="10.0.0.1:9", size_bytes=1500)
    recording = maker.recording(folder)
    return _told(_matched(recording))


def _step(maker: Made, rank: int, at: int) -> None:
    pid = 10 + rank
    maker.marks(at, STEP, rank=rank)
    for start, end, function in ((0, 10, EVIL), (10, 30, "gemm"), (30, 60, EVIL_END)):
        for moment in range(start, end):
            maker.add(
                Kind.SAMPLE, at + moment * MS + MS, 0, function, name2="a.so", site=f"main;train;{function}", rank=rank, pid=pid,
                tid=1, weight_ns=SAMPLE_NS,
            )  # fmt: skip
    for moment in range(0, 60, 5):
        maker.add(
            Kind.STACK,
            at + moment * MS + 5 * MS,
            0,
            "wait",
            name2="a.py",
            site="main;wait",
            rank=rank,
            pid=pid,
            tid=1,
            weight_ns=5 * MS,
        )
    maker.add(Kind.KERNEL, at + 12 * MS, 6 * MS, "sgemm", rank=rank, device=rank, stream=7)
    maker.add(Kind.SYSCALL, at + 2 * MS, 1 * MS, "read", rank=rank, pid=pid, tid=1, size_bytes=4096)


def _matched(recording: Recording) -> Recording:
    """Sends and receives as partners, in order."""
    events = recording.events
    match = np.full(len(events), -1, dtype=np.int64)
    sends, receives = (np.flatnonzero(events.kind == kind) for kind in (Kind.SEND, Kind.RECV))
    match[sends], match[receives] = receives, sends
    changed: dict[str, Any] = {"events": events.replace(match=match)}
    return Recording(recording.folder, recording.about, changed["events"], recording.counters, 0, recording.end_ns)


def _told(recording: Recording) -> Recording:
    """With series, names of threads, sources and clocks."""
    time_ns = np.arange(1, 13) * 100 * MS
    counters = counter_table(
        [
            (Series("cpu.user", "cores"), time_ns, np.full(12, 1.5)),
            (Series("cpu.system", "cores"), time_ns, np.full(12, 0.1)),
            (Series("net.received", "bytes/s", "<b>eth0</b>"), time_ns, np.linspace(0, 1e6, 12)),
        ]
    )
    attributes = {**recording.events.attributes, "threads": {"10/1": f"Main {EVIL}"}, "processes": {"10": "python train.py"}}
    about = {
        **recording.about,
        "command": ["python", EVIL],
        "command_exit_code": 0,
        "clocks": [
            {"before_ns": 1000, "realtime_ns": 5_001_000, "after_ns": 1400},
            {"before_ns": 2000, "realtime_ns": 5_002_300, "after_ns": 2200},
        ],
        "sources": [
            {"source": "perf", "status": "ok", "reason": "", "hint": "", "cpu_s": 0.1, "size_bytes": 10},
            {"source": "packets", "status": "absent", "reason": f"no right {EVIL}", "hint": "", "cpu_s": 0.0, "size_bytes": 0},
        ],
    }
    events = recording.events.replace(attributes=attributes, notes=(f"a note {EVIL}",))
    return Recording(recording.folder, about, events, counters, 0, recording.end_ns)
