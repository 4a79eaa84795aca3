"""How far the clocks of a recording's sources are apart, by events that two sources saw.

A program marks each datagram that it sends to itself and each stretch of computing. A mark's begin and end come from the program's
own clock; the call that strace saw and the packet that tcpdump saw lie between them in truth. What a source's clock is ahead by
therefore lies between the largest (seen end - mark's end) and the smallest (seen begin - mark's begin). Samples fall anywhere in
8 ms of computing, and next to them where the program still runs: by their mean distance from the middle, with a 95 % interval.
Prints what each source that is there is ahead by, and what the recording itself states (bar 1 ms).

    python benchmarks/record_clocks.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.whole_run.read import read_recording

PROGRAM = """
import socket, time
from mlperf.traces.recording import region
here = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
here.bind(("127.0.0.1", 0))
for _ in range(400):
    with region("send"):
        here.sendto(b"datagram", here.getsockname())
    here.recv(100)
    time.sleep(0.002)
    with region("compute"):
        until = time.perf_counter() + 0.008
        while time.perf_counter() < until:
            pass
    time.sleep(0.002)
"""


def marks(events: EventTable, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Begins and ends of one kind of mark."""
    rows = (events.kind == Kind.REGION) & (np.array(events.text(events.name)) == name)
    order = np.argsort(events.start_ns[rows], kind="stable")
    return events.start_ns[rows][order], events.end_ns[rows][order]


def ahead(begin: np.ndarray, end: np.ndarray, seen_begin: np.ndarray, seen_end: np.ndarray) -> tuple[int, int, int]:
    """Bounds of what the other clock is ahead by, nanoseconds, and the number of events; each belongs to the nearest mark."""
    middle = (begin + end) // 2
    place = np.clip(np.searchsorted(middle, seen_begin), 1, len(middle) - 1)
    place -= np.abs(seen_begin - middle[place - 1]) < np.abs(seen_begin - middle[place])
    return int((seen_end - end[place]).max()), int((seen_begin - begin[place]).min()), len(seen_begin)


def ahead_by_mean(begin: np.ndarray, end: np.ndarray, seen: np.ndarray) -> tuple[int, int, int]:
    """Ends of the interval of what the other clock is ahead by, nanoseconds, by samples that fall evenly into the marks."""
    middle = (begin + end) // 2
    place = np.clip(np.searchsorted(middle, seen), 1, len(middle) - 1)
    place -= np.abs(seen - middle[place - 1]) < np.abs(seen - middle[place])
    apart = (seen - middle[place]).astype(float)
    half = 1.96 * apart.std(ddof=1) / np.sqrt(len(apart))
    return int(apart.mean() - half), int(apart.mean() + half), len(apart)


def main() -> None:
    """Record, and print a row a source."""
    with tempfile.TemporaryDirectory(prefix="mlperf-clocks-") as folder:
        (Path(folder) / "program.py").write_text(PROGRAM)
        command = [sys.executable, "-m", "mlperf", "record", "-q", "-o", "run", "--with", "strace", "--with", "packets"]
        subprocess.run([*command, "--", sys.executable, "program.py"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        events = read_recording(Path(folder) / "run").events
    names = np.array(events.text(events.name))
    sends, computes = marks(events, "send"), marks(events, "compute")
    own = events.pid[(events.kind == Kind.REGION) & (names == "compute")]
    calls = (events.kind == Kind.SYSCALL) & (names == "sendto") & (events.size_bytes == 8)
    # Around computing the thread sleeps for 2 ms: a sample that seems to lie there is one of the computing.
    near = np.zeros(len(events), dtype=bool)
    for begin, end in zip(*computes, strict=True):
        near |= (events.start_ns > begin - 1_000_000) & (events.start_ns < end + 1_000_000)
    samples = (events.kind == Kind.SAMPLE) & np.isin(events.pid, own) & near
    print(f"stated: {events.attributes.get('realtime_uncertainty_ns')} ns between the two clocks of the machine")
    print(f"{'source':10} {'events':>7}  ahead by, microseconds")
    for source, rows, marked in (
        ("strace", calls, sends),
        ("packets", events.kind == Kind.PACKET, sends),
        ("perf", samples, computes),
    ):
        if not rows.any():
            print(f"{source:10} {'absent':>7}")
            continue
        is_sampled = source == "perf"
        seen = events.start_ns[rows], events.end_ns[rows]
        low, high, n_events = ahead_by_mean(*marked, seen[0]) if is_sampled else ahead(*marked, *seen)
        print(f"{source:10} {n_events:7}  {low / 1e3:.1f} to {high / 1e3:.1f}")


if __name__ == "__main__":
    main()
