"""A training job's table of operations judged: what slows it down, who, in which steps, and what its removal would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.core.shown import Shown
from mlperf.traces.ranks.culprits import NOBODY, culprits
from mlperf.traces.ranks.job_domino import job_domino
from mlperf.traces.ranks.job_edits import parse_assumption
from mlperf.traces.ranks.job_frames import (
    NS_PER_S,
    assumptions_frame,
    dominoes_frame,
    groups_frame,
    operations_frame,
    patterns_frame,
    steps_frame,
)
from mlperf.traces.ranks.job_graph import job_graph
from mlperf.traces.ranks.job_grid import job_grid
from mlperf.traces.ranks.job_groups import FAMILIES, groups_of, operation_columns
from mlperf.traces.ranks.job_sweep import single_savings, step_sweep
from mlperf.traces.ranks.job_times import JobTimes, job_times
from mlperf.traces.ranks.job_what_ifs import job_what_ifs
from mlperf.traces.ranks.step_forecast import HalvesCheck, StepForecast, check_halves, forecast_steps, mean_interval
from mlperf.traces.readers.operations import Operations, read_operations

LEAST_SHARE = 0.5
"""A group is named as the culprit where making it typical removes at least this share of the slowdown."""
LEAST_SLOWDOWN = 1.01
"""Below it there is nothing to lay to anybody."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TrainingJob(Shown, frame="groups"):
    """A job judged; times in seconds, means over the steps.

    Attributes
    ----------
    name : str
        File.
    data_parallel, pipeline : int
        Degrees.
    n_steps, n_operations : int
        Whole steps, and operations in them.
    measured_s : float
        Mean step as recorded.
    no_gaps_s, ideal_s : float
        Replayed without gaps; and with the typical time of every kind of operation (mean of computations, median of transfers).
    slowdown, slowdown_lower, slowdown_upper : float
        no_gaps_s / ideal_s, and the 95 % interval of the mean over the steps.
    culprit_family, culprit : str
        The smallest group of operations whose removal brings half of the slowdown or more; empty: none does.
    pattern : str
        Whether it is always the same, rotating or a few bad steps (`Culprits`), within the culprit's family.
    share_of_steps : float
        Share of the steps in which the one that leads is the latest of its family.
    groups : DataFrame
        One row a group: ``family``, ``group``; ``slowdown_alone`` (only it keeps its own times); ``share_removed`` (of the
        slowdown, when it is typical); ``saved_s``, ``saved_lower_s``, ``saved_upper_s`` (what a step saves then, and the 95 %
        interval of the mean over the steps), all without gaps; ``saved_with_gaps_s`` (the same if every gap stayed as long as it
        was, although some gaps are waiting that the rules do not know of); ``share_of_steps`` in which it is the latest of its
        family.
    patterns : DataFrame
        One row a family: ``family``, ``leader``, ``share_of_steps``, ``pattern``, ``bad_steps``.
    steps : DataFrame
        One row a step: ``step``, ``measured_s``, ``no_gaps_s``, ``slowdown``, and the latest ``worker``, ``dp_rank``, ``stage``.
    assumptions : DataFrame
        One row an assumption, and one for all together: ``assumption``, ``step_s``, ``saved_s``, its interval, ``saved_share``;
        against the step without gaps, of assumptions about gaps against the step as recorded.
    operations : DataFrame
        The operations that would save most, each by itself (exact, one sweep a step, without gaps): ``operation``, ``sequence``,
        ``dp_rank``, ``stage``, mean ``own_s``, ``typical_s``, mean ``saved_s`` and ``most_saved_s`` over the steps.
    domino_step : int
        The slowest step without gaps.
    dominoes : DataFrame
        Its domino path, the first wait to remove on top: ``waits``, ``for``, ``wait_s``, ``step_s`` and ``saved_s`` without that
        wait.
    worst_workers : tuple of str
        The 3 % of workers with the largest slowdown by both dp_rank and stage.
    worst_fixed_s, worst_share_removed : float
        Mean step without gaps when these are typical, and the share of the slowdown that this removes.
    forecast : StepForecast
        Of steps that are not in the trace.
    halves : HalvesCheck
        The same from the first half of the steps, checked on the second.
    replay_error : float
        Largest relative difference between a replayed step with gaps and the recorded one.
    notes : tuple of str
        What was left out or put right.
    """

    name: str
    data_parallel: int
    pipeline: int
    n_steps: int
    n_operations: int
    measured_s: float
    no_gaps_s: float
    ideal_s: float
    slowdown: float
    slowdown_lower: float
    slowdown_upper: float
    culprit_family: str
    culprit: str
    pattern: str
    share_of_steps: float
    groups: pd.DataFrame
    patterns: pd.DataFrame
    steps: pd.DataFrame
    assumptions: pd.DataFrame
    operations: pd.DataFrame
    domino_step: int
    dominoes: pd.DataFrame
    worst_workers: tuple[str, ...]
    worst_fixed_s: float
    worst_share_removed: float
    forecast: StepForecast
    halves: HalvesCheck
    replay_error: float
    notes: tuple[str, ...] = ()

    @property
    def culprit_row(self) -> pd.Series | None:
        """The culprit's row of `groups`; None where nobody is named."""
        rows = self.groups[(self.groups["family"] == self.culprit_family) & (self.groups["group"] == self.culprit)]
        return rows.iloc[0] if len(rows) else None


