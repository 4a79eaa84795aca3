"""CPU time and memory of replays, of all single-event what-ifs and of the domino search, and how both grow.

    python benchmarks/trace_sweep.py [EVENTS ...]     # 10^4 to 10^7 events of 64 ranks, then 10^5 events of 4 to 1024 ranks

Every size is measured in a process of its own. Times are of the process, not of the wall: machines are shared. Ratios say more than
seconds: the sweep against the replays that it stands for, one replay against SimGrid SMPI on the same trace (where ``smpirun`` is
on the PATH), the reader of ALOG against pandas splitting the same lines, and each size against n log P. Goals at a million events:
sweep 2 s, domino search 5 s, 400 bytes an event, a million lines of ALOG a second.
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.jit import HAVE_NUMBA
from mlperf.core.provenance import processor_name
from mlperf.systems.loggps.presets import find_preset
from mlperf.traces.events.kinds import Flag, Kind
from mlperf.traces.events.matching import match_messages
from mlperf.traces.events.table import COLUMNS, EventTable, event_table, is_held
from mlperf.traces.graph.dag import forward
from mlperf.traces.graph.program import program_of
from mlperf.traces.readers.alog import read_alog
from mlperf.traces.replay import Change, Replay, Timing, as_table, replay, replay_batch, replay_of
from mlperf.traces.whatif.domino import domino_search
from mlperf.traces.whatif.sweep import sweep
from mlperf.traces.writers.alog import write_alog
from mlperf.traces.writers.ti import write_ti

SIZES, N_RANKS = (10_000, 100_000, 1_000_000, 10_000_000), 64
OTHER_RANKS, EVENTS_OF_OTHERS = (4, 16, 256, 1024), 100_000
REPEATED, SIMULATED, RESIDENT = 1_000_000, 100_000, 1_000_000
"""Largest size that is measured three times and that SimGrid replays, smallest whose resident memory says something."""
ALOG_EVENTS = 333_000
SHORT_S = 0.1
STAGES = ("read", "build", "sweep", "domino")


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


def held_bytes(table: EventTable) -> int:
    """Memory of a table's columns."""
    return sum(getattr(table, name).nbytes for name in COLUMNS if is_held(getattr(table, name)))


def save(table: EventTable, path: Path) -> None:
    """Columns that hold something."""
    np.savez(path, **{name: getattr(table, name) for name in COLUMNS if is_held(getattr(table, name))})


def load(path: Path) -> EventTable:
    """A table of `save`."""
    with np.load(path) as file:
        columns = dict(file)
    return event_table(len(columns["start_ns"]), **columns)


def through(table: EventTable) -> tuple[dict[str, float], Replay, dict[str, float]]:
    """CPU seconds of the stages from the table to the domino paths, also without the system's share; the replay; what was found."""
    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_stime
        seconds[name], result = cpu_s(work, 1)
        system = resource.getrusage(resource.RUSAGE_SELF).ru_stime - before
        # The system's clock ticks: of short stages its share is noise.
        seconds[f"{name} own"] = seconds[name] - (system if seconds[name] > SHORT_S else 0.0)
        return result

    program = timed("read", lambda: program_of(table))
    run = timed("build", lambda: replay_of(program, timing()))
    swept = timed("sweep", lambda: sweep(run))
    found = timed("domino", lambda: domino_search(swept))
    n_waits = int(np.count_nonzero(swept.waits.wait_ns))
    n_edits = n_waits + 2 * len(run.program.calls) + len(run.times.compute_ns)
    return seconds, run, {"edits": n_edits, "paths": len(found.paths)}


