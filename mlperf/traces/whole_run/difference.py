"""What differs between two recorded runs: steps a second with an interval, parts of the step, swarms, functions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import DataError
from mlperf.core.printable import printable
from mlperf.core.shown import Shown
from mlperf.traces.swarms.changes import function_changes, swarm_changes
from mlperf.traces.whole_run.grouped import swarms_of
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, find_steps

LEVEL = 0.95
N_DRAWS = 2000
SEED = 0
LEAST_STEPS = 4
FASTER, SLOWER, INCONCLUSIVE = "faster", "slower", "inconclusive"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunDifference(Shown, frame="swarms"):
    """Two recorded runs beside each other.

    Attributes
    ----------
    sources : tuple of str
    steps : DataFrame
        One row a run: ``recording, n_steps, step_s, step_std_s, steps_per_s`` after the first step; empty where one has no steps.
    speed_ratio, speed_ratio_lower, speed_ratio_upper : float
        Steps a second of the second run by those of the first, with its 95 % interval; NaN without steps.
    verdict : str
        ``"faster"``, ``"slower"``, or ``"inconclusive"`` where the interval holds 1.
    phases : DataFrame
        One row a part of the step: ``phase, time_first_s, time_second_s, change_s, change_lower_s, change_upper_s``.
    swarms : DataFrame
        Of `swarm_changes`, a step where steps are known, else the whole run.
    functions : DataFrame
        Of `function_changes`.
    notes : tuple of str
    """

    sources: tuple[str, str]
    steps: pd.DataFrame
    speed_ratio: float
    speed_ratio_lower: float
    speed_ratio_upper: float
    verdict: str
    phases: pd.DataFrame
    swarms: pd.DataFrame
    functions: pd.DataFrame
    notes: tuple[str, ...]


def run_difference(
    first: Recording, second: Recording, *, keywords: Path | None = None, marker: str | None = None, level: int | None = None
) -> RunDifference:
    """Compare two recorded runs of one program.

    Parameters
    ----------
    first, second : Recording
    keywords : Path, optional
        TOML file of rules that name swarms.
    marker, level
        What a step is: see `find_steps`.

    Notes
    -----
    The interval is of the mean over the steps of these two runs (blocks of following steps drawn again, since neighbours are
    alike). What differs from run to run for other reasons, a machine that was warmer, say, is not in it: ``mlperf compare-runs``
    repeats both.

    Raises
    ------
    DataError
        A recording has nothing to group, or a marker that was asked for is not there.
    """
    swarms = [swarms_of(each, keywords=keywords, marker=marker, level=level) for each in (first, second)]
    found, passes, notes = _steps((first, second), marker, level)
    ratio = _speed(found) if found else (float("nan"),) * 3
    notes += [note for each in swarms for note in each.notes if "pairs" not in note]
    if not found:
        notes.append("times of swarms and functions are those of whole runs")
    return RunDifference(
        sources=(str(first.folder), str(second.folder)),
        steps=_step_frame(found, (str(first.folder), str(second.folder))),
        speed_ratio=ratio[0],
        speed_ratio_lower=ratio[1],
        speed_ratio_upper=ratio[2],
        verdict=FASTER if ratio[1] > 1 else SLOWER if ratio[2] < 1 else INCONCLUSIVE,
        phases=_phases(found),
        swarms=swarm_changes(swarms[0], swarms[1], passes),
        functions=function_changes(swarms[0], swarms[1], passes),
        notes=tuple(dict.fromkeys(notes)),
    )


def _steps(
    recordings: tuple[Recording, Recording], marker: str | None, level: int | None
) -> tuple[list[pd.DataFrame], tuple[int, int], list[str]]:
    """Steps after the first of each run's slowest rank, and numbers of all; nothing, and why, where one run has no steps."""
    try:
        one, other = (find_steps(each, marker=marker, level=level) for each in recordings)
    except DataError as error:
        if marker is not None or level is not None:
            raise
        return [], (1, 1), [f"speeds are not compared: {error.message}"]
    return [_slowest(one), _slowest(other)], (len(one.windows[0]), len(other.windows[0])), []


def _slowest(steps: RunSteps) -> pd.DataFrame:
    """Steps of the rank whose steps last longest."""
    settled = steps.settled
    rank = settled.groupby("rank")["step_s"].mean().idxmax()
    return settled[settled["rank"] == rank]


def _step_frame(found: list[pd.DataFrame], names: tuple[str, str]) -> pd.DataFrame:
    """One row a run."""
    rows = []
    for own, name in zip(found, names, strict=False):
        mean = float(own["step_s"].mean())
        spread = float(own["step_s"].std()) if len(own) > 1 else float("nan")
        rows.append(
            {"recording": printable(name), "n_steps": len(own), "step_s": mean, "step_std_s": spread, "steps_per_s": 1.0 / mean}
        )
    return pd.DataFrame(rows, columns=["recording", "n_steps", "step_s", "step_std_s", "steps_per_s"])


def _speed(found: list[pd.DataFrame]) -> tuple[float, float, float]:
    """Ratio of the speeds with its interval; without one, NaN, where a run has fewer than four steps."""
    one, other = (own["step_s"].to_numpy(float) for own in found)
    ratio = float(one.mean() / other.mean())
    if min(len(one), len(other)) < LEAST_STEPS:
        return ratio, float("nan"), float("nan")
    drawn = drawn_means(one, SEED) / drawn_means(other, SEED + 1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return ratio, float(low), float(high)


def drawn_means(values: FloatArray, seed: int) -> FloatArray:
    """Means of series drawn again from blocks of a series, shape (2000,).

    Parameters
    ----------
    values : array, shape (n,)
        In order of time; blocks have about n**(1/3) values and may begin anywhere, going on at the start behind the end.
    seed : int
    """
    n = len(values)
    length = max(round(n ** (1 / 3)), 1)
    starts = np.random.default_rng(seed).integers(0, n, (N_DRAWS, -(-n // length)))
    places = (starts[:, :, None] + np.arange(length)).reshape(N_DRAWS, -1)[:, :n] % n
    means: FloatArray = values[places].mean(axis=1)
    # Blocks at random have the variance of n, not n - 1, degrees of freedom.
    found: FloatArray = values.mean() + (means - values.mean()) * np.sqrt(n / max(n - 1, 1))
    return found


def _phases(found: list[pd.DataFrame]) -> pd.DataFrame:
    """Parts of the step in both runs."""
    columns = ["phase", "time_first_s", "time_second_s", "change_s", "change_lower_s", "change_upper_s"]
    if not found:
        return pd.DataFrame({name: [] for name in columns})
    rows = []
    for name in _parts(found):
        one, other = (own[name].to_numpy(float) if name in own.columns else np.zeros(len(own)) for own in found)
        change = drawn_means(other, SEED + 1) - drawn_means(one, SEED)
        low, high = np.quantile(change, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        rows.append((name.removesuffix("_s"), one.mean(), other.mean(), other.mean() - one.mean(), low, high))
    return pd.DataFrame(rows, columns=columns)


def _parts(found: list[pd.DataFrame]) -> list[str]:
    """Names of the parts that add up to a step in either run, in order of their first appearance."""
    names: dict[str, None] = {}
    for own in found:
        columns = own.columns.tolist()
        names.update(dict.fromkeys(columns[columns.index("is_outlier") + 1 : columns.index("other_s") + 1]))
    return [*[name for name in names if name != "other_s"], "other_s"]
