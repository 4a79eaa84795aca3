"""Tables of what was found about a job: groups, patterns, steps, operations, assumptions, dominoes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from mlperf.core.arrays import IntArray
from mlperf.traces.ranks.culprits import Culprits
from mlperf.traces.ranks.job_domino import JobDomino
from mlperf.traces.ranks.job_edits import Assumption, any_gaps, assumed_step_ns
from mlperf.traces.ranks.job_graph import JobGraph, operation_names
from mlperf.traces.ranks.job_grid import JobGrid
from mlperf.traces.ranks.job_groups import FAMILIES, operation_columns
from mlperf.traces.ranks.job_times import JobTimes
from mlperf.traces.ranks.job_what_ifs import JobWhatIfs
from mlperf.traces.ranks.step_forecast import mean_interval

NS_PER_S = 1e9
N_OPERATIONS = 10
"""Operations that are listed by themselves."""


def groups_frame(found: JobWhatIfs, late: Mapping[str, Culprits]) -> pd.DataFrame:
    """The table of groups, by what they bring."""
    saved = found.saved_ns / NS_PER_S
    ends = np.array([mean_interval(one) for one in saved])
    shares = np.concatenate([late[family].shares for family in dict.fromkeys(found.groups.family)])
    frame = pd.DataFrame(
        {
            "family": found.groups.family,
            "group": found.groups.name,
            "slowdown_alone": found.slowdown_alone,
            "share_removed": found.share_removed,
            "saved_s": saved.mean(axis=1),
            "saved_lower_s": ends[:, 0],
            "saved_upper_s": ends[:, 1],
            "saved_with_gaps_s": found.saved_with_gaps_ns.mean(axis=1) / NS_PER_S,
            "share_of_steps": shares,
        }
    )
    return frame.sort_values("saved_s", ascending=False, kind="stable", ignore_index=True)


def patterns_frame(found: JobWhatIfs, late: Mapping[str, Culprits], grid: JobGrid) -> pd.DataFrame:
    """Who leads in each family, and how steadily."""
    rows = []
    for family, one in late.items():
        leader = found.groups.name[found.groups.of(family)[one.leader]] if one.leader >= 0 else ""
        bad = ", ".join(str(step) for step in grid.steps[one.bad_steps].tolist())
        rows.append((family, leader, one.share_of_steps, one.pattern, bad))
    return pd.DataFrame(rows, columns=["family", "leader", "share_of_steps", "pattern", "bad_steps"])


def steps_frame(found: JobWhatIfs, late: Mapping[str, Culprits], grid: JobGrid) -> pd.DataFrame:
    """One row a step."""
    frame = pd.DataFrame(
        {
            "step": grid.steps,
            "measured_s": found.measured_ns / NS_PER_S,
            "no_gaps_s": found.no_gaps_ns / NS_PER_S,
            "slowdown": found.no_gaps_ns / found.ideal_ns,
        }
    )
    for family in FAMILIES[:-1]:
        names = np.array([*(found.groups.name[number] for number in found.groups.of(family).tolist()), ""], dtype=object)
        frame[family] = names[late[family].latest]
    return frame


def assumptions_frame(grid: JobGrid, graph: JobGraph, times: JobTimes, assumptions: Sequence[Assumption]) -> pd.DataFrame:
    """What the user's assumptions bring, each by itself and all together."""
    asked: list[tuple[str, tuple[Assumption, ...]]] = [(one.text, (one,)) for one in assumptions]
    if len(asked) > 1:
        asked.append(("all together", tuple(assumptions)))
    rows = []
    for text, together in asked:
        before_ns, step_ns = (assumed_step_ns(grid, graph, times, edits, gaps=any_gaps(together)) for edits in ((), together))
        saved = (before_ns - step_ns) / NS_PER_S
        rows.append(
            (text, step_ns.mean() / NS_PER_S, saved.mean(), *mean_interval(saved), saved.sum() / (before_ns.sum() / NS_PER_S))
        )
    return pd.DataFrame(rows, columns=["assumption", "step_s", "saved_s", "saved_lower_s", "saved_upper_s", "saved_share"])


def operations_frame(grid: JobGrid, times: JobTimes, saved_ns: IntArray) -> pd.DataFrame:
    """The operations whose typical time, each by itself, would save most in the mean over the steps."""
    mean = saved_ns.mean(axis=1)
    best = np.argsort(-mean, kind="stable")[:N_OPERATIONS]
    best = best[mean[best] > 0]
    columns = operation_columns(grid)
    return pd.DataFrame(
        {
            "operation": [grid.names[number] for number in columns["operation"][best].tolist()],
            "sequence": columns["sequence"][best],
            "dp_rank": columns["dp_rank"][best],
            "stage": columns["stage"][best],
            "own_s": times.own_ns[best].mean(axis=1) / NS_PER_S,
            "typical_s": times.typical_ns[best] / NS_PER_S,
            "saved_s": mean[best] / NS_PER_S,
            "most_saved_s": saved_ns[best].max(axis=1) / NS_PER_S,
        }
    )


def dominoes_frame(grid: JobGrid, found: JobDomino, total_ns: int) -> pd.DataFrame:
    """The waits of a domino path, the one to remove first on top."""
    return pd.DataFrame(
        {
            "waits": operation_names(grid, found.operations)[::-1],
            "for": operation_names(grid, found.partners)[::-1],
            "wait_s": found.wait_ns[::-1] / NS_PER_S,
            "step_s": found.total_ns[::-1] / NS_PER_S,
            "saved_s": (total_ns - found.total_ns[::-1]) / NS_PER_S,
        }
    )
