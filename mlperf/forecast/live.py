"""A command under watch, as it was asked for: sampled, recorded and forecast while it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from mlperf.collect.stream.command import WatchedCommand
from mlperf.collect.stream.instructions import Absent, open_counter
from mlperf.collect.stream.progress import Progress
from mlperf.collect.stream.sampler import Sampler
from mlperf.collect.stream.schedule import Interrupts, ticks
from mlperf.core.errors import FitError, MissingExtraError, UsageError
from mlperf.datasets.streams.performance import N_DECIDING, PERFORMANCE, Performance, choose_performance
from mlperf.datasets.streams.read import SETTINGS, Recording
from mlperf.forecast.forecasting import MemberState, StreamForecast
from mlperf.forecast.result import Run, Watched, summarise
from mlperf.models.online.forecaster import ForecasterSettings

AUTO = "auto"
PERFORMANCE_WORDS = (AUTO, "progress", "instructions", "cpu", "io")
SHORTEST_INTERVAL_S = 0.01


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """One run under watch.

    Attributes
    ----------
    command : tuple of str
        Program and arguments.
    interval_s : float
        Time between samples.
    horizon_s : float
        How far ahead is forecast; rounded to whole samples.
    performance : str
        ``"auto"``: progress where the command reports some in its first samples, else instructions where the processor counts them,
        else processor time; or one of them by name.
    progress_file : Path or None
        File in which the command reports progress.
    record : Path or None
        CSV that the stream is written to while it comes.
    level : float
        Promised coverage of the intervals.
    """

    command: tuple[str, ...]
    interval_s: float = 0.25
    horizon_s: float = 1.0
    performance: str = AUTO
    progress_file: Path | None = None
    record: Path | None = None
    level: float = 0.9

    def __post_init__(self) -> None:
        if not self.interval_s >= SHORTEST_INTERVAL_S:
            raise UsageError(f"got an interval of {self.interval_s} s, expected at least {SHORTEST_INTERVAL_S} s")
        if not self.horizon_s >= self.interval_s:
            raise UsageError(
                f"got a horizon of {self.horizon_s} s, expected at least the interval of {self.interval_s} s",
                hint="Sample more often with --interval, or look further ahead with --horizon.",
            )
        if self.performance not in PERFORMANCE_WORDS:
            raise UsageError(f"got performance {self.performance!r}, expected one of {', '.join(PERFORMANCE_WORDS)}")


LONGEST_WAIT_S = 0.1


def watch(
    request: WatchRequest, *, tell: Callable[[Performance, MemberState], None] | None = None, stdout: int | IO[Any] | None = None
) -> Watched:
    """Run a command, and forecast its performance while it runs.

    Parameters
    ----------
    request : WatchRequest
        Command, interval, horizon, what counts as performance.
    tell : callable, optional
        Called after every sample with the performance's meaning and the standing of the forecast.
    stdout : file, optional
        Where the command's standard output goes instead of ours.

    Returns
    -------
    Watched
        With the command's own exit code. Ctrl-C ends the command and is no error here: what was seen until then is returned.

    Raises
    ------
    UsageError
        The command or the file of the record cannot be opened.
    MissingExtraError
        Instructions were asked for by name and nobody counts them here, or this is no Linux system.
    FitError
        The command ended before its second sample.
    """
    with ExitStack() as stack:
        _check_counter(request)
        progress = Progress(request.progress_file)
        stack.callback(progress.close)
        try:
            command = WatchedCommand(request.command, progress.environment(), (progress.writer,), stdout)
        finally:
            progress.close_writer()
        stack.enter_context(command)
        sampler = Sampler(command.pid, progress)
        stack.callback(sampler.close)
        live = stack.enter_context(Live(request, sampler.columns, tell))
        interrupts = stack.enter_context(Interrupts())
        for t_s in ticks(request.interval_s, sleep=waiting(command, interrupts)):
            live.push(t_s, sampler.sample())
        command.end(sampler.tree.descendants if interrupts.came else ())
        progress.poll()
        forecast = live.finish()
    recorded = str(request.record) if request.record else None
    run = Run(tuple(request.command), command.exit_code, interrupts.came, recorded)
    return summarise(forecast, run, notes_of(request, forecast, sampler))


def waiting(command: WatchedCommand, interrupts: Interrupts) -> Callable[[float], bool]:
    """A sleep that ends, for good, with the command or an interrupt; it may wake early."""

    def wait(seconds: float) -> bool:
        return interrupts.came or command.wait(min(seconds, LONGEST_WAIT_S)) or interrupts.came

    return wait


def _check_counter(request: WatchRequest) -> None:
    """Refuse instructions that were asked for by name and that nobody counts; tried on this process."""
    if request.performance != "instructions":
        return
    tried = open_counter(os.getpid())
    if not isinstance(tried, Absent):
        tried.close()
    else:
        raise MissingExtraError(
            f"instructions cannot be counted: {tried.reason}",
            place="watch --performance instructions",
            hint="Run where the processor's counters are visible (package linux-perf: perf list hw), or name another performance.",
        )


class Live(AbstractContextManager["Live"]):
    """Takes in samples; they are kept back until it is settled what counts as performance.

    Parameters
    ----------
    request : WatchRequest
    columns : sequence of str
        Of every sample.
    tell : callable or None
        Called with every standing.
    """

    def __init__(
        self, request: WatchRequest, columns: Sequence[str], tell: Callable[[Performance, MemberState], None] | None
    ) -> None:
        self.request = request
        self.columns = tuple(columns)
        self.forecast: StreamForecast | None = None
        self._tell = tell
        self._waiting: list[tuple[float, list[float]]] = []
        self._recording: Recording | None = None
        if request.record is not None:
            self._recording = Recording(request.record, ("t_s", *SETTINGS, *columns))

    def __exit__(self, *_: object) -> None:
        if self._recording is not None:
            self._recording.__exit__(None, None, None)

    def push(self, t_s: float, values: list[float]) -> None:
        """Take in one sample and forecast from it."""
        self._waiting.append((t_s, values))
        settled = self.request.performance != AUTO or len(self._waiting) >= N_DECIDING
        if self.forecast is not None or settled:
            self._flush(self.forecast or self._settle())

    def finish(self) -> StreamForecast:
        """Nothing more will come.

        Raises
        ------
        FitError
            There were not two samples.
        """
        if self._waiting:
            self._flush(self.forecast or self._settle())
        if self.forecast is None or not self.forecast.windows:
            raise FitError(
                "the command ended before its second sample: nothing can be forecast",
                place="watch",
                hint="Sample more often with --interval, or watch a longer run.",
            )
        return self.forecast

    def _settle(self) -> StreamForecast:
        """Decide what counts as performance, from the first samples only."""
        name = self.request.performance
        first = {column: [values[index] for _, values in self._waiting] for index, column in enumerate(self.columns)}
        chosen = choose_performance(first) if name == AUTO else PERFORMANCE[name]
        if chosen is None or chosen.column not in self.columns:
            raise MissingExtraError(
                f"this system does not tell {chosen.column if chosen else 'any counter'} of a process",
                place="watch",
                hint="Let the program report progress, or name another performance with --performance.",
            )
        settings = ForecasterSettings(level=self.request.level)
        self.forecast = StreamForecast(self.columns, chosen, self.request.interval_s, self.request.horizon_s, settings)
        return self.forecast

    def _flush(self, forecast: StreamForecast) -> None:
        said = (self.request.interval_s, self.request.horizon_s, forecast.performance.column)
        waiting, self._waiting = self._waiting, []
        for t_s, values in waiting:
            if self._recording is not None:
                self._recording.add((t_s, *said, *values))
            standing = forecast.push(t_s, np.array(values))
            if standing is not None and self._tell is not None:
                self._tell(forecast.performance, standing)


def notes_of(request: WatchRequest, forecast: StreamForecast, sampler: Sampler) -> tuple[str, ...]:
    """What a reader should know about this run."""
    notes = []
    progress = sampler.progress
    column = forecast.performance.column
    if progress.n_unreadable:
        notes.append(f"{progress.n_unreadable} of {progress.n_lines} progress lines hold no number")
    if column == "units" and not progress.n_lines:
        notes.append("the command reported no progress: its performance is the least there is")
    if column != "units" and progress.n_lines:
        notes.append("the command reported progress, too late to be chosen: --performance progress forecasts it")
    if column == "instructions" and not isinstance(sampler.instructions, Absent) and sampler.instructions.was_shared:
        notes.append("the counter of instructions was shared with others: counts are scaled up")
    if column != "instructions" and isinstance(sampler.instructions, Absent) and request.performance == AUTO and column != "units":
        notes.append(f"instructions are not counted: {sampler.instructions.reason}")
    return tuple(notes)
