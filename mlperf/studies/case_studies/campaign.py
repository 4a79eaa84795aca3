"""All runs of the protocol: each setting measured without a recorder, both ends of a series recorded, and what they predict."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mlperf.core.places import make_folder
from mlperf.planning.advice.advise import advise
from mlperf.planning.advice.workers import plan_workers
from mlperf.studies.case_studies.protocol import CaseProtocol, Series, usable_cores
from mlperf.studies.planted_faults.kept import keep_rows
from mlperf.studies.planted_faults.one_run import WARM_UP, log_of, recorded
from mlperf.studies.planted_faults.one_run import plain_run as logged_run
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps

LOG = "mended"
"""The name under which runs without a recorder keep their log."""
Say = Callable[[str], None]
Setting = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CaseRuns:
    """Where one repeat of one series runs.

    Attributes
    ----------
    protocol : CaseProtocol
    program : Path
    series : Series
    repeat : int
    cores : tuple of int
        Of the machine.
    """

    protocol: CaseProtocol
    program: Path
    series: Series
    repeat: int
    cores: tuple[int, ...]

    def command(self, workers: int, log: Path, *, synthetic: bool = False) -> list[str]:
        """The program with these settings."""
        settings, series = self.protocol.program, self.series
        words = [sys.executable, str(self.program), "--steps", str(settings.steps), "--hidden", str(settings.hidden)]
        words += ["--device-ms", str(settings.device_ms), "--batch", str(series.batch), "--seed", str(self.repeat)]
        words += ["--log", str(log)]
        if synthetic:
            return [*words, "--input", "synthetic"]
        words += ["--fault", series.fault, "--workers", str(workers)]
        return [*words, "--mended"] if series.mended else words

    def measured_s(self, setting: Setting, *, synthetic: bool = False) -> float:
        """Mean step by the program's own log, without a recorder."""
        n_cores, workers = setting
        with tempfile.TemporaryDirectory(prefix="mlperf-case-") as folder, bound_to(self.cores[:n_cores]):
            work = Path(folder)
            return float(np.mean(logged_run(self.command(workers, work / f"{LOG}.json", synthetic=synthetic), work)[WARM_UP:]))

    @contextmanager
    def recording(self, setting: Setting, *, synthetic: bool = False) -> Iterator[tuple[Recording, RunSteps, float]]:
        """A recorded run, its steps, and its mean step by its own log."""
        n_cores, workers = setting
        with tempfile.TemporaryDirectory(prefix="mlperf-case-") as folder:
            work = Path(folder)
            with bound_to(self.cores[:n_cores]):
                found = recorded(self.command(workers, work / "recorded.json", synthetic=synthetic), work)
            yield found, find_steps(found), float(np.mean(log_of(work, "recorded")[WARM_UP:]))


@contextmanager
def bound_to(cores: tuple[int, ...]) -> Iterator[None]:
    """Let this process and what it starts use only these cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run_case_studies(protocol: CaseProtocol, program: Path, keep: Path, say: Say) -> None:
    """Run everything, one repeat of all series after another.

    Parameters
    ----------
    protocol : CaseProtocol
    program : Path
        ``train.py``.
    keep : Path
        Folder that gets ``runs.json``.
    say : callable
        Told what is run.

    Raises
    ------
    DataError
        The machine has one core, or cannot bind processes to some.
    """
    make_folder(keep, above=True)
    rows: list[dict[str, Any]] = []
    cores = usable_cores()
    for repeat in range(protocol.repeats):
        for name, series in protocol.series.items():
            say(f"repeat {repeat + 1} of {protocol.repeats}: {name}")
            made = series_rows(CaseRuns(protocol, program, series, repeat, cores))
            rows += [{"series": name, "repeat": repeat, **row} for row in made]
            keep_rows(rows, keep)


def series_rows(runs: CaseRuns) -> list[dict[str, Any]]:
    """One row a recorded setting and a predicted one; the recorded run itself is among them."""
    settings = runs.series.settings(len(runs.cores))
    measured = {setting: runs.measured_s(setting) for setting in settings}
    synthetic = {n_cores: runs.measured_s((n_cores, 0), synthetic=True) for n_cores in sorted({each[0] for each in settings})}
    rows = []
    for at in (settings[0], settings[-1]):
        with runs.recording(at, synthetic=True) as (always, always_steps, _), runs.recording(at) as (found, steps, logged_s):
            first = advise(found, steps).hints.query("verdict == 'named'")["cause"].tolist()[:1]
            for n_cores, workers in settings:
                plan = plan_workers(
                    found,
                    steps,
                    n_workers=(workers,),
                    n_cores=(n_cores,),
                    n_devices=runs.protocol.n_devices,
                    synthetic=(always, always_steps),
                )
                row = plan.plan.iloc[0]
                rows.append(
                    {
                        "recorded_cores": at[0],
                        "recorded_workers": at[1],
                        "n_cores": n_cores,
                        "n_workers": workers,
                        "hint": first[0] if first else "",
                        "logged_s": logged_s,
                        **{each: float(row[each]) for each in ("step_s", "step_lower_s", "step_upper_s", "lost_devices")},
                        "measured_s": measured[n_cores, workers],
                        "synthetic_s": synthetic[n_cores],
                    }
                )
    return rows
