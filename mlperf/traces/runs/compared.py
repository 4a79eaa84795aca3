"""Whether B is faster than A: commands run in turns, times somebody measured, or two recordings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.core.errors import UsageError
from mlperf.core.printable import printable
from mlperf.core.shown import Shown
from mlperf.traces.runs.drift import Drift, find_drift
from mlperf.traces.runs.interleaved import WARM_UP, RunPlan, Runs, run_in_turns
from mlperf.traces.runs.order import RUNS_A_BLOCK, B
from mlperf.traces.runs.ratio import LEVEL, MANY_TIMES, STATISTICS, Ratio, block_differences, block_ratio, independent_ratio
from mlperf.traces.runs.timed import FAILED, NO_NUMBER, OUT_OF_TIME, Program
from mlperf.traces.runs.verdict import INCONCLUSIVE, more_blocks, more_blocks_at_most, verdict

COMMANDS, TIMES, RECORDINGS = "commands", "times", "recordings"
FAILURES = (FAILED, NO_NUMBER)
SHORT_SERIES = 60
"""Fewer values than this in a series are few: neighbours that resemble one another, or values that lie far off, cost it most."""
SKEWED = 1.0
"""Values of a long series beside a short one that are at least this skewed: see `_few_notes`."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be decided, and how surely.

    Attributes
    ----------
    margin : float
        Ratios up to 1 + margin, and down to its inverse, make no difference.
    level : float
        Coverage of the interval.
    statistic : {"mean", "median"}
    higher_is_better : bool
        The numbers are rates.
    is_time : bool
        The numbers are times in seconds.
    """

    margin: float = 0.01
    level: float = LEVEL
    statistic: str = "mean"
    higher_is_better: bool = False
    is_time: bool = True

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.statistic not in STATISTICS:
            raise UsageError(f"got {self.statistic!r}, expected mean or median", place="statistic")
        if not 0 <= self.margin < 1:
            raise UsageError(f"got {self.margin}, expected 0 <= margin < 1", place="margin")
        if not 0 < self.level < 1:
            raise UsageError(f"got {self.level}, expected a level inside 0..1", place="level")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ComparedRuns(Shown, frame="summary"):
    """Two programs side by side.

    Attributes
    ----------
    a, b : str
        Commands, files or recordings.
    of : {"commands", "times", "recordings"}
    verdict : str
        Of B: ``faster``, ``slower`` (``better``, ``worse`` for a number of the output), ``no difference`` beyond the margin, or
        ``inconclusive``.
    ratio, ratio_low, ratio_high : float
        B / A of what was measured, and its interval; NaN where nothing can be said.
    level, margin : float
    statistic : str
    is_time : bool
        Whether what was measured are seconds.
    more_blocks : int or None
        Inconclusive commands: further blocks that would decide with a chance of 80 % if the ratio is what was measured.
    more_blocks_at_most : int or None
        The same whatever the ratio is; null for a margin of 0.
    drift_share, drift_p_value : float
        Steady change from the first to the last run, and the chance of it without drift.
    summary : DataFrame
        A row each of A and B: ``program, what, n, mean, median, std, fastest, slowest``, times with ``_s``; of
        commands also ``failed``, of recordings ``steps_per_second``.
    runs : DataFrame
        Every run in its order, those without a say included.
    interrupted : bool
    notes : tuple of str
    """

    a: str
    b: str
    of: str
    verdict: str
    ratio: float
    ratio_low: float
    ratio_high: float
    level: float
    margin: float
    statistic: str
    is_time: bool
    more_blocks: int | None
    more_blocks_at_most: int | None
    drift_share: float
    drift_p_value: float
    summary: pd.DataFrame
    runs: pd.DataFrame
    interrupted: bool
    notes: tuple[str, ...]

    @property
    def is_decided(self) -> bool:
        """Whether there is an answer."""
        return self.verdict != INCONCLUSIVE


def compare_commands(a: str, b: str, plan: RunPlan | None = None, question: Question | None = None) -> ComparedRuns:
    """Run two commands in turns and say which is faster.

    Parameters
    ----------
    a, b : str
        Command lines, without a shell; ``NAME=value`` may stand before.
    plan : RunPlan, optional
    question : Question, optional

    Raises
    ------
    DataError
        A command fails when it is run the first time.
    UsageError
        A command cannot be started.

    Notes
    -----
    Each block is ABBA or BAAB by a coin: a steady drift of the machine falls out of the difference of logarithms of a block, and
    slow changes between blocks fall out too. The interval is that of the mean (or median) of these differences; the ratio is that
    of geometric means.
    """
    plan, question = plan or RunPlan(), question or Question()
    done = run_in_turns(Program.of(a), Program.of(b), plan)
    values, is_b = done.blocks()
    found = block_ratio(block_differences(values, is_b), statistic=question.statistic, level=question.level)
    whole = done.compared
    drift = find_drift(whole["value"].to_numpy(float), whole["run"].to_numpy(float), (whole["program"] == B).to_numpy())
    summary = _summary(
        [(name, text, whole[whole["program"] == name]["value"]) for name, text in (("A", a), ("B", b))], question.is_time
    )
    failed = done.frame[done.frame["status"].isin(FAILURES)]
    summary.insert(3, "failed", [int((failed["program"] == name).sum()) for name in summary["program"]])
    notes = [*_block_notes(done, plan, found), *_drift_note(drift, "whole blocks take a steady one out of the ratio")]
    return _compared((a, b), COMMANDS, found, question, drift, summary, done.frame, tuple(notes), done.interrupted)


def compare_times(
    a: FloatArray, b: FloatArray, question: Question | None = None, *, names: Sequence[str] = ("A", "B"), of: str = TIMES
) -> ComparedRuns:
    """Say which of two series of measurements is smaller.

    Parameters
    ----------
    a, b : array, shape (n,)
        In order of measurement, at least three each.
    question : Question, optional
    names : two of str
    of : {"times", "recordings"}

    Raises
    ------
    DataError
        Too few values.

    Notes
    -----
    Ratio of arithmetic means (or of medians); its error from batches, wider where these resemble the ones before
    (`independent_ratio`). What differs from one run to the next cannot be seen.
    """
    question = question or Question()
    found = independent_ratio(a, b, statistic=question.statistic, level=question.level)
    place = np.concatenate([np.arange(len(each)) / max(1, len(each) - 1) for each in (a, b)])
    groups = np.repeat([0, 1], [len(a), len(b)])
    drift = find_drift(np.concatenate([a, b]), place, groups)
    summary = _summary(
        [(name, text, pd.Series(each)) for name, text, each in zip("AB", names, (a, b), strict=True)], question.is_time
    )
    what = "steps" if of == RECORDINGS else "values"
    notes = [
        f"A and B were not measured in turns: what changed between them beside the program is in the ratio ({what} of one run)"
    ]
    if of == RECORDINGS:
        notes = [
            "one run each: what differs from run to run is not in the interval; mlperf compare-runs 'A' 'B' runs commands in turns"
        ]
        summary["steps_per_second"] = 1.0 / summary["mean_s"]
    notes += [*_few_notes(a, b, what, question.statistic), *_alike_notes(a, b, what)]
    if math.isnan(found.low):
        notes.append(f"that is too few {what} for an interval of the median at this level: measure more, or take --statistic mean")
    notes += [*_drift_note(drift, "it is not taken out")]
    runs = pd.DataFrame({"run": np.arange(len(groups)), "program": np.where(groups, "B", "A"), "value": np.concatenate([a, b])})
    return _compared((names[0], names[1]), of, found, question, drift, summary, runs, tuple(notes))


def _compared(
    names: tuple[str, str],
    of: str,
    found: Ratio,
    question: Question,
    drift: Drift,
    summary: pd.DataFrame,
    runs: pd.DataFrame,
    notes: tuple[str, ...],
    interrupted: bool = False,
) -> ComparedRuns:
    """The answer to a question."""
    said = verdict(found, question.margin, higher_is_better=question.higher_is_better, is_time=question.is_time)
    can_be_repeated = of == COMMANDS and said == INCONCLUSIVE
    return ComparedRuns(
        *names,
        of,
        said,
        found.ratio,
        found.low,
        found.high,
        question.level,
        question.margin,
        question.statistic,
        question.is_time,
        more_blocks(found, question.margin, question.level) if can_be_repeated else None,
        more_blocks_at_most(found, question.margin, question.level) if can_be_repeated else None,
        drift.change,
        drift.p_value,
        summary,
        runs,
        interrupted,
        notes,
    )


def _summary(rows: Sequence[tuple[str, str, pd.Series]], is_time: bool) -> pd.DataFrame:
    """One row a program; times have their unit in the names."""
    unit = "_s" if is_time else ""
    return pd.DataFrame(
        [
            {
                "program": name,
                "what": printable(text),
                "n": len(values),
                f"mean{unit}": values.mean(),
                f"median{unit}": values.median(),
                f"std{unit}": values.std(),
                f"fastest{unit}": values.min(),
                f"slowest{unit}": values.max(),
            }
            for name, text, values in rows
        ]
    )


def _block_notes(done: Runs, plan: RunPlan, found: Ratio) -> list[str]:
    """What was left out and why, and what is too little."""
    frame, notes = done.frame, []
    warm = int((frame["use"] == WARM_UP).sum())
    if warm:
        notes.append(f"warm-up runs without a say: {warm}")
    failed = frame[frame["status"].isin(FAILURES)]
    for (name, status), rows in failed.groupby(["program", "status"], sort=True):
        codes = ", ".join(str(code) for code in sorted(set(rows["exit_code"])))
        notes.append(f"runs of {name} without a say, as are their blocks: {len(rows)} {status} (exit code {codes})")
    kept = len(done.compared) // RUNS_A_BLOCK
    if kept < plan.blocks:
        why = " (interrupted)" if done.interrupted else " (the time was over)" if (frame["status"] == OUT_OF_TIME).any() else ""
        notes.append(f"blocks that are whole: {kept} of {plan.blocks}{why}")
    if math.isnan(found.low):
        notes.append("that is too few blocks for an interval")
    return notes


def _drift_note(drift: Drift, what: str) -> list[str]:
    """A sentence where times drift."""
    if not drift.is_present:
        return []
    return [f"values drift by {100 * drift.change:+.3g} % from first to last (chance {drift.p_value:.2g}); {what}"]


def _few_notes(a: FloatArray, b: FloatArray, what: str, statistic: str) -> list[str]:
    """A sentence where few values stand beside many that are skewed: few seldom hold a slow one, and say little of the mean."""
    (few, name), (many, _) = sorted([(a, "A"), (b, "B")], key=lambda each: len(each[0]))
    spread = float(many.std())
    skewness = float(((many - many.mean()) ** 3).mean()) / spread**3 if spread > 0 else 0.0
    if statistic != "mean" or len(few) >= SHORT_SERIES or len(many) < MANY_TIMES * len(few) or abs(skewness) < SKEWED:
        return []
    told = f"{len(few)} {what} of {name} beside {len(many)}, some of which lie far from the others"
    return [f"{told}: the scatter of all is taken from the {len(many)}; --statistic median needs fewer values"]


def _alike_notes(a: FloatArray, b: FloatArray, what: str) -> list[str]:
    """A sentence for each short series whose neighbours resemble one another."""
    notes = []
    for name, series in (("A", a), ("B", b)):
        rest = series - series.mean()
        total = float(rest @ rest)
        alike = float(rest[1:] @ rest[:-1]) / total if total > 0 else 0.0
        if len(series) < SHORT_SERIES and alike > 2 / math.sqrt(len(series)):
            told = f"{what} of {name} resemble the ones before (correlation {alike:.2f})"
            notes.append(f"{told}: {len(series)} of them say less than as many independent ones, and the interval is wider for it")
    return notes
