"""Who comes late to the exchange between ranks, and what the step would take if nobody did."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mlperf.core.arrays import FloatArray
from mlperf.planning.advice.facts.phases import phases_by_role
from mlperf.traces.events.kinds import Kind
from mlperf.traces.ranks.culprits import Culprits, culprits
from mlperf.traces.whole_run.recording import Recording
from mlperf.traces.whole_run.steps import RunSteps, column_name, with_ranks

NS = 1e-9
TOGETHER = 0.5
"""Ranks leave an exchange together: less of their distance at its begin than this is left at its end."""


@dataclass(frozen=True, slots=True, eq=False)
class RankFacts:
    """Arrivals of all ranks at the first exchange of each step.

    Attributes
    ----------
    ranks : tuple of int
    step_s : array, shape (n_steps,)
        Mean over ranks.
    work_s : array, shape (n_steps, n_ranks)
        From a rank's begin of the step to its exchange.
    culprits : Culprits
        Who is late.
    """

    ranks: tuple[int, ...]
    step_s: FloatArray
    work_s: FloatArray
    culprits: Culprits

    @property
    def balanced_s(self) -> FloatArray:
        """What the latest costs beyond the median of the others, by step, seconds."""
        if self.work_s.shape[1] < 2:
            return np.zeros(len(self.work_s))
        ordered = np.sort(self.work_s, axis=1)
        found: FloatArray = ordered[:, -1] - np.median(ordered[:, :-1], axis=1)
        return found


def rank_facts(recording: Recording, steps: RunSteps) -> RankFacts | None:
    """Look at the ranks; None where there is one, or no exchange is marked, recorded or to be seen in when phases end."""
    ranks = tuple(each.rank for each in steps.windows)
    if len(ranks) < 2:
        return None
    table = steps.settled.pivot_table(index="step", columns="rank", values="step_s")
    arrived = _arrivals(recording, steps)
    if arrived.isna().all(axis=None):
        arrived = _hidden_exchange(recording, steps, table.index)
    work = arrived.reindex(index=table.index, columns=list(ranks)).to_numpy(float)
    known = np.isfinite(work).all(axis=1)
    if not known.any():
        return None
    late = work[known] - work[known].min(axis=1, keepdims=True)
    # A moment of chance on every rank is nobody's fault: what counts is beyond the median of the others.
    cost = np.where(late == late.max(axis=1, keepdims=True), late - np.median(late, axis=1, keepdims=True), 0.0)
    return RankFacts(ranks, table[list(ranks)].to_numpy(float)[known].mean(axis=1), work[known], culprits(cost))


def _arrivals(recording: Recording, steps: RunSteps) -> pd.DataFrame:
    """Time from a step's begin to its first exchange, seconds, by step and rank."""
    events = with_ranks(recording.events)
    names = phases_by_role(steps.phases).get("exchange", [])
    numbers = [number for number, text in enumerate(events.strings) if column_name(text) in names]
    marked = (events.kind == Kind.REGION) & np.isin(events.name, numbers)
    wanted = marked if marked.any() else events.kind == Kind.COLL
    found = {}
    for windows in steps.windows:
        start = np.sort(events.start_ns[wanted & (events.rank == windows.rank)])
        place = np.searchsorted(start, windows.start_ns)
        first = np.append(start, np.iinfo(np.int64).max)[place]
        inside = first < windows.end_ns
        found[windows.rank] = pd.Series(
            np.where(inside, (first - windows.start_ns) * NS, np.nan), index=windows.number, dtype=float
        )
    return pd.DataFrame(found)


def _hidden_exchange(recording: Recording, steps: RunSteps, numbers: pd.Index) -> pd.DataFrame:
    """Time from a step's begin to the phase that ranks begin apart and end together: there they wait for each other unmarked.

    Frameworks that sum gradients while they compute them show no exchange of their own.
    """
    begins, ends = _first_times(recording, steps)
    best, most = pd.DataFrame(), 0.0
    for phase, begin in begins.items():
        apart, left = (float(_spread(each.reindex(numbers))) for each in (begin, ends[phase]))
        if apart - left > most and left < TOGETHER * apart:
            best, most = begin, apart - left
    return best


def _spread(times: pd.DataFrame) -> float:
    """Mean over the steps of the distance between the first rank and the last."""
    return float((times.max(axis=1) - times.min(axis=1)).mean())


def _first_times(recording: Recording, steps: RunSteps) -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Begin and end of each phase's first mark in a step, seconds from the step's begin, by step and rank."""
    events = with_ranks(recording.events)
    begins: dict[str, dict[int, pd.Series]] = {}
    ends: dict[str, dict[int, pd.Series]] = {}
    for phase in steps.phases:
        numbers = [number for number, text in enumerate(events.strings) if column_name(text) == phase]
        marked = (events.kind == Kind.REGION) & np.isin(events.name, numbers)
        for windows in steps.windows:
            rows = np.flatnonzero(marked & (events.rank == windows.rank))
            rows = rows[np.argsort(events.start_ns[rows], kind="stable")]
            if not len(rows):
                continue
            first = np.searchsorted(events.start_ns[rows], windows.start_ns)
            inside = first < len(rows)
            row = rows[np.minimum(first, len(rows) - 1)]
            inside &= events.start_ns[row] < windows.end_ns
            for found, moments in ((begins, events.start_ns), (ends, events.end_ns)):
                since = np.where(inside, (moments[row] - windows.start_ns) * NS, np.nan)
                found.setdefault(phase, {})[windows.rank] = pd.Series(since, index=windows.number, dtype=float)
    return {phase: pd.DataFrame(each) for phase, each in begins.items()}, {
        phase: pd.DataFrame(each) for phase, each in ends.items()
    }
