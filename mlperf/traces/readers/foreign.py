"""Files of other programs: which reader a table's names of columns ask for, and what makes a readable file of one that is not."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import DataError
from mlperf.traces.readers.csv_table import NEEDED

SQLITE = b"SQLite format 3\0"
NSYS_STATS = "nsys stats --report cuda_gpu_trace --format csv -o FILE report.nsys-rep"
NSYS_EXPORT = "nsys export --type sqlite -o FILE report.nsys-rep"
NVPROF = "nvprof --print-gpu-trace --csv --log-file FILE COMMAND"
ROCPROF = "rocprof --timestamp on -o results.csv COMMAND, or rocprofv3 --kernel-trace --memory-copy-trace COMMAND"
"""Commands that make tables which are read."""
ROCPROF_OLD, ROCPROF_NEW = ("BeginNs", "EndNs"), ("Start_Timestamp", "End_Timestamp")
SAMPLE = re.compile(r"\S.*?\s+\d+(?:/\d+)?\s+(?:\[\d+\]\s+)?\d+\.\d{6,9}:\s")
"""How a sample of ``perf script`` begins: command, process and thread, perhaps the processor, seconds."""
_NAME = re.compile(r"(.+?)\s*\(([^()]+)\)")


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of one table.

    Attributes
    ----------
    names : dict of str to str
        The name in the file by the plain one: without its unit, in small letters.
    units : dict of str to str
        Units by the plain name, where there are any.
    """

    names: Mapping[str, str]
    units: Mapping[str, str]


def columns_of(names: Sequence[str]) -> Columns:
    """Split the names of columns: ``"Start (ns)"`` is ``start`` in ns."""
    found = [(match[1], match[2].strip()) if (match := _NAME.fullmatch(name)) else (name, "") for name in names]
    plain = {word.lower(): name for (word, _), name in zip(found, names, strict=True)}
    return Columns(plain, {word.lower(): unit for word, unit in found if unit})


def is_trace(names: Sequence[str]) -> bool:
    """Whether columns are those of a table that tells when each thing ran."""
    columns = columns_of(names)
    return {"start", "duration", "name"} <= set(columns.names) and all(columns.units.get(each) for each in ("start", "duration"))


def is_summary(names: Sequence[str]) -> bool:
    """Whether columns are those of a table that only sums up: how often, how long."""
    found = set(columns_of(names).names)
    return "start" not in found and "name" in found and bool(found & {"total time", "totaldurationns"})


def _has(*names: str) -> Callable[[Sequence[str]], bool]:
    """Whether a line names these columns."""
    return lambda cells: set(names) <= set(cells)


TABLES: Sequence[tuple[Callable[[Sequence[str]], bool], str]] = (
    (lambda cells: bool({*NEEDED} & {*cells}), "csv"),
    (_has(*ROCPROF_NEW), "rocprof"),
    (_has(*ROCPROF_OLD), "rocprof"),
    (_has("Start", "Duration", "Name"), "nvprof"),
    (is_trace, "nsys-stats"),
)
"""What tells that a line names the columns of a format's table, and the format."""
NO_TRACES: Sequence[tuple[Callable[[Sequence[str]], bool], str, str]] = (
    (
        _has("Name", "TotalDurationNs"),
        "is a summary of rocprof: it tells no times at which anything ran",
        f"{ROCPROF} writes *_kernel_trace.csv beside it.",
    ),
    (
        lambda cells: any(cell.startswith(("Time (%)", "Time(%)")) for cell in cells),
        "is a summary: it tells no times at which anything ran",
        f"{NSYS_EXPORT}, or {NSYS_STATS}; of nvprof: {NVPROF}.",
    ),
    (
        lambda cells: bool(cells) and (cells[0] == "timestamp" or {"device", "GPU use (%)"} <= set(cells)),
        "is a table of readings, no trace of what ran",
        "mlperf record takes such readings of its own beside a run: mlperf record --probe says what this machine offers.",
    ),
)
"""What tells a table that is no trace, what it is, and what to do."""
REMEDIES: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys((".nsys-rep", ".qdrep"), ("is a report of Nsight Systems", "nsys export --type sqlite -o run.sqlite {name}")),
    ".ncu-rep": (
        "is a report of Nsight Compute, which looks at kernels one by one",
        "A trace of the run: nsys profile -o run COMMAND.",
    ),
    ".xplane.pb": (
        "is a profile of XLA as TensorBoard reads it",
        "*.trace.json.gz beside it holds the events; JAX writes one with jax.profiler.trace(FOLDER, create_perfetto_trace=True).",
    ),
    **dict.fromkeys(
        (".pftrace", ".perfetto-trace"),
        (
            "is a trace of Perfetto",
            "Perfetto's own tool makes JSON of it: traceconv json {name} run.json; of rocprofv3: --output-format csv.",
        ),
    ),
    "perf.data": ("is what perf record wrote", "perf script -i {name} > run.perf.txt"),
    ".darshan": ("is a log of Darshan, which counts what files were asked for, not when anything ran", "mlperf record -- COMMAND"),
    ".cubex": ("is a profile of Score-P, without times at which anything ran", "SCOREP_ENABLE_TRACING=true writes traces.otf2."),
}
"""Ends of names of files that no reader takes: what they are, and what to do."""


def refuse_unreadable(path: Path) -> None:
    """DataError where a name tells a file of another program that must be converted first."""
    for ending, (what, remedy) in REMEDIES.items():
        if path.name.lower().removesuffix(".gz").endswith(ending):
            raise DataError(f"{what}, which is not read", place=str(path), hint=remedy.format(name=path.name))


def refuse_folder(path: Path) -> None:
    """DataError where a folder is one for TensorBoard, in which XLA's profiler puts a folder for each run."""
    runs = sorted({each.parent for each in path.glob("plugins/profile/*/*.trace.json.gz")})
    if runs:
        got = f"holds {len(runs)} profiled {'run' if len(runs) == 1 else 'runs'} of XLA's, each in a folder of its own"
        raise DataError(got, place=str(path), hint=f"Name the run: {runs[-1]}")


def is_samples(text: str) -> bool:
    """Whether a text begins as what ``perf script`` prints, below the comments of its header."""
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return SAMPLE.match(first) is not None


def table_format(head: bytes, path: Path) -> str:
    """The format of a table by the first line that names columns of one; empty where none does.

    Raises
    ------
    DataError
        The table is known, and no trace.
    """
    for line in head.decode("utf-8-sig", "replace").splitlines()[:200]:
        try:
            cells = [cell.strip() for cell in next(csv.reader([line]), [])]
        except csv.Error:
            continue
        for is_head, name in TABLES:
            if is_head(cells):
                return name
        for is_head, what, remedy in NO_TRACES:
            if is_head(cells):
                raise DataError(what, place=str(path), hint=remedy)
    return ""