def measure(path: Path) -> dict[str, float]:
    """One size; everything is compiled on a small trace first."""
    small = random_trace(4096, 16)
    forward_s(through(small)[1])
    table = load(path)
    n_events, n_ranks = len(table), table.n_ranks
    before = resident_bytes()
    first, run, facts = through(table)
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before + held_bytes(table)
    row = {"events": n_events, "ranks": n_ranks, **first, **facts, **forward_s(run)}
    del run
    for _ in range(2 if n_events <= REPEATED else 0):
        again = through(table)[0]
        row |= {name: min(row[name], seconds) for name, seconds in again.items()}
    row["resident"] = resident / n_events if n_events >= RESIDENT else math.nan
    row["bytes"] = (peak_bytes(table) + held_bytes(table)) / n_events
    row["simgrid"] = simgrid_s(table, path.parent) if n_events <= SIMULATED and n_ranks == N_RANKS else math.nan
    return row


def forward_s(run: Replay) -> dict[str, float]:
    """CPU seconds of one more replay of a graph that stands, and of 256 at once, each with a thousandth of the computes halved."""
    rng = np.random.default_rng(3)
    edges = run.graph.edges("compute")
    made = []
    for first in rng.integers(0, len(edges), 256).tolist():
        some = slice(first, first + len(edges) // 1000)
        made.append(Change(edges[some], run.times.compute_ns[some] // 2))
    once, _ = cpu_s(lambda: forward(run.graph.dag, run.weight_ns))
    lanes, _ = cpu_s(lambda: replay_batch(run.graph.dag, run.weight_ns, run.graph.ends, made), 1)
    return {"replay": once, "lanes": lanes}


def resident_bytes() -> int:
    """Resident memory of this process; what it held at most where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return pages * resource.getpagesize()


def peak_bytes(table: EventTable) -> int:
    """Largest memory of Python and numpy from the table to the domino search, without the table itself."""
    tracemalloc.start()
    domino_search(sweep(replay(table, timing())))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def simgrid_s(table: EventTable, folder: Path) -> float:
    """CPU seconds of SimGrid SMPI from the same trace as text to its end: one replay, one link that nobody shares."""
    if not shutil.which("smpirun"):
        return math.nan
    write_ti(table, folder / "index")
    names = [f"h{rank}" for rank in range(table.n_ranks)]
    hosts = "".join(f'<host id="{name}" speed="1Gf"/>' for name in names)
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    routes = "".join(f'<route src="{one}" dst="{other}"><link_ctn id="wire"/></route>' for one, other in pairs)
    link = '<link id="wire" bandwidth="500MBps" latency="9.11us" sharing_policy="FATPIPE"/>'
    head = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    (folder / "platform.xml").write_text(f'{head}<zone id="z" routing="Full">{hosts}{link}{routes}</zone></platform>')
    (folder / "hosts").write_text("\n".join(names) + "\n")
    command = ["smpirun", "-np", str(table.n_ranks), "-platform", "platform.xml", "-hostfile", "hosts"]
    command += ["--cfg=smpi/host-speed:1Gf", "-replay", "index"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        print(f"smpirun: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return math.nan
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_alog(path: Path) -> dict[str, float]:
    """Lines that the reader of ALOG takes in, alone and with the matching of messages, and that pandas splits."""
    write_alog(random_trace(ALOG_EVENTS, N_RANKS), path)
    body = [line for line in path.read_text().splitlines(keepends=True) if not -100 < int(line.split(" ", 1)[0]) < 0]
    bare = path.with_suffix(".txt")
    bare.write_text("".join(body))
    read_s, table = cpu_s(lambda: read_alog(path))
    match_s, _ = cpu_s(lambda: match_messages(table))
    split_s, _ = cpu_s(lambda: pd.read_csv(bare, sep=r"\s+", header=None))
    return {"lines": len(body), "read": read_s, "match": match_s, "split": split_s}


def in_its_own_process(*words: object) -> Any:
    """What this script, called with these words, prints as JSON."""
    command = [sys.executable, __file__, *map(str, words)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout or "null")


FOUND = ("what-ifs", "naive x", "domino", "256 lanes", "B/event", "resident", "simgrid x", "ns", "own ns")
HEADS = ("read", "build", "replay", "sweep", *FOUND)


def print_row(row: dict[str, float]) -> None:
    """One size, one line."""
    sums, own = (sum(row[name + kind] for name in STAGES) for kind in ("", " own"))
    texts = (
        *(f"{row[name]:.4f}" for name in ("read", "build", "replay", "sweep")),
        f"{row['edits']:,}",
        f"{row['edits'] * row['replay'] / row['sweep']:,.0f}",
        f"{row['domino']:.4f}",
        f"{row['lanes']:.3f}",
        *("" if math.isnan(row[name]) else f"{row[name]:.0f}" for name in ("bytes", "resident")),
        "" if math.isnan(row["simgrid"]) else f"{row['simgrid'] / (row['read'] + row['build']):.0f}",
        *(f"{seconds / (row['events'] * math.log2(row['ranks'])) * 1e9:.0f}" for seconds in (sums, own)),
    )
    print(f"{row['events']:>10,} {row['ranks']:>5} " + " ".join(f"{text:>10}" for text in texts), flush=True)


def print_growth(rows: list[dict[str, float]]) -> None:
    """Powers of n and of log P that fit the times of all stages together, and each stage, best; without the system's share.

    Arrays of more than 32 MB are fetched from the system anew each time, page by page: that is its allocator, not the search.
    """
    if len({row["events"] for row in rows}) < 2 or len({row["ranks"] for row in rows}) < 2:
        return
    logs = np.log([[row["events"], math.log2(row["ranks"]), math.e] for row in rows])
    times = np.array([[row[f"{name} own"] for name in STAGES] for row in rows])
    for name, column in zip(("all", *STAGES), (times.sum(axis=1), *times.T), strict=True):
        (n_power, rank_power, _), *_ = np.linalg.lstsq(logs, np.log(np.maximum(column, 1e-6)), rcond=None)
        print(f"{name:>8}: own time as n^{n_power:.2f} (log2 P)^{rank_power:.2f}")


def main() -> None:
    if sys.argv[1:2] == ["make"]:
        save(random_trace(int(sys.argv[2]), int(sys.argv[3])), Path(sys.argv[4]))
        return
    if sys.argv[1:2] in (["measure"], ["alog"]):
        print(json.dumps((measure if sys.argv[1] == "measure" else measure_alog)(Path(sys.argv[2]))))
        return
    sizes = [int(float(word)) for word in sys.argv[1:]] or SIZES
    print(f"{processor_name()}, numba {'yes' if HAVE_NUMBA else 'no'}")
    print(
        "CPU seconds from the table on; naive x: replays of all edits, by the sweep; B/event: most memory of arrays and table;\n"
        "resident: the same as the system counts it; simgrid x: one replay by SimGrid SMPI from its text, by read + build;\n"
        "ns: read + build + sweep + domino, by n log2 P; own ns: without the system, which fetches memory"
    )
    print(f"{'events':>10} {'ranks':>5} " + " ".join(f"{head:>10}" for head in HEADS))
    cases = [(n_events, N_RANKS) for n_events in sizes] + [(EVENTS_OF_OTHERS, n_ranks) for n_ranks in OTHER_RANKS]
    rows = []
    for n_events, n_ranks in cases:
        with tempfile.TemporaryDirectory() as folder:
            in_its_own_process("make", n_events, n_ranks, Path(folder) / "table.npz")
            rows.append(in_its_own_process("measure", Path(folder) / "table.npz"))
        print_row(rows[-1])
    print_growth(rows)
    with tempfile.TemporaryDirectory() as folder:
        alog = in_its_own_process("alog", Path(folder) / "run.alog")
    rates = [alog["lines"] / alog[name] / 1e6 for name in ("read", "split")]
    matched = alog["lines"] / (alog["read"] + alog["match"]) / 1e6
    print(
        f"ALOG of {alog['lines']:,} lines: {rates[0]:.2f} M lines/s read, {matched:.2f} with its messages matched;"
        f" pandas splits {rates[1]:.2f} M lines/s: x {rates[0] / rates[1]:.2f}"
    )


if __name__ == "__main__":
    main()
