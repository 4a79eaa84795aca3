"""Run a command and count what it does, with every chosen source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from mlperf.collect.counters.cachegrind import ABOUT_SLOWER, SimulatedCaches, check_geometry, function_table, read_folder
from mlperf.collect.counters.cachegrind import command_line as cachegrind_line
from mlperf.collect.counters.cachegrind import counters_from as cachegrind_counters
from mlperf.collect.counters.capacity import part_of_run, parts_of
from mlperf.collect.counters.counted import Counted, Row, runs_frame
from mlperf.collect.counters.launch import check_program, launched
from mlperf.collect.counters.offers import ABSENT, Probe, Readings
from mlperf.collect.counters.perf_stat import command_line as perf_line
from mlperf.collect.counters.perf_stat import counters_from as perf_counters
from mlperf.collect.counters.probe import ALL, SOURCE_NAMES, Watch, chosen_sources, named_source, probe_counters
from mlperf.core.errors import DataError, UsageError
from mlperf.core.temporaries import scratch_folder
from mlperf.datasets.dictionary.counters import LIMITED

SIMULATION, TOOL = "cachegrind", "perf-stat"
KEY = "kernel"


@dataclass(frozen=True, slots=True)
class CounterRequest:
    """What to run, and who counts.

    Attributes
    ----------
    command : tuple of str
        Program and arguments.
    sources : tuple of str
        Names of sources; empty for those that are there and need no run of their own, ``"all"`` for every one that is there.
    repeats : int
        Runs of the command; a simulation, which counts the same every time, runs once.
    caches : SimulatedCaches
        Geometry that cachegrind simulates.
    labels : mapping
        Columns that name the rows; ``kernel`` is the program's name where it is not given.
    """

    command: tuple[str, ...]
    sources: tuple[str, ...] = ()
    repeats: int = 1
    caches: SimulatedCaches = field(default_factory=SimulatedCaches)
    labels: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_program(self.command)
        if self.repeats < 1:
            raise UsageError(f"got repeats={self.repeats}, expected at least 1")
        for geometry in (self.caches.l1, self.caches.ll):
            if geometry:
                check_geometry(geometry)

    @property
    def asked(self) -> tuple[str, ...]:
        """Sources that have to be probed."""
        return SOURCE_NAMES if not self.sources or ALL in self.sources else self.sources

    @property
    def names(self) -> dict[str, str]:
        """Every label of the rows."""
        return {KEY: Path(self.command[0]).name} | dict(self.labels)


def count_command(request: CounterRequest, *, probe: Probe | None = None, stdout: int | None = None) -> Counted:
    """Run a command, count it, and return one row for each run.

    Its standard streams are ours; an interruption ends it with everything it started.

    Parameters
    ----------
    request : CounterRequest
        Command, sources and labels.
    probe : Probe, optional
        What the machine offers, where that is known already.
    stdout : int, optional
        File descriptor that gets the command's output in place of ours.

    Raises
    ------
    MissingExtraError
        A source that was asked for by name is absent.
    UsageError
        The command cannot be run.
    DataError
        A tool counted nothing.
    """
    probe = probe or probe_counters(request.asked)
    sources = chosen_sources(request.sources, probe)
    rows: list[dict[str, float | str]] = []
    codes: list[int] = []
    for run in range(1, number_of_runs(request, sources) + 1):
        readings, ended = one_run(request, columns_of_run(probe, sources, run), stdout)
        rows.append({"run": run, "exit_code": next(filter(None, ended), 0), "scaled": " ".join(readings.scaled), **readings.values})
        codes += ended
    functions = None
    if SIMULATION in sources:
        simulated, functions, code = simulated_run(request, stdout)
        rows = [row | simulated | {"exit_code": row["exit_code"] or code} for row in rows]
        codes.append(code)
    return Counted(
        command=request.command,
        command_exit_code=next(filter(None, codes), 0),
        sources=sources,
        runs=runs_frame(request.names, rows),
        functions=functions,
        probe=probe,
        notes=tuple(notes(request, sources, probe, rows)),
    )


def number_of_runs(request: CounterRequest, sources: Sequence[str]) -> int:
    """Rows to measure: one where only the simulation counts, which is the same every time."""
    return 1 if set(sources) == {SIMULATION} else request.repeats


def columns_of_run(probe: Probe, sources: Sequence[str], run: int) -> dict[str, tuple[str, ...]]:
    """Columns that each source counts in a run."""
    offers = [probe.named(name) for name in sources]
    return {offer.source: part_of_run(offer.usable, LIMITED, offer.at_once, run) for offer in offers}


def runs_for_all(probe: Probe, sources: Sequence[str]) -> int:
    """Runs after which every counter has been counted."""
    offers = [probe.named(name) for name in sources]
    return max(len(parts_of(offer.usable, LIMITED, offer.at_once)) for offer in offers)


def one_run(request: CounterRequest, columns: Mapping[str, Sequence[str]], stdout: int | None) -> tuple[Readings, list[int]]:
    """Counters and exit codes of one row: a run with everything that watches, and one for each tool."""
    watched = {name: names for name, names in columns.items() if named_source(name).watch is not None}
    readings = Readings()
    codes: list[int] = []
    for group in groups_that_fit(watched):
        found, code = watched_run(request.command, group, stdout)
        found.add(readings)
        readings = found
        codes.append(code)
    if TOOL in columns:
        found, code = perf_run(request.command, columns[TOOL], stdout)
        readings.add(found)
        codes.append(code)
    return readings, codes


def groups_that_fit(columns: Mapping[str, Sequence[str]]) -> list[Mapping[str, Sequence[str]]]:
    """Sources by run: two that need the processor's counters do not share one."""
    scarce = [name for name, names in columns.items() if not LIMITED.isdisjoint(names)]
    apart = scarce[1:]
    groups = [{name: names for name, names in columns.items() if name not in apart}, *({name: columns[name]} for name in apart)]
    return [group for group in groups if group]


