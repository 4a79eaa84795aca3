"""All what-ifs over groups of operations of a job, in one batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.traces.ranks.job_graph import JobGraph
from mlperf.traces.ranks.job_groups import DATA, STAGE, WORKER, Groups
from mlperf.traces.ranks.job_times import JobTimes, Scenarios, step_times

WORST_SHARE = 0.03
"""Share of the workers, rounded up, that count as the worst."""


@dataclass(frozen=True, slots=True, eq=False)
class JobWhatIfs:
    """Step times under every assumption, nanoseconds.

    Attributes
    ----------
    groups : Groups
        What is left as it is, or made typical.
    measured_ns, replayed_ns : array of int64, shape (n_steps,)
        Last end of each step as recorded, and as replayed with gaps.
    no_gaps_ns, ideal_ns : array of int64, shape (n_steps,)
        Without gaps; and every operation besides with the typical time of its kind.
    alone_ns : array of int64, shape (n_groups, n_steps)
        Only the group's operations keep their own times, the others are typical; without gaps.
    fixed_ns, fixed_with_gaps_ns : array of int64, shape (n_groups, n_steps)
        Only the group's operations are typical; without gaps and with them.
    worst_workers : array of int64
        Groups: the 3 % of workers with the largest of min(slowdown of their dp_rank, slowdown of their stage).
    worst_fixed_ns : array of int64, shape (n_steps,)
        These all typical, without gaps.
    """

    groups: Groups
    measured_ns: IntArray
    replayed_ns: IntArray
    no_gaps_ns: IntArray
    ideal_ns: IntArray
    alone_ns: IntArray
    fixed_ns: IntArray
    fixed_with_gaps_ns: IntArray
    worst_workers: IntArray
    worst_fixed_ns: IntArray

    @property
    def slowdown(self) -> float:
        """Mean step without gaps over the mean ideal step."""
        return float(self.no_gaps_ns.mean() / self.ideal_ns.mean())

    @property
    def slowdown_alone(self) -> FloatArray:
        """The same where only one group keeps its own times, shape (n_groups,)."""
        return np.asarray(self.alone_ns.mean(axis=1) / self.ideal_ns.mean())

    @property
    def share_removed(self) -> FloatArray:
        """Share of the slowdown that goes when a group is made typical, shape (n_groups,); NaN where there is no slowdown."""
        return self.share(self.fixed_ns.mean(axis=1))

    def share(self, step_ns: FloatArray | float) -> FloatArray:
        """Share of the slowdown that is gone in a step of some length, without gaps."""
        slow = self.no_gaps_ns.mean() - self.ideal_ns.mean()
        return np.asarray((self.no_gaps_ns.mean() - step_ns) / slow if slow else np.full(np.shape(step_ns), np.nan))

    @property
    def saved_ns(self) -> IntArray:
        """What each step without gaps saves when a group is made typical, shape (n_groups, n_steps)."""
        return self.no_gaps_ns - self.fixed_ns

    @property
    def saved_with_gaps_ns(self) -> IntArray:
        """The same with every gap kept as it is, shape (n_groups, n_steps)."""
        return self.replayed_ns - self.fixed_with_gaps_ns


def job_what_ifs(graph: JobGraph, times: JobTimes, groups: Groups) -> JobWhatIfs:
    """Ask everything about every group.

    References
    ----------
    Slowdowns by group and worst workers: StragglerAnalysis (Lin et al., OSDI 2025).
    """
    n_groups, n_operations = groups.members.shape
    everything, nothing = np.ones((1, n_operations), dtype=bool), np.zeros((1, n_operations), dtype=bool)
    others = ~groups.members
    kept = np.concatenate((everything, nothing, groups.members, others, everything, others))
    gaps = np.arange(len(kept)) >= 2 + 2 * n_groups
    found = step_times(graph, times, Scenarios(kept, gaps))
    no_gaps, ideal, alone, fixed, replayed, with_gaps = np.split(found, np.cumsum((1, 1, n_groups, n_groups, 1)))
    worst = worst_workers(groups, np.asarray(alone.mean(axis=1) / ideal.mean()))
    return JobWhatIfs(
        groups=groups,
        measured_ns=times.measured_ns,
        replayed_ns=replayed[0],
        no_gaps_ns=no_gaps[0],
        ideal_ns=ideal[0],
        alone_ns=alone,
        fixed_ns=fixed,
        fixed_with_gaps_ns=with_gaps,
        worst_workers=worst,
        worst_fixed_ns=fixed[worst[0]]
        if len(worst) == 1
        else _made_typical(graph, times, np.asarray(groups.members[worst].any(axis=0))),
    )


def worst_workers(groups: Groups, slowdown_alone: FloatArray) -> IntArray:
    """The workers with the largest of min(slowdown of their dp_rank, slowdown of their stage), the worst first."""
    workers, ranks, stages = groups.of(WORKER), groups.of(DATA), groups.of(STAGE)
    both = np.minimum(slowdown_alone[ranks][:, None], slowdown_alone[stages][None, :]).ravel()
    worst: IntArray = workers[np.argsort(-both, kind="stable")[: int(np.ceil(WORST_SHARE * len(workers)))]]
    return worst


def _made_typical(graph: JobGraph, times: JobTimes, chosen: BoolArray) -> IntArray:
    """Steps in which some operations are typical, without gaps."""
    found: IntArray = step_times(graph, times, Scenarios(~chosen[None, :], np.zeros(1, dtype=bool)))[0]
    return found
