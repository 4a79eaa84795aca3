"""CPU time of replays, of all single-event what-ifs and of the domino search: ``python benchmarks/trace_sweep.py [EVENTS ...]``.

Times are of the process, not of the wall: machines are shared. Ratios say more than seconds: the sweep against the replays that it
stands for, and each size against n log P.
"""

from __future__ import annotations

import math
import platform
import resource
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from mlperf.core.jit import HAVE_NUMBA
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.table import EventTable, event_table
from mlperf.traces.graph.dag import forward
from mlperf.traces.graph.program import program_of
from mlperf.traces.replay import Change, Replay, Timing, as_table, replay, replay_batch, replay_of
from mlperf.traces.whatif.domino import domino_search
from mlperf.traces.whatif.sweep import sweep

SIZES = (10_000, 100_000, 1_000_000)
N_RANKS = 64


def random_trace(n_events: int, n_ranks: int, seed: int = 1) -> EventTable:
    """Rounds of random pairs that exchange messages of 8 B to 256 kB, as they would have been recorded."""
    rng = np.random.default_rng(seed)
    n_rounds = n_events // n_ranks
    order = np.argsort(rng.random((n_rounds, n_ranks)), axis=1)
    size = (8 * 2 ** rng.integers(0, 16, (n_rounds, n_ranks // 2))).ravel()
    send, recv = order[:, : n_ranks // 2].ravel(), order[:, n_ranks // 2 :].ravel()
    n_messages = len(send)
    rank = np.concatenate((send, recv))
    step = np.tile(np.repeat(np.arange(n_rounds), n_ranks // 2), 2)
    compute = rng.gamma(2.0, 20_000.0, (n_ranks, n_rounds)).astype(np.int64).cumsum(axis=1)
    kind = np.repeat([int(Kind.SEND), int(Kind.RECV)], n_messages)
    match = np.concatenate((np.arange(n_messages, 2 * n_messages), np.arange(n_messages)))
    columns: dict[str, Any] = {"kind": kind, "match": match, "size_bytes": np.tile(size, 2), "peer": np.concatenate((recv, send))}
    bare = event_table(2 * n_messages, start_ns=compute[rank, step], rank=rank, flags=Flag.ASSUMED_TIME, **columns)
    made = as_table(replay(bare, timing()))
    return made.replace(flags=np.broadcast_to(np.uint16(0), len(made)))


def timing() -> Timing:
    """The Myrinet of PerWiz."""
    preset = find_preset("perwiz-myrinet")
    return Timing(preset, preset.parameters())


def cpu_s(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Least CPU time of a few calls, and what the last returned."""
    times, found = [], None
    for _ in range(repeats):
        start = time.process_time()
        found = work()
        times.append(time.process_time() - start)
    return min(times), found


def measure(n_events: int, n_ranks: int) -> None:
    """One size, one line."""
    table = random_trace(n_events, n_ranks)
    n_events = len(table)
    read_s, program = cpu_s(lambda: program_of(table))
    build_s, run = cpu_s(lambda: replay_of(program, timing()))
    replay_s, _ = cpu_s(lambda: forward(run.graph.dag, run.weight_ns))
    sweep_s, swept = cpu_s(lambda: sweep(run))
    domino_s, found = cpu_s(lambda: domino_search(swept))
    made = lanes(run)
    lanes_s, _ = cpu_s(lambda: replay_batch(run.graph.dag, run.weight_ns, run.graph.ends, made), 2)
    peak = peak_bytes(table)
    n_waits = int(np.count_nonzero(swept.waits.wait_ns))
    n_edits = n_waits + 2 * len(run.program.calls) + len(run.times.compute_ns)
    scaled = (build_s + sweep_s + domino_s) / (n_events * math.log2(n_ranks)) * 1e9
    texts = (
        *(f"{each:.4f}" for each in (read_s, build_s, replay_s)),
        f"{n_events / replay_s / 1e6:.0f}",
        f"{sweep_s:.4f}",
        f"{n_edits:,}",
        f"{n_edits * replay_s / sweep_s:,.0f}",
        f"{domino_s:.4f}",
        f"{len(found.paths)}",
        f"{lanes_s:.4f}",
        f"{peak / n_events:.0f}",
        f"{scaled:.0f}",
    )
    print(f"{n_events:>10,} {n_ranks:>5} " + " ".join(f"{text:>10}" for text in texts), flush=True)


def lanes(run: Replay) -> list[Change]:
    """256 variants, each with a thousandth of the computes halved."""
    rng = np.random.default_rng(3)
    edges = run.graph.edges("compute")
    made = []
    for first in rng.integers(0, len(edges), 256).tolist():
        some = slice(first, first + len(edges) // 1000)
        made.append(Change(edges[some], run.times.compute_ns[some] // 2))
    return made


def peak_bytes(table: EventTable) -> int:
    """Largest memory of Python and numpy from the table to the domino search, without the table itself."""
    tracemalloc.start()
    domino_search(sweep(replay(table, timing())))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


HEADS = ("read", "build", "replay", "Mev/s", "sweep", "what-ifs", "naive x", "domino", "paths", "256 lanes", "B/event", "ns")


def main() -> None:
    sizes = [int(float(word)) for word in sys.argv[1:]] or SIZES
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, numba {'yes' if HAVE_NUMBA else 'no'}"
    )
    print("CPU seconds; naive x: what replays of all edits would take, by the sweep; ns: build + sweep + domino by n log2 P")
    print(f"{'events':>10} {'ranks':>5} " + " ".join(f"{head:>10}" for head in HEADS))
    measure(4096, 16)
    for n_events in sizes:
        measure(n_events, N_RANKS)
    print(f"largest memory of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