def watched_run(command: Sequence[str], columns: Mapping[str, Sequence[str]], stdout: int | None) -> tuple[Readings, int]:
    """One run under every source that watches from outside."""
    with launched(command, stdout=stdout) as child:
        watches: list[Watch] = []
        for name, names in columns.items():
            watch = named_source(name).watch
            if watch is not None:
                watches.append(watch(child, names))
        child.release()
        end = child.wait()
        readings = Readings({"wall_s": end.wall_s})
        for finish in watches:
            readings.add(finish(child))
    return readings, end.exit_code


def perf_run(command: Sequence[str], names: Sequence[str], stdout: int | None) -> tuple[Readings, int]:
    """One run under ``perf stat``."""
    with scratch_folder() as folder:
        output = folder / "counts.txt"
        code = tool_run(perf_line(command, names, output), stdout)
        if not output.exists():
            raise DataError("perf stat wrote no counts", place=TOOL, hint="Leave it out of --sources.")
        return perf_counters(output.read_text(encoding="utf-8", errors="replace"), names), code


def simulated_run(request: CounterRequest, stdout: int | None) -> tuple[dict[str, float], pd.DataFrame, int]:
    """One run under cachegrind: totals, functions, exit code."""
    with scratch_folder() as folder:
        code = tool_run(cachegrind_line(request.command, request.caches, folder), stdout)
        simulation = read_folder(folder)
    return cachegrind_counters(simulation), function_table(simulation), code


def tool_run(line: Sequence[str], stdout: int | None) -> int:
    """Run a tool that runs the command; its exit code is the command's."""
    with launched(line, stdout=stdout) as child:
        child.release()
        return child.wait().exit_code


def notes(request: CounterRequest, sources: Sequence[str], probe: Probe, rows: Sequence[Row]) -> list[str]:
    """What a reader of the rows should know."""
    said = []
    shares = [float(value) for row in rows for name, value in row.items() if name.endswith("_running_share")]
    if any(row["scaled"] for row in rows):
        said.append(
            f"hardware events shared the processor's counters and are scaled up (they counted {min(shares):.0%} of the time): "
            "let the command run longer, or trust cachegrind"
        )
    needed = runs_for_all(probe, sources)
    if needed > request.repeats:
        said.append(f"not every event of the processor can be counted in one run here: --repeats {needed} counts them all")
    if SIMULATION in sources and request.repeats > 1:
        said.append("cachegrind ran once: it counts the same every time")
    there = [offer.source for offer in probe.sources if offer.status != ABSENT]
    if not request.sources and SIMULATION in there:
        said.append(f"cachegrind is there: --sources all adds it, in a run of its own about {ABOUT_SLOWER} times as long")
    return said
