"""The table of sources, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.collect.counters.cachegrind import probe_cachegrind
from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.machine_files import probe_machine, watch_machine
from mlperf.collect.counters.offers import Readings, SourceOffer
from mlperf.collect.counters.papi import probe_papi, watch_papi
from mlperf.collect.counters.perf_events import HARDWARE, SOFTWARE, model_specific
from mlperf.collect.counters.perf_source import probe_events, watch_events
from mlperf.collect.counters.perf_stat import probe_perf_stat
from mlperf.collect.counters.process_files import probe_process, watch_process
from mlperf.collect.counters.usage import probe_usage, watch_usage
from mlperf.datasets.dictionary.counters import counters_of

Watch = Callable[[Child], Readings]


@dataclass(frozen=True, slots=True)
class Source:
    """A source of counters: how it is probed, and how it watches a command.

    Attributes
    ----------
    name : str
        As ``--sources`` takes it.
    probe : callable
        (columns, empty folder) to what the source offers here.
    watch : callable or None
        (command that has not begun, columns) to what reads them after its end; None where the source is a tool that has to
        run the command itself.
    """

    name: str
    probe: Callable[[Sequence[str], Path], SourceOffer]
    watch: Callable[[Child, Sequence[str]], Watch] | None = None


SOURCES: tuple[Source, ...] = (
    Source(
        "hardware",
        lambda names, _: probe_events("hardware", lambda: HARDWARE, names),
        lambda child, names: watch_events(child, names, HARDWARE, "hw_running_share"),
    ),
    Source("perf-stat", probe_perf_stat),
    Source("papi", lambda names, _: probe_papi(names), watch_papi),
    Source(
        "software",
        lambda names, _: probe_events("software", lambda: SOFTWARE, names),
        lambda child, names: watch_events(child, names, SOFTWARE),
    ),
    Source(
        "msr",
        lambda names, _: probe_events("msr", model_specific, names),
        lambda child, names: watch_events(child, names, model_specific()),
    ),
    Source("proc", lambda names, _: probe_process(names), watch_process),
    Source("machine", lambda names, _: probe_machine(names), watch_machine),
    # Reading the usage ends the process and its files in /proc: it comes after them.
    Source("rusage", lambda names, _: probe_usage(names), watch_usage),
    Source("cachegrind", probe_cachegrind),
)

SOURCE_NAMES = tuple(source.name for source in SOURCES)
USUAL = ("hardware", "software", "msr", "proc", "machine", "rusage")
"""Cost next to nothing and need the command to run only once."""

ALL = "all"
PROGRAMS = {"perf": "perf-stat", "valgrind": "cachegrind"}
"""Sources that may also be asked for by the name of their program."""


def columns_of(source: str) -> tuple[str, ...]:
    """Every column a source may fill."""
    return tuple(counter.name for counter in counters_of(source))


def named_source(name: str) -> Source:
    """A row of the table."""
    return next(source for source in SOURCES if source.name == name)
