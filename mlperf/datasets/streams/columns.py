"""The columns of a stream: which numbers only ever grow, which go up and down, and what they count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

COUNTER, GAUGE, SETTING, LABEL = "counter", "gauge", "setting", "label"


@dataclass(frozen=True, slots=True)
class StreamColumn:
    """One column of a stream.

    Attributes
    ----------
    name : str
        Header.
    kind : str
        ``"counter"``: grows, its rate is what matters; ``"gauge"``: a level; ``"setting"``: about the recording; ``"label"``: text
        or truth that no forecast may use.
    unit : str
        Of one count or of the level.
    doc : str
        One line for people.
    """

    name: str
    kind: str
    unit: str
    doc: str


_TABLE = (
    #            name           kind     unit        meaning
    StreamColumn("t_s", SETTING, "s", "seconds since the first sample's clock"),
    StreamColumn("interval_s", SETTING, "s", "time between samples that was asked for"),
    StreamColumn("horizon_s", SETTING, "s", "how far ahead was forecast"),
    StreamColumn("performance", SETTING, "", "column whose rate is the performance"),
    StreamColumn("phase", LABEL, "", "what the program does; truth, never an input"),
    StreamColumn("flop", LABEL, "flop", "floating-point operations of the units; truth, never an input"),
    StreamColumn("units", COUNTER, "units", "units of work that the program says it finished"),
    StreamColumn("instructions", COUNTER, "instructions", "instructions of the command and its children in user mode"),
    StreamColumn("cpu_ns", COUNTER, "ns", "processor time of the command and its children"),
    StreamColumn("io_bytes", COUNTER, "bytes", "bytes that the command and its children read and wrote"),
    StreamColumn("cpu_user", COUNTER, "ticks", "machine: user mode"),
    StreamColumn("cpu_nice", COUNTER, "ticks", "machine: user mode at low priority"),
    StreamColumn("cpu_sys", COUNTER, "ticks", "machine: kernel mode"),
    StreamColumn("cpu_idle", COUNTER, "ticks", "machine: idle"),
    StreamColumn("cpu_iowait", COUNTER, "ticks", "machine: idle, waiting for a disk"),
    StreamColumn("cpu_irq", COUNTER, "ticks", "machine: interrupts"),
    StreamColumn("cpu_softirq", COUNTER, "ticks", "machine: deferred interrupts"),
    StreamColumn("cpu_steal", COUNTER, "ticks", "machine: taken by other guests of the host"),
    StreamColumn("intr", COUNTER, "interrupts", "machine: interrupts served"),
    StreamColumn("ctxt", COUNTER, "switches", "machine: context switches"),
    StreamColumn("processes", COUNTER, "processes", "machine: processes started"),
    StreamColumn("procs_running", GAUGE, "processes", "machine: processes that can run"),
    StreamColumn("w_run_ns", COUNTER, "ns", "command: on a processor"),
    StreamColumn("w_wait_ns", COUNTER, "ns", "command: waiting for a processor"),
    StreamColumn("w_slices", COUNTER, "slices", "command: time slices"),
    StreamColumn("w_minflt", COUNTER, "faults", "command: page faults without a disk"),
    StreamColumn("w_majflt", COUNTER, "faults", "command: page faults with a disk"),
    StreamColumn("w_utime", COUNTER, "ticks", "command: user mode"),
    StreamColumn("w_stime", COUNTER, "ticks", "command: kernel mode"),
    StreamColumn("w_rss", GAUGE, "pages", "command: resident memory"),
    StreamColumn("w_vcs", COUNTER, "switches", "command: voluntary switches"),
    StreamColumn("w_ivcs", COUNTER, "switches", "command: involuntary switches"),
    StreamColumn("w_processes", GAUGE, "processes", "command: processes alive"),
    StreamColumn("w_threads", GAUGE, "threads", "command: threads alive"),
    StreamColumn("pgfault", COUNTER, "faults", "machine: page faults"),
    StreamColumn("pgalloc_normal", COUNTER, "pages", "machine: pages allocated"),
    StreamColumn("pgfree", COUNTER, "pages", "machine: pages freed"),
    StreamColumn("load1", GAUGE, "processes", "machine: one-minute load"),
    StreamColumn("MemTotal", GAUGE, "kB", "machine: memory"),
    StreamColumn("MemFree", GAUGE, "kB", "machine: free memory"),
    StreamColumn("MemAvailable", GAUGE, "kB", "machine: memory that a new program can have"),
)

COLUMNS: Mapping[str, StreamColumn] = {column.name: column for column in _TABLE}


def column_of(name: str) -> StreamColumn:
    """The column of that name; one that nobody knows is a gauge, whose changes count as much as its level."""
    return COLUMNS.get(name, StreamColumn(name, GAUGE, "", "not in the dictionary of streams: taken as a level"))
