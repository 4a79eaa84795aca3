"""Newline-delimited JSON of wprof, a recorder of whole systems: ``wprof -J FILE``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import HOST, UNSET, Flag, Kind
from mlperf.traces.events.table import EventTable, Strings, event_table
from mlperf.traces.readers.content import read_content
from mlperf.traces.readers.system.device_rows import kind_of
from mlperf.traces.readers.system.wprof_lines import HINT, Line, parsed_line

VERSION = "3"
CLOCKS = ("cpu-clock", "task-clock")
MOST_STACKS = 10_000_000
COLUMNS = (
    *("kind", "start_ns", "duration_ns", "pid", "tid", "cpu", "device", "stream"),
    *("name", "name2", "site", "tag", "size_bytes", "weight_ns", "peer", "corr", "flags"),
)
BLANK = {"duration_ns": 0, "size_bytes": 0, "weight_ns": 0, "flags": 0}


@dataclass(slots=True)
class _Read:
    """Rows as they come, and what is open."""

    period_ns: int
    stacks: dict[int, tuple[int, int, int, int]] = field(default_factory=dict)
    strings: Strings = field(default_factory=Strings)
    rows: list[tuple[int, ...]] = field(default_factory=list)
    threads: dict[str, str] = field(default_factory=dict)
    running: dict[int, tuple[int, int]] = field(default_factory=dict)
    open: dict[tuple[int, str], list[tuple[str, int]]] = field(default_factory=dict)
    left: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line, kind: Kind, start_ns: int, called: str, by: str = "task", **columns: int) -> None:
        """A row of a line's task and processor."""
        pid, tid, comm = line.task(by)
        if comm:
            self.threads[f"{pid}/{tid}"] = comm
        values = {"kind": int(kind), "start_ns": start_ns, "pid": pid, "tid": tid, "cpu": line.number("cpu"), **columns}
        values.setdefault("name", self.strings.number(called) if called else UNSET)
        self.rows.append(tuple(values.get(column, BLANK.get(column, UNSET)) for column in COLUMNS))

    def stack(self, line: Line, key: str) -> dict[str, Any]:
        """Columns of a stack that was told before; none where it was not."""
        names = ("name", "name2", "site", "tag")
        found = self.stacks.get(line.number(key, limit=2**62))
        return {} if found is None else dict(zip(names, found, strict=True))


def read_wprof(path: Path) -> EventTable:
    """Read what wprof saw.

    Returns
    -------
    EventTable
        Timer samples, and samples of a clock, are SAMPLE rows; without them each slice on a processor is one, of its length and
        without a function. What a thread waited for off the processor is a STACK row with the flag WAITING; interrupts and work
        queues are SYSCALL rows; kernels, copies and calls of CUDA are KERNEL, COLL, MEMCPY, MEMSET and API rows; spans of probes
        are REGION rows, of PyTorch's operators and Python's functions API rows; starts and ends of tasks are MARK rows. Times
        count from the session's start, or from what began before it. Notes count records that have no row, by their kind.

    Raises
    ------
    DataError
        A line is none of format version 3; names file, line and key.

    Notes
    -----
    ``ts`` is the end of interrupts and work items and the begin of what CUDA did, as the program writes it (``emit.c``).
    """
    lines = read_content(path).decode("utf-8", "replace").splitlines()
    header = parsed_line(lines[0], f"{path}, line 1")
    found = _Read(_period_ns(header))
    n_stacks = min(header.number("stack_cnt", 0, MOST_STACKS), len(lines) - 1)
    for number, text in enumerate(lines[1 : 1 + n_stacks], 2):
        _stack(found, parsed_line(text, f"{path}, line {number}"))
    takes_slices = not found.period_ns
    for number, text in enumerate(lines[1 + n_stacks :], 2 + n_stacks):
        if text.strip():
            _event(found, parsed_line(text, f"{path}, line {number}"), takes_slices)
    return _table(found, path)


