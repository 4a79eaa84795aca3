"""What recording a run left, in a few numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mlperf.core.arrays import BoolArray
from mlperf.core.shown import Shown
from mlperf.traces.events.kinds import Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.whole_run.recording import Recording

NS = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RecordedRun(Shown):
    """A run that has just been recorded.

    Attributes
    ----------
    folder : str
    command : str
    command_exit_code : int
    interrupted : bool
    wall_s, cpu_s : float
        Of the command, by the system's count.
    sampled_cpu_s : float
        Processor time that samples add up to, NaN without samples.
    recorder_cpu_s : float
        Processor time of recording outside the command.
    n_events, n_marks, n_readings : int
        Events of all sources, marks of the program among them, readings of series.
    sources : DataFrame
        One row a source: ``source, status, reason, hint, cpu_s, size_bytes``.
    notes : tuple of str
    """

    folder: str
    command: str
    command_exit_code: int
    interrupted: bool
    wall_s: float
    cpu_s: float
    sampled_cpu_s: float
    recorder_cpu_s: float
    n_events: int
    n_marks: int
    n_readings: int
    sources: pd.DataFrame
    notes: tuple[str, ...]


def recorded_run(recording: Recording) -> RecordedRun:
    """Count what a recording holds."""
    about, events = recording.about, recording.events
    rows = sources_frame(about)
    samples = events.kind == Kind.SAMPLE
    return RecordedRun(
        folder=str(recording.folder),
        command=" ".join(map(str, about.get("command", []))),
        command_exit_code=int(about.get("command_exit_code", 0)),
        interrupted=bool(about.get("interrupted", False)),
        wall_s=(recording.end_ns - recording.start_ns) * NS,
        cpu_s=float(about.get("user_s", 0.0)) + float(about.get("system_s", 0.0)),
        sampled_cpu_s=float(events.weight_ns[samples].sum()) * NS if samples.any() else float("nan"),
        recorder_cpu_s=float(rows["cpu_s"].sum()),
        n_events=len(events),
        n_marks=int(_is_mark(events).sum()),
        n_readings=len(recording.counters),
        sources=rows,
        notes=(*events.notes, *recording.counters.notes, *_failures(about)),
    )


def _is_mark(events: EventTable) -> BoolArray:
    """Regions that the program marks; collections are the interpreter's."""
    by_python = [number for number, text in enumerate(events.strings) if text == "python"]
    return np.asarray((events.kind == Kind.REGION) & ~np.isin(events.name2, by_python))


def _failures(about: Mapping[str, Any]) -> list[str]:
    """A sentence for each source that could not record."""
    return [f"source {row['source']} failed: {row['failed']}" for row in about.get("sources", []) if row.get("failed")]


def sources_frame(about: Mapping[str, Any]) -> pd.DataFrame:
    """The table of sources of a recording's document."""
    columns = ("source", "status", "reason", "hint", "cpu_s", "size_bytes")
    rows = [[row.get(name, "") for name in columns] for row in about.get("sources", [])]
    return pd.DataFrame(rows, columns=list(columns))
