"""Time, memory and size of the page of a recording with ten million events; how fast a browser opens it, where one is found.

Prints seconds of each part, the largest memory, the page's size, and what the browser says: milliseconds from opening to the last
thing drawn (goals: 60 s, 4 GB, 10 MB, 3 s), and what the page tells when its keys, search and flame graph are used.

    python benchmarks/record_page.py [N_EVENTS [KEPT_PAGE.html]]
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.report.recordings.page.gather import gather_parts
from mlperf.report.recordings.page.page import write_recording_page
from mlperf.report.recordings.page.tables import page_tables
from mlperf.traces.events.counters import Series, counter_table
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable, concatenate, event_table
from mlperf.traces.timeline.flames import folded_stacks
from mlperf.traces.whole_run.recording import Recording

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
WATCH = "window.wrong = []; addEventListener('error', event => wrong.push(event.message));"
TRY = """
const view = document.getElementById("view"), told = [], said = name => document.getElementById(name).textContent;
const press = key => { view.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true})); };
const tell = (what, text) => told.push(what + ": " + text.replace(/\\s+/g, " "));
for (const key of ["+", "+", "ArrowRight", "-", "0", "ArrowDown", "ArrowDown"]) press(key);
press("."); tell("event", said("details"));
press("n"); tell("step", said("details"));
press("s"); timeline.search("function_1"); tell("search", said("found"));
timeline.nextMatch(); tell("match", said("details"));
const before = timeline.rows().length;
press("0"); for (let row = 0; row < before; row++) press("ArrowUp");
press("Enter"); tell("closed", before + " rows become " + timeline.rows().length);
document.querySelectorAll("#flame button")[1].click(); tell("flame", said("flame-details"));
tell("errors", String(wrong.length) + " " + wrong.join("; "));
document.body.dataset.told = told.join(" | ");
"""
"""Keys of the timeline, its search, and a click in the flame graph."""
RUN_NS = 600_000_000_000
STEP_NS = 300_000_000
RANKS, THREADS = 4, 4
N_FUNCTIONS, N_KERNELS, N_CALLS = 3000, 200, 40
N_SERIES, READINGS = 60, 6000


def samples(n_events: int, rng: np.random.Generator) -> EventTable:
    """Samples of all threads, in functions that change with the place in the step."""
    time_ns = np.sort(rng.integers(0, RUN_NS, n_events))
    phase = (time_ns % STEP_NS) * 4 // STEP_NS
    name = (phase * 700 + np.minimum(rng.geometric(0.02, n_events), 699)).astype(np.int32)
    owner = rng.integers(0, RANKS * THREADS, n_events)
    names = [f"function_{number}" for number in range(N_FUNCTIONS)]
    stacks = [f"main;train;phase_{number // 700};function_{number}" for number in range(N_FUNCTIONS)]
    return event_table(
        n_events,
        strings=[*names, *stacks, "libengine.so"],
        sources=["samples"],
        start_ns=time_ns,
        kind=np.full(n_events, Kind.SAMPLE),
        name=name,
        site=name + N_FUNCTIONS,
        name2=np.full(n_events, 2 * N_FUNCTIONS),
        rank=owner // THREADS,
        pid=100 + owner // THREADS,
        tid=1000 + owner,
        weight_ns=np.full(n_events, RANKS * THREADS * RUN_NS // n_events),
    )


def spans(n_events: int, kind: Kind, word: str, n_names: int, rng: np.random.Generator) -> EventTable:
    """Kernels, or system calls, that fill about half of the time on each rank."""
    start = np.sort(rng.integers(0, RUN_NS, n_events))
    rank = rng.integers(0, RANKS, n_events)
    device = kind == Kind.KERNEL
    return event_table(
        n_events,
        strings=[f"{word}_{number}" for number in range(n_names)],
        sources=[word],
        start_ns=start,
        duration_ns=rng.integers(200, max(RANKS * RUN_NS // n_events, 201), n_events),
        kind=np.full(n_events, kind),
        name=rng.integers(0, n_names, n_events),
        rank=rank,
        pid=np.full(n_events, -1) if device else 100 + rank,
        tid=np.full(n_events, -1) if device else 1000 + rank * THREADS,
        device=rank if device else np.full(n_events, -1),
        stream=np.full(n_events, 7 if device else -1),
        size_bytes=np.zeros(n_events, np.int64) if device else rng.integers(0, 65536, n_events),
    )


def marks() -> EventTable:
    """Steps with three phases on every rank."""
    names = ("step", "load", "forward", "backward")
    share = {"step": (0.0, 0.98), "load": (0.0, 0.25), "forward": (0.25, 0.5), "backward": (0.5, 0.97)}
    begins = np.arange(0, RUN_NS, STEP_NS)
    parts = []
    for rank in range(RANKS):
        for number, name in enumerate(names):
            first, last = share[name]
            fill = np.full(len(begins), 1)
            parts.append(
                event_table(
                    len(begins),
                    strings=names,
                    sources=["marks"],
                    start_ns=begins + int(first * STEP_NS),
                    duration_ns=fill * int((last - first) * STEP_NS),
                    kind=fill * Kind.REGION,
                    name=fill * number,
                    rank=fill * rank,
                    pid=fill * (100 + rank),
                    tid=fill * (1000 + rank * THREADS),
                )
            )
    return concatenate(parts)


def made_recording(n_events: int) -> Recording:
    """A run of ten minutes: 60 % samples, 25 % kernels, 15 % system calls, marks, sixty series."""
    rng = np.random.default_rng(7)
    tables = [
        samples(n_events * 60 // 100, rng),
        spans(n_events * 25 // 100, Kind.KERNEL, "kernel", N_KERNELS, rng),
        spans(n_events * 15 // 100, Kind.SYSCALL, "call", N_CALLS, rng),
        marks(),
    ]
    time_ns = np.arange(READINGS) * (RUN_NS // READINGS)
    series = [(Series("cpu.user", "cores", f"cpu{number}"), time_ns, rng.random(READINGS)) for number in range(N_SERIES - 1)]
    counters = counter_table([(Series("cpu.user", "cores"), time_ns, 2 * rng.random(READINGS)), *series])
    about = {"command": ["made"], "command_exit_code": 0, "sources": []}
    return Recording(Path("made"), about, concatenate(tables).by_time(), counters, 0, RUN_NS)


def opened(page: Path, folder: Path) -> str:
    """What a browser makes of a page, as HTML; empty where none is found."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        return ""
    return subprocess.run(
        [browser, *FLAGS, f"--user-data-dir={folder / 'browser'}", "--dump-dom", page.resolve().as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    ).stdout


def opened_ms(page: Path, folder: Path) -> float:
    """Milliseconds from opening until the scripts have drawn everything; NaN without a browser."""
    found = re.search(r'data-ready-ms="(\d+)"', opened(page, folder))
    return float(found[1]) if found else float("nan")


def tried(page: Path, folder: Path) -> str:
    """What a page says when its keys are pressed, its search and flame graph used; any error of its scripts."""
    text = page.read_text(encoding="utf-8")
    watched = text.replace("<head>", f"<head><script>{WATCH}</script>", 1).replace("</body>", f"<script>{TRY}</script></body>")
    (folder / "tried.html").write_text(watched, encoding="utf-8")
    shown = opened(folder / "tried.html", folder)
    found = re.search(r'data-told="([^"]*)"', shown)
    return unescape(found[1]) if found else "a script of the page failed" if shown else "no browser"


def timed(part: str, work: Callable[[], Any]) -> Any:
    """What some work gives; prints how long it took."""
    begun = time.perf_counter()
    found = work()
    print(f"{part:30} {time.perf_counter() - begun:8.2f} s", flush=True)
    return found


def main() -> None:
    n_events = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    recording = made_recording(n_events)
    print(f"{len(recording.events):,} events, {len(recording.counters):,} readings made")
    made_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = timed("steps, swarms, links, advice", lambda: gather_parts(recording))
        tables = timed("tables", lambda: page_tables(parts))
        stacks = timed("stacks", lambda: folded_stacks(recording.events, parts.swarms, parts.phases))
        size = timed("page", lambda: write_recording_page(folder / "page.html", parts, tables, stacks))
        print(f"{'analysis':30} {time.perf_counter() - begun:8.2f} s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"{'largest memory':30} {peak:8.2f} GB ({made_gb:.2f} GB to make the events)")
        print(f"{'page':30} {size / 1e6:8.2f} MB")
        print(f"{'opened by a browser':30} {opened_ms(folder / 'page.html', folder):8.0f} ms")
        print("\n".join(tried(folder / "page.html", folder).split(" | ")))
        if len(sys.argv) > 2:
            shutil.copy(folder / "page.html", sys.argv[2])


if __name__ == "__main__":
    main()