def _period_ns(header: Line) -> int:
    """What a timer sample stands for; 0 where none were taken."""
    version = header.text("version")
    if version.partition(".")[0] != VERSION:
        raise DataError(f"got version {version[:20]!r}, expected {VERSION}.x", place=f"{header.place}, key version", hint=HINT)
    frequency = header.number("timer_freq_hz", 0)
    return 1_000_000_000 // frequency if frequency > 0 else 0


def _stack(found: _Read, line: Line) -> None:
    """Innermost function, its file or space, the stack from the root, and the offset in the function."""
    frames = line.values.get("frames")
    if not isinstance(frames, list) or not all(isinstance(each, str) for each in frames):
        raise DataError("has no list of frames", place=f"{line.place}, key frames", hint=HINT)
    if not frames:
        return
    sources = line.values.get("srcs")
    file = sources[-1] if isinstance(sources, list) and sources and isinstance(sources[-1], str) else ""
    space, _, rest = frames[-1].partition(" ")
    name, _, offset = rest.partition("+0x")
    folded = ";".join(each.partition(" ")[2].partition("+0x")[0].replace(";", ",") for each in frames)
    number = found.strings.number
    tag = int(offset, 16) if offset and len(offset) < 8 and all(each in "0123456789abcdef" for each in offset) else UNSET
    where = file.rpartition(":")[0] or ("[kernel]" if space == "[K]" else space)
    found.stacks[line.number("id", limit=2**62)] = number(name), number(where), number(folded), tag


def _event(found: _Read, line: Line, takes_slices: bool) -> None:
    """One record."""
    what = line.text("t")
    if what == "switch":
        _switch(found, line, takes_slices)
    elif what in _TAKERS:
        take, *words = _TAKERS[what]
        take(found, line, *words)
    else:
        found.left[what[:40] or "of no kind"] += 1


def _switch(found: _Read, line: Line, takes_slices: bool) -> None:
    """The slice of who leaves, and the wait of who comes."""
    at, cpu = line.nanoseconds("ts"), line.number("cpu")
    pid, tid, comm = line.task("prev")
    since, thread = found.running.get(cpu, (at, UNSET))
    if takes_slices and thread == tid and pid > 0 and at > since:
        found.add(line, Kind.SAMPLE, since, f"[{comm}]", by="prev", weight_ns=at - since)
    found.running[cpu] = at, line.task("next")[1]
    if "offcpu_dur" in line.values and line.task("next")[0] > 0:
        waited = line.length_ns("offcpu_dur")
        columns = found.stack(line, "offcpu_stack_id")
        name = line.text("next_state", "waiting")
        found.add(line, Kind.STACK, at - waited, name, by="next", weight_ns=waited, flags=int(Flag.WAITING), **columns)


def _timer(found: _Read, line: Line) -> None:
    """A sample of the timer."""
    pid, _, comm = line.task()
    if pid > 0:
        columns = found.stack(line, "stack_id")
        found.add(line, Kind.SAMPLE, line.nanoseconds("ts"), f"[{comm}]", weight_ns=found.period_ns, **columns)


def _counted(found: _Read, line: Line) -> None:
    """A sample of a counter: of a clock it is time, unless the timer told that already."""
    period = line.number("sample_period", 0, 2**62)
    if line.text("pmu") not in CLOCKS or not period or found.period_ns:
        found.left[f"pmu_event of {line.text('pmu')[:40]}"] += 1
    elif line.task()[0] > 0:
        columns = found.stack(line, "stack_id")
        found.add(line, Kind.SAMPLE, line.nanoseconds("ts"), f"[{line.task()[2]}]", weight_ns=period, **columns)


def _interrupt(found: _Read, line: Line, key: str, before: str) -> None:
    """Work of the system that ends at ``ts``."""
    length = line.length_ns("dur")
    start = line.nanoseconds("start_ts") if "start_ts" in line.values else line.nanoseconds("ts") - length
    found.add(line, Kind.SYSCALL, start, f"{before} {line.text(key)}".strip(), duration_ns=length)


