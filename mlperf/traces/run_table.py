"""Recorded runs as a measurement table: times of a step's phases, and what the run used, for `mlperf train`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from mlperf.core.errors import DataError
from mlperf.core.files import replacing
from mlperf.core.printable import printable
from mlperf.core.shown import Shown
from mlperf.traces.readers.system.traceml import TraceMLSummary
from mlperf.traces.to_table import keys_by_run
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps

USED: Mapping[str, tuple[str, str | None]] = {
    "cores_used": ("run.cpu", ""),
    "resident_bytes": ("run.resident", ""),
    "switches_voluntary_per_s": ("run.switches_voluntary", ""),
    "switches_involuntary_per_s": ("run.switches_involuntary", ""),
    "iowait_cores": ("cpu.iowait", ""),
    "disk_read_bytes_per_s": ("disk.read", None),
    "disk_written_bytes_per_s": ("disk.written", None),
    "network_sent_bytes_per_s": ("net.sent", None),
    "network_received_bytes_per_s": ("net.received", None),
    "swapped_bytes_per_s": ("swap.in", ""),
    "cpu_pressure": ("pressure.cpu", ""),
    "io_pressure": ("pressure.io", ""),
    "gpu_utilisation": ("gpu.utilisation", None),
}
"""Column to series and device; None: the sum over devices."""
COUNTED: Mapping[str, str] = {
    "hw_instructions": "run.instructions",
    "hw_cache_misses": "run.cache_misses",
    "hw_branch_misses": "run.branch_misses",
    "sw_page_faults": "run.page_faults",
}
"""Column of the characteristics DWC-B to the series of the source ``counters``."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunTable(Shown, frame="table"):
    """Recorded runs, one row each.

    Attributes
    ----------
    file : str
        Where it was written; empty where nowhere.
    table : DataFrame
        ``run``, the columns of the keys, ``step_s``, ``<phase>_s`` and ``other_s`` (means over steps and ranks, each rank's first
        step left out), ``step_std_s``, ``n_iterations``, ``n_ranks``, then what the run used while it made steps: processor time of
        a step by samples as ``busy_s``, means of series (`USED`), and what was counted in a mean step (`COUNTED`); NaN where
        nothing was recorded.
    notes : tuple of str
    """

    file: str
    table: pd.DataFrame
    notes: tuple[str, ...]


def run_table(
    runs: Mapping[str, tuple[Recording, RunSteps]],
    keys: pd.DataFrame | None = None,
    file: Path | str | None = None,
    summaries: Mapping[str, TraceMLSummary] = MappingProxyType({}),
) -> RunTable:
    """Make the table, and write it.

    Parameters
    ----------
    runs : mapping
        Name of each run to its recording and steps.
    keys : DataFrame, optional
        One row a run: ``run`` and the columns that tell runs apart (network, batch, devices).
    file : path, optional
        A CSV file.
    summaries : mapping, optional
        Further runs by name, as TraceML summed them up.

    Raises
    ------
    DataError
        There are no runs, or a run has no row of keys.
    """
    if not runs and not summaries:
        raise DataError("got no runs, expected at least one")
    known = keys_by_run(keys, [*runs, *summaries])
    phases = list(dict.fromkeys(phase for _, steps in runs.values() for phase in steps.phases))
    rows = [{**_row(name, *parts, phases), **known.get(name, {})} for name, parts in runs.items()]
    rows += [{**_summed_up(name, summary), **known.get(name, {})} for name, summary in summaries.items()]
    table = pd.DataFrame(rows)
    first = ["run", *(list(keys.columns.drop("run")) if keys is not None else [])]
    table = table[[*first, *(name for name in table.columns if name not in first)]]
    table = table.dropna(axis=1, how="all")
    if file is not None:
        with replacing(Path(file)) as stream:
            stream.write(table.to_csv(index=False, lineterminator="\n").encode())
    missing = [
        f"run {name} has no phase {phase}: 0 s"
        for name, (_, steps) in runs.items()
        for phase in phases
        if phase not in steps.phases
    ]
    notes = dict.fromkeys(note for _, steps in runs.values() for note in steps.notes)
    missing += [f"run {name}: {note}" for name, summary in summaries.items() for note in summary.notes]
    return RunTable(str(file or ""), table, (*notes, *missing))


def _summed_up(name: str, summary: TraceMLSummary) -> dict[str, Any]:
    """One run as another tool summed it up: means over its ranks."""
    means = {str(column): float(value) for column, value in summary.ranks.drop(columns="rank").mean().items()}
    return {"run": printable(name), **means, "n_iterations": summary.n_steps, "n_ranks": len(summary.ranks)}


def _row(name: str, recording: Recording, steps: RunSteps, phases: list[str]) -> dict[str, Any]:
    """One run."""
    settled = steps.settled
    row: dict[str, Any] = {"run": printable(name), "step_s": float(settled["step_s"].mean())}
    row |= {f"{phase}_s": float(settled[f"{phase}_s"].mean()) if phase in steps.phases else 0.0 for phase in phases}
    row["other_s"] = float(settled["other_s"].mean())
    row["step_std_s"] = float(settled["step_s"].std(ddof=1)) if len(settled) > 1 else 0.0
    row |= {
        "n_iterations": int(settled["step"].nunique()),
        "n_ranks": len(steps.windows),
        "busy_s": float(settled["busy_s"].mean()),
    }
    start = min(int(each.start_ns.min()) for each in steps.windows)
    end = max(int(each.end_ns.max()) for each in steps.windows)
    row |= {column: recording.counters.mean(series, start, end, what) for column, (series, what) in USED.items()}
    per_step = (end - start) * 1e-9 / max(len(each) for each in steps.windows)
    return row | {column: recording.counters.mean(series, start, end) * per_step for column, series in COUNTED.items()}
