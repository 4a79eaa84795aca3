"""Every source by name, imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlperf.core.errors import UsageError
from mlperf.core.lazy import imported
from mlperf.core.suggest import did_you_mean
from mlperf.traces.sources.source import Sampler, Source

HERE = "mlperf.traces.sources"
SOURCES: Mapping[str, str] = {
    "marks": f"{HERE}.program_marks:ProgramMarks",
    "perf": f"{HERE}.perf_samples:PerfSamples",
    "tasks": f"{HERE}.task_times:TaskTimes",
    "python": f"{HERE}.python_stacks:PythonStacks",
    "machine": f"{HERE}.machine:Machine",
    "tree": f"{HERE}.process_tree:ProcessTree",
    "mpi": f"{HERE}.mpi_ranks:MpiRanks",
    "torch": f"{HERE}.torch_files:TorchFiles",
    "nvidia-smi": f"{HERE}.gpus:Gpus",
    "nsys": f"{HERE}.nsight:Nsight",
    "strace": f"{HERE}.syscalls:SystemCalls",
    "packets": f"{HERE}.packets:Packets",
    "vmstat": f"{HERE}.readings:Vmstat",
    "mpstat": f"{HERE}.readings:Mpstat",
    "counters": f"{HERE}.event_counts:EventCounts",
}
"""``"module:class"`` of every source, the most telling first."""


def make_source(name: str) -> Source:
    """A new source of that name.

    Raises
    ------
    UsageError
        There is none; names the nearest.
    """
    if name not in SOURCES:
        raise UsageError(f"no source {name!r}. {did_you_mean(name, SOURCES)}")
    found: Source = imported(SOURCES[name])()
    return found


def chosen_sources(
    names: Sequence[str], more: Sequence[str] = (), fewer: Sequence[str] = (), frequency_hz: int | None = None
) -> list[Source]:
    """The sources of a run, in the registry's order.

    Parameters
    ----------
    names : sequence of str
        Exactly these; none: all that are recorded by default.
    more, fewer : sequence of str
        To add, and to leave out.
    frequency_hz : int, optional
        Samples of processors a second.
    """
    every = {name: make_source(name) for name in SOURCES}
    for name in (*names, *more, *fewer):
        make_source(name)
    wanted = set(names) or {name for name, each in every.items() if each.by_default}
    found = [each for name, each in every.items() if name in (wanted | set(more)) - set(fewer)]
    for each in found:
        if frequency_hz is not None and isinstance(each, Sampler):
            each.sample(frequency_hz)
    return found