def _cuda(found: _Read, line: Line, kind: Kind | None, key: str, before: str) -> None:
    """Something of CUDA's that begins at ``ts``."""
    name = f"{before} {line.text(key)}".strip()
    columns: dict[str, Any] = {"duration_ns": line.length_ns("dur"), "corr": line.number("corr_id", limit=2**62)}
    columns |= {"device": line.number("device_id"), "stream": line.number("stream_id")}
    if kind in (Kind.MEMCPY, Kind.MEMSET):
        columns["size_bytes"] = line.number("byte_cnt", 0, 2**62)
    if kind == Kind.MEMCPY:
        columns["peer"] = HOST if line.text(key) in ("HtoD", "DtoH") else line.number("dst_device_id")
    found.add(line, kind_of(name) if kind is None else kind, line.nanoseconds("ts"), name, **columns)


def _mark(found: _Read, line: Line, key: str, before: str) -> None:
    """A moment."""
    found.add(line, Kind.MARK, line.nanoseconds("ts"), f"{before} {line.text(key)}".strip())


def _entry(found: _Read, line: Line, family: str) -> None:
    """A span begins on its thread."""
    found.open.setdefault((line.task()[1], family), []).append((line.text("name"), line.nanoseconds("ts")))


def _exit(found: _Read, line: Line, family: str, kind: Kind) -> None:
    """The innermost open span of that name ends, and those inside it that never did are left out."""
    spans, name = found.open.get((line.task()[1], family), []), line.text("name")
    place = next((at for at in range(len(spans) - 1, -1, -1) if spans[at][0] == name), None)
    if place is None:
        found.left[f"{family}_exit without an entry"] += 1
        return
    found.left[f"{family}_entry without an exit"] += len(spans) - 1 - place
    start = spans[place][1]
    del spans[place:]
    found.add(line, kind, start, name, duration_ns=max(line.nanoseconds("ts") - start, 0))


_TAKERS: Mapping[str, tuple[Callable[..., None], *tuple[Any, ...]]] = {
    "timer": (_timer,),
    "pmu_event": (_counted,),
    "hardirq": (_interrupt, "action", "interrupt"),
    "softirq": (_interrupt, "action", "soft interrupt"),
    "ipi": (_interrupt, "kind", "interrupt between processors"),
    "wq": (_interrupt, "desc", "work queue"),
    "fork": (_mark, "", "fork"),
    "exec": (_mark, "filename", "exec"),
    "task_exit": (_mark, "", "exit"),
    "utrace_instant": (_mark, "name", ""),
    "cuda_api": (_cuda, Kind.API, "name", ""),
    "cuda_overhead": (_cuda, Kind.API, "kind", "overhead"),
    "cuda_sync": (_cuda, Kind.API, "kind", "synchronise"),
    "cuda_kernel": (_cuda, None, "name", ""),
    "cuda_memcpy": (_cuda, Kind.MEMCPY, "kind", "Memcpy"),
    "cuda_memset": (_cuda, Kind.MEMSET, "kind", "Memset"),
    "utrace_entry": (_entry, "utrace"),
    "utrace_exit": (_exit, "utrace", Kind.REGION),
    "pytorch_entry": (_entry, "pytorch"),
    "pytorch_exit": (_exit, "pytorch", Kind.API),
    "pytrace_entry": (_entry, "pytrace"),
    "pytrace_exit": (_exit, "pytrace", Kind.API),
}
"""What takes a record of each kind, and the words it takes it with."""


def _table(found: _Read, path: Path) -> EventTable:
    """Rows by time."""
    for (_, family), spans in found.open.items():
        found.left[f"{family}_entry without an exit"] += len(spans)
    rows = np.array(found.rows, dtype=np.int64).reshape(-1, len(COLUMNS))
    # What began before the session stands below 0: the first of it becomes 0.
    start = COLUMNS.index("start_ns")
    rows[:, start] -= min(int(rows[:, start].min(initial=0)), 0)
    columns: dict[str, Any] = {name: rows[:, at] for at, name in enumerate(COLUMNS)}
    left = ", ".join(f"{number} {what}" for what, number in sorted(found.left.items()) if number)
    return event_table(
        len(rows),
        **columns,
        strings=found.strings.all(),
        sources=(f"wprof: {path.name}",),
        notes=(f"records without a row: {left}",) if left else (),
        attributes={"threads": found.threads},
    ).by_time()