def analyse_job(
    table: Operations | Path | str, *, data_parallel: int | None = None, pipeline: int | None = None, assume: Sequence[str] = ()
) -> TrainingJob:
    """Judge a training job from its table of operations.

    Parameters
    ----------
    table : Operations or path
        As `read_operations` takes it.
    data_parallel, pipeline : int, optional
        Degrees; by default those of the table.
    assume : sequence of str
        Further what-ifs, as `parse_assumption` takes them: each by itself, and all together.

    Raises
    ------
    DataError
        The table, or the order of its operations, is not as the rules have it.
    UsageError
        Degrees that are not the table's, or an assumption that means nothing.
    """
    assumptions = [parse_assumption(text) for text in assume]
    operations = table if isinstance(table, Operations) else read_operations(table)
    grid = job_grid(operations, data_parallel, pipeline)
    graph = job_graph(grid)
    times = job_times(grid, graph)
    found = job_what_ifs(graph, times, groups_of(grid))
    late = {family: culprits((found.alone_ns[at] - found.ideal_ns).T) for family in FAMILIES for at in [found.groups.of(family)]}
    lower, upper = mean_interval(found.no_gaps_ns / found.ideal_ns.mean())
    groups = groups_frame(found, late)
    family, culprit = name_culprit(groups, found.slowdown)
    judged = late.get(family)
    slowest = int(np.argmax(found.no_gaps_ns))
    swept = step_sweep(graph, times, slowest)
    columns = operation_columns(grid)
    domino = job_domino(swept, columns["dp_rank"] * grid.pipeline + columns["stage"])
    return TrainingJob(
        name=operations.path.name,
        data_parallel=grid.data_parallel,
        pipeline=grid.pipeline,
        n_steps=len(grid.steps),
        n_operations=grid.start_ns.size,
        measured_s=_mean_s(found.measured_ns),
        no_gaps_s=_mean_s(found.no_gaps_ns),
        ideal_s=_mean_s(found.ideal_ns),
        slowdown=found.slowdown,
        slowdown_lower=lower,
        slowdown_upper=upper,
        culprit_family=family,
        culprit=culprit,
        pattern=judged.pattern if judged else NOBODY,
        share_of_steps=judged.share_of_steps if judged else 0.0,
        groups=groups,
        patterns=patterns_frame(found, late, grid),
        steps=steps_frame(found, late, grid),
        assumptions=assumptions_frame(grid, graph, times, assumptions),
        operations=operations_frame(grid, times, single_savings(graph, times)),
        domino_step=int(grid.steps[slowest]),
        dominoes=dominoes_frame(grid, domino, swept.total_ns),
        worst_workers=tuple(found.groups.name[number] for number in found.worst_workers.tolist()),
        worst_fixed_s=_mean_s(found.worst_fixed_ns),
        worst_share_removed=float(found.share(found.worst_fixed_ns.mean())),
        forecast=forecast_steps(found.measured_ns / NS_PER_S),
        halves=check_halves(found.measured_ns / NS_PER_S),
        replay_error=float(np.abs(found.replayed_ns / found.measured_ns - 1.0).max()),
        notes=(*grid.notes, *_clock_notes(times)),
    )


def _mean_s(step_ns: IntArray) -> float:
    """Mean of step times, seconds."""
    return float(np.mean(step_ns) / NS_PER_S)


def name_culprit(groups: pd.DataFrame, slowdown: float) -> tuple[str, str]:
    """Family and name of the smallest group whose removal brings half of the slowdown or more; empty: there is none."""
    if slowdown < LEAST_SLOWDOWN:
        return "", ""
    for family in FAMILIES:
        own = groups[groups["family"] == family]
        # The only one of its family is the whole job.
        if len(own) > 1 and own["share_removed"].max() >= LEAST_SHARE:
            return family, str(own["group"].iloc[int(own["share_removed"].to_numpy().argmax())])
    return "", ""


def _clock_notes(times: JobTimes) -> tuple[str, ...]:
    """Sentences on what the clocks leave unsure."""
    notes = []
    if times.n_clamped:
        notes.append(f"{times.n_clamped} transfers end 10 ms or more before their last member has started: taken as 0.")
    early = int(times.gap_ns.min())
    if early < 0:
        number = int((times.gap_ns < 0).sum())
        notes.append(
            f"{number} operations start before what they follow has ended, by up to {-early / 1e6:.3g} ms: clocks, or rounding."
        )
    return tuple(notes)
