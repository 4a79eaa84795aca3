"""Every format that traces are read from: how it is known, and who reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.core.errors import DataError, UsageError
from mlperf.core.lazy import imported
from mlperf.core.suggest import did_you_mean
from mlperf.traces.events.matching import match_collectives, match_messages
from mlperf.traces.events.table import EventTable
from mlperf.traces.readers.content import head_of
from mlperf.traces.readers.foreign import SQLITE, is_samples, refuse_folder, refuse_unreadable, table_format
from mlperf.traces.readers.rank_file import MOST_RANKS

HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Reader:
    """One format.

    Attributes
    ----------
    reads : str
        ``"module:function"`` of ``(path) -> EventTable``.
    about : str
        One line for a list.
    suffixes : tuple of str
        Ends of names, without ``.gz``.
    """

    reads: str
    about: str
    suffixes: tuple[str, ...] = ()


READERS: Mapping[str, Reader] = {
    "alog": Reader("mlperf.traces.readers.alog:read_alog", "ALOG of MPE and PerWiz, text", (".alog",)),
    "goal": Reader("mlperf.traces.readers.goal:read_goal", "GOAL of LogGOPSim, text", (".goal",)),
    "ti": Reader("mlperf.traces.readers.ti:read_ti", "time-independent traces of SimGrid: a list of one file a rank", (".ti",)),
    "otf2": Reader("mlperf.traces.readers.otf2:read_otf2", "OTF2 archives of Score-P and others", (".otf2",)),
    "store": Reader("mlperf.traces.readers.store:read_store", "what mlperf trace import writes", (".npz",)),
    "csv": Reader("mlperf.traces.readers.csv_table:read_csv", "CSV with the columns of our own table", (".csv",)),
    "chakra": Reader(
        "mlperf.traces.readers.chakra:read_chakra", "execution traces of Chakra and PyTorch, JSON", (".et.json", ".chakra.json")
    ),
    "wprof": Reader(
        "mlperf.traces.readers.system.wprof:read_wprof", "whole systems: wprof -J", (".wprof.json", ".wprof", ".ndjson")
    ),
    "chrome": Reader(
        "mlperf.traces.readers.chrome.reader:read_chrome",
        "Chrome trace events of PyTorch's profiler and others: a file, or a folder or archive with one for each rank",
        (".json", ".zip", ".tar"),
    ),
    "perf": Reader("mlperf.traces.readers.system.perf_script:read_perf_script", "samples: perf script", (".perf.txt",)),
    "strace": Reader("mlperf.traces.readers.system.strace:read_strace", "system calls: strace -f -ttt -T", (".strace",)),
    "pcap": Reader("mlperf.traces.readers.system.pcap:read_pcap", "packets: tcpdump -w", (".pcap", ".pcapng", ".cap")),
    "nsys": Reader("mlperf.traces.readers.system.nsys_sqlite:read_nsys", "Nsight Systems: nsys export --type sqlite", (".sqlite",)),
    "nsys-stats": Reader(
        "mlperf.traces.readers.system.nsys_stats:read_nsys_stats", "Nsight Systems: nsys stats --report cuda_gpu_trace --format csv"
    ),
    "nvprof": Reader("mlperf.traces.readers.system.nvprof_csv:read_nvprof", "nvprof --print-gpu-trace --csv", (".nvprof",)),
    "rocprof": Reader("mlperf.traces.readers.system.rocprof:read_rocprof", "rocprof and rocprofv3, CSV", (".rocprof",)),
    "recording": Reader("mlperf.traces.readers.recorded:read_recorded", "a folder of mlperf trace record", (".mlr",)),
}


def read_trace(path: Path | str, file_format: str | None = None, *, drop_unmatched: bool = False) -> EventTable:
    """Read a trace and match its messages and collective operations.

    Parameters
    ----------
    path : path
        A file, or a folder where the format is one.
    file_format : str, optional
        A name of `READERS`; without it the name of the file, then its first bytes tell.
    drop_unmatched : bool
        Flag messages without a partner and count them, instead of refusing the trace.

    Raises
    ------
    UsageError
        No format has that name.
    DataError
        The file is not of the format, or messages have no partner.
    """
    path = Path(path)
    name = file_format or format_of(path)
    if name not in READERS:
        raise UsageError(f"no format {name!r}. {did_you_mean(name, READERS)}")
    table: EventTable = imported(READERS[name].reads)(path)
    if table.n_ranks > MOST_RANKS:
        hint = "Results have a place for every rank from 0 on: number the ranks of the run from there."
        raise DataError(f"got {table.n_ranks} ranks, expected at most {MOST_RANKS}", place=str(path), hint=hint)
    return match_collectives(match_messages(table, drop_unmatched=drop_unmatched), drop_unmatched=drop_unmatched)


def format_of(path: Path) -> str:
    """The format that a file's name, or its first bytes, tell.

    Raises
    ------
    DataError
        Neither does.
    """
    if path.is_dir():
        if any(path.glob("*.json")) or any(path.glob("*.json.gz")):
            return "chrome"
        refuse_folder(path)
        return "otf2" if any(path.glob("*.otf2")) else "recording"
    plain_name = path.name.lower().removesuffix(".gz")
    if plain_name.endswith(".csv"):
        return table_format(head_of(path, HEAD_BYTES), path) or "csv"
    for name, reader in READERS.items():
        if plain_name.endswith(reader.suffixes):
            return name
    return _format_of_head(path)


def _format_of_head(path: Path) -> str:
    """The format of a file of an unknown name."""
    refuse_unreadable(path)
    head = head_of(path, HEAD_BYTES)
    if head.startswith(SQLITE):
        return "nsys"
    text = head.decode("utf-8", "replace").lstrip()
    if not text:
        got = "is empty" if not head else "begins with blanks alone"
        raise DataError(got, place=str(path), hint="What wrote it may have stopped early: record it again.")
    if text.startswith("num_ranks"):
        return "goal"
    if text.startswith(("{", "[")):
        return "chrome"
    if _is_alog(text.splitlines()[:1]):
        return "alog"
    if is_samples(text):
        return "perf"
    table = table_format(head, path)
    if table:
        return table
    begins = f"the bytes {head[:8].hex(' ')}" if "\ufffd" in text[:40] or "\0" in text[:40] else json.dumps(text[:40])
    raise DataError(f"is of no known format; it begins with {begins}", place=str(path), hint=f"--format: {', '.join(READERS)}.")


def _is_alog(lines: Sequence[str]) -> bool:
    """Whether a first line has six numbers, the first a header's."""
    words = lines[0].split() if lines else []
    return len(words) >= 6 and words[0].startswith("-") and all(word.lstrip("-").isdigit() for word in words[:5])
