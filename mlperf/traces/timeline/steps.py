"""Steps of all ranks of a trace: as somebody marked them, as they repeat, or the whole recording."""

from __future__ import annotations

import numpy as np

from mlperf.core.errors import DataError, UsageError
from mlperf.traces.events.table import EventTable
from mlperf.traces.timeline.iterations import repeated_steps
from mlperf.traces.timeline.windows import HINT, Windows, marked_steps, whole_recording


def steps_of_ranks(
    table: EventTable, *, marker: str | None = None, level: int | None = None, whole: bool = False
) -> tuple[list[Windows], list[str]]:
    """Steps of every rank that has events, and what is to be said about them.

    Parameters
    ----------
    table : EventTable
    marker : str, optional
        Regular expression for the names of marks; without it ``ProfilerStep#n``.
    level : int, optional
        Level of the loop nest to take where nothing is marked.
    whole : bool
        Take the recording as one step.

    Raises
    ------
    UsageError
        More than one of the three is asked for.
    DataError
        There is no rank, no such mark, or nothing that repeats.
    """
    if sum((marker is not None, level is not None, whole)) > 1:
        raise UsageError("got several of a marker, a level and the whole recording, expected one")
    ranks = np.unique(table.rank[table.rank >= 0]).tolist()
    if not ranks:
        raise DataError("holds no event of a rank", place=table.place, hint=table.met)
    found, notes = [], []
    for rank in ranks:
        if whole:
            found.append(whole_recording(table, rank))
            continue
        windows = marked_steps(table, rank, marker) if level is None else None
        if windows is None and marker is not None:
            raise DataError(f"rank {rank} has no mark that fits {marker!r}", place=", ".join(table.sources[:1]), hint=HINT)
        if windows is None:
            repeated = repeated_steps(table, rank, level)
            windows = repeated.windows
            notes.append(_told(repeated.nest.levels.iloc[repeated.level], rank, int(repeated.is_outlier.sum())))
        found.append(windows)
    return found, notes


def _told(level: object, rank: int, n_outliers: int) -> str:
    """What was found, in words."""
    outliers = f"; {n_outliers} of them are unusually long or short" if n_outliers else ""
    n, period, cover = (level[name] for name in ("n", "period_events", "cover"))  # type: ignore[index]
    return f"rank {rank} marks no steps: {n} times {period} events repeat, {cover:.1%} of all that recur{outliers}"
