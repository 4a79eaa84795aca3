"""What counters this machine offers, found out by opening them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlperf.collect.counters.cachegrind import probe_cachegrind
from mlperf.collect.counters.launch import Child
from mlperf.collect.counters.machine_files import probe_machine, watch_machine
from mlperf.collect.counters.offers import ABSENT, Probe, Readings, SourceOffer
from mlperf.collect.counters.papi import probe_papi, watch_papi
from mlperf.collect.counters.perf_event import HARDWARE, SOFTWARE, model_specific
from mlperf.collect.counters.perf_source import probe_events, watch_events
from mlperf.collect.counters.perf_stat import probe_perf_stat
from mlperf.collect.counters.process_files import probe_process, probe_usage, watch_process, watch_usage
from mlperf.collect.protocol.clocks import require_clocks
from mlperf.core.errors import MissingExtraError, UsageError
from mlperf.core.suggest import did_you_mean
from mlperf.core.temporaries import scratch_folder
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


def named_source(name: str) -> Source:
    """A row of the table."""
    return next(source for source in SOURCES if source.name == name)


def probe_counters(sources: Sequence[str] = SOURCE_NAMES) -> Probe:
    """Open every counter of the sources, and say which work.

    Nothing is changed on the machine and nothing needs special rights.

    Parameters
    ----------
    sources : sequence of str
        Which to ask; by default all, in the order hardware events, software events, files of the kernel, simulation.

    Raises
    ------
    UsageError
        There is no source of such a name.
    MissingExtraError
        This is not Linux.
    """
    require_clocks()
    check_names(sources)
    return Probe(tuple(offer_of(source) for source in SOURCES if source.name in sources))


def offer_of(source: Source) -> SourceOffer:
    """Probe one source in a folder of its own."""
    with scratch_folder() as folder:
        return source.probe(tuple(counter.name for counter in counters_of(source.name)), folder)


def check_names(sources: Sequence[str]) -> None:
    """Accept names of the table.

    Raises
    ------
    UsageError
        Names the nearest one.
    """
    for name in sources:
        if name not in SOURCE_NAMES:
            raise UsageError(
                f"got source {name!r}, which is none", place="--sources", hint=did_you_mean(name, (*SOURCE_NAMES, ALL))
            )


def chosen_sources(asked: Sequence[str], probe: Probe) -> tuple[str, ...]:
    """Sources to count with: those asked for by name, or what there is.

    Parameters
    ----------
    asked : sequence of str
        Names; empty for the usual ones that are there, ``"all"`` for every one that is there.
    probe : Probe
        What the machine offers.

    Raises
    ------
    MissingExtraError
        One asked for by name is absent; the hint says what to install.
    """
    there = [offer.source for offer in probe.sources if offer.status != ABSENT]
    if not asked:
        # Without events of the kernel the tools that read them do no better; PAPI may.
        return tuple(name for name in there if name in USUAL)
    for name in asked:
        if name != ALL and name not in there:
            raise MissingExtraError(
                f"this source was asked for and is absent: {probe.named(name).why}",
                place=f"source {name}",
                hint=absence_hint(probe.named(name)),
            )
    return tuple(there) if ALL in asked else tuple(name for name in there if name in asked)


def absence_hint(offer: SourceOffer) -> str:
    """What to do about an absent source."""
    others = "Without --sources the command takes what is there."
    return f"Install the package {offer.package}. {others}" if offer.package else others
