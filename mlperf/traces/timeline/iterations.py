"""Iterations of a program that nobody marked: which sequence of events repeats, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mlperf.core.arrays import BoolArray, FloatArray, IntArray
from mlperf.core.errors import DataError
from mlperf.traces.events.kinds import UNSET, Kind
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.phases import PHASES, launch_phases
from mlperf.traces.timeline.windows import DEVICE_KINDS, Windows

GAP_WITHIN, GAP_SHARE = 0.15, 0.6
LEVEL_WITHIN = 0.08
PRESENT_SHARE = 0.005
"""A phase with fewer of the events than this is not asked for in every iteration."""
OUTLIER_MADS = 5.0
COLUMNS = ("level", "period_events", "n", "cover", "anchor")


@dataclass(frozen=True, slots=True, eq=False)
class LoopNest:
    """Levels of repetition in a sequence, the shortest first.

    Attributes
    ----------
    levels : DataFrame
        ``level`` (from 0), ``period_events``, ``n`` (iterations), ``cover`` (share of the recurring events that they explain),
        ``anchor`` (the event that opens one).
    starts : tuple of int64 arrays
        Places of the anchors, by level.
    has_phases : array of bool, shape (n_levels,)
        Whether an iteration of the level holds every phase that the sequence has.
    """

    levels: pd.DataFrame
    starts: tuple[IntArray, ...]
    has_phases: BoolArray

    @property
    def chosen(self) -> int:
        """The shortest level whose iteration holds every phase; -1 where none does."""
        found = np.flatnonzero(self.has_phases)
        return int(found[0]) if len(found) else -1


def loop_nest(ids: IntArray, phase: NDArray[np.int8], names: Sequence[str] = ()) -> LoopNest:
    """Find the levels of a sequence.

    Parameters
    ----------
    ids : array of int64, shape (n_events,)
        What each event is, numbers from 0.
    phase : array of int8, shape (n_events,)
        Phase of each, -1 for none.
    names : sequence of str
        What the ids are called.

    Notes
    -----
    Every id that recurs votes for its median distance, in events, if at least 60 % of its distances lie within 15 % of it. Votes
    within 8 % of each other are a level.
    """
    places = _places(ids)
    votes = sorted((period, each) for each in range(len(places)) if (period := _vote(places[each])) > 0)
    rows: list[tuple[object, ...]] = []
    starts: list[IntArray] = []
    whole: list[bool] = []
    wanted = _present(phase)
    for members in _clusters(votes):
        anchor, period = _anchor(members, places)
        at = _whole(places[anchor], period, len(ids))
        cover = _cover(ids, at, period)
        name = names[anchor] if anchor < len(names) else str(anchor)
        rows.append((len(rows), period, len(at), cover, name))
        starts.append(at)
        whole.append(_holds(phase, at, period, wanted))
    return LoopNest(pd.DataFrame(rows, columns=list(COLUMNS)), tuple(starts), np.array(whole, dtype=bool))


def _places(ids: IntArray) -> list[IntArray]:
    """Where each id occurs."""
    order = np.argsort(ids, kind="stable")
    counts = np.bincount(ids) if len(ids) else np.zeros(0, dtype=np.int64)
    return list(np.split(order, np.cumsum(counts)[:-1])) if len(counts) else []


def _vote(at: IntArray) -> float:
    """The period that an id tells, 0 for none."""
    if len(at) < 2:
        return 0.0
    gaps = np.diff(at)
    middle = float(np.median(gaps))
    regular = float((np.abs(gaps - middle) <= GAP_WITHIN * middle).mean())
    return middle if middle >= 2 and regular >= GAP_SHARE else 0.0


def _clusters(votes: list[tuple[float, int]]) -> list[list[tuple[float, int]]]:
    """Votes whose periods follow each other within 8 %."""
    found: list[list[tuple[float, int]]] = []
    for vote in votes:
        if found and vote[0] <= found[-1][0][0] * (1 + LEVEL_WITHIN):
            found[-1].append(vote)
        else:
            found.append([vote])
    return found


def _anchor(members: list[tuple[float, int]], places: list[IntArray]) -> tuple[int, int]:
    """Of a level's ids one that hardly ever misses, the first such to occur, and its period.

    A recording may lose events, so that the second largest number of occurrences is nearer the truth than the usual one.
    """
    counts = sorted((len(places[each]) for _, each in members), reverse=True)
    enough = counts[min(1, len(counts) - 1)]
    fitting = [(int(places[each][0]), each, period) for period, each in members if len(places[each]) >= enough]
    _, anchor, period = min(fitting)
    return anchor, round(period)


def _whole(at: IntArray, period: int, n_events: int) -> IntArray:
    """Anchors without the last one where the recording ends inside its iteration."""
    return at[:-1] if len(at) > 2 and n_events - at[-1] < (1 - GAP_WITHIN) * period else at


def _cover(ids: IntArray, at: IntArray, period: int) -> float:
    """Share of the recurring events that iterations of the usual body explain."""
    counts = np.bincount(ids)
    recurring = counts >= 2
    if not recurring.any():
        return 0.0
    segment = np.searchsorted(at, np.arange(len(ids)), "right") - 1
    inside = (segment >= 0) & (np.arange(len(ids)) < at[-1] + period)
    width = int(counts.size)
    cells = np.bincount(segment[inside] * width + ids[inside], minlength=len(at) * width).reshape(len(at), width)
    body = np.median(cells, axis=0)
    explained = np.minimum(cells, body).sum(axis=0)[recurring].sum()
    return float(explained / counts[recurring].sum())


def _present(phase: NDArray[np.int8]) -> list[int]:
    """Phases that a sequence has."""
    return [number for number in range(len(PHASES)) if np.count_nonzero(phase == number) > max(PRESENT_SHARE * len(phase), 1)]


def _holds(phase: NDArray[np.int8], at: IntArray, period: int, wanted: list[int]) -> bool:
    """Whether the usual iteration has all wanted phases."""
    if not wanted:
        return False
    ends = np.append(at[1:], min(int(at[-1]) + period, len(phase)))
    for number in wanted:
        upto = np.concatenate(([0], np.cumsum(phase == number)))
        if np.median(upto[ends] - upto[at]) < 1:
            return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class Repeated:
    """Iterations that structure tells.

    Attributes
    ----------
    windows : Windows
        From anchor to anchor; the last one as many events long as the others.
    nest : LoopNest
    level : int
        Which was taken.
    is_outlier : array of bool, shape (n_iterations,)
        Lengths beyond the median by five median deviations.
    """

    windows: Windows
    nest: LoopNest
    level: int
    is_outlier: BoolArray


def repeated_steps(table: EventTable, rank: int, level: int | None = None) -> Repeated:
    """Iterations of a rank by what repeats on its device (on the host where it has none).

    Parameters
    ----------
    table : EventTable
    rank : int
    level : int, optional
        Of the nest; without it the shortest that holds every phase of the trace.

    Raises
    ------
    DataError
        Nothing repeats, or no level holds every phase: the message lists the levels.
    """
    rows = _sequence(table, rank)
    numbers, ids = np.unique(table.name[rows], return_inverse=True)
    nest = loop_nest(ids.reshape(-1).astype(np.int64), launch_phases(table, rows), [text[:60] for text in table.text(numbers)])
    place = ", ".join(table.sources[:1])
    if not len(nest.levels):
        raise DataError("no repetition found", place=place, hint="--marker names what opens a step, --whole takes all as one.")
    taken = nest.chosen if level is None else level
    if not 0 <= taken < len(nest.levels):
        told = "; ".join(
            f"{row.level}: {row.n} x {row.period_events} events, cover {row.cover:.0%}" for row in nest.levels.itertuples()
        )
        raise DataError(
            f"which level is a step is not clear: {told}", place=place, hint="--level NUMBER, --marker REGEX or --whole."
        )
    at, period = nest.starts[taken], int(nest.levels["period_events"].iloc[taken])
    start = table.start_ns[rows[at]]
    after = min(int(at[-1]) + period, len(rows)) - 1
    last = int(table.start_ns[rows[after + 1]]) if after + 1 < len(rows) else int(table.end_ns[rows[at[-1] :]].max())
    end = np.append(start[1:], last)
    windows = Windows(rank, np.arange(len(at)), start, end, f"what repeats (level {taken})")
    return Repeated(windows, nest, taken, outliers((end - start).astype(float)))


def _sequence(table: EventTable, rank: int) -> IntArray:
    """Rows of what runs on the rank's device, else of its host's outermost calls, by start."""
    own = table.rank == rank
    rows = np.flatnonzero(own & np.isin(table.kind, [int(kind) for kind in DEVICE_KINDS]) & (table.name != UNSET))
    if not len(rows):
        rows = np.flatnonzero(own & (table.kind == Kind.REGION) & (table.name != UNSET))
    return rows[np.argsort(table.start_ns[rows], kind="stable")]


def outliers(lengths: FloatArray) -> BoolArray:
    """Lengths beyond the median by five median deviations."""
    middle = np.median(lengths)
    spread = np.median(np.abs(lengths - middle))
    found: BoolArray = np.abs(lengths - middle) > OUTLIER_MADS * spread
    return found
