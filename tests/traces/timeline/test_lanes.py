"""Windows of timelines, and their sums."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mlperf.core.errors import UsageError
from mlperf.planning import recorded_threads
from mlperf.traces.timeline import summarise
from mlperf.traces.timeline.lanes import LOCK_WAITS


def test_a_window_holds_what_touches_it(run_folder: Callable[..., Path]) -> None:
    timeline = recorded_threads(run_folder())
    inside = timeline.within(0.1, 0.2).intervals
    every = timeline.intervals
    assert len(inside) == ((every["end_s"] > 0.1) & (every["begin_s"] < 0.2)).sum()
    for wrong in ((0.2, 0.1), (1e6, 2e6)):
        with pytest.raises(UsageError, match="window"):
            timeline.within(*wrong)


def test_the_middle_lies_between_publications(run_folder: Callable[..., Path]) -> None:
    timeline = recorded_threads(run_folder())
    table = timeline.intervals
    ends = table.loc[(table["activity"] == "update_weights") & (table["node"] == 0), "end_s"].tolist()
    begin_s, end_s = timeline.middle(2)
    assert {begin_s, end_s} <= set(ends)
    inside = table["begin_s"].between(begin_s, end_s) & table["activity"].isin(["gpu_work", "compute_gradient"])
    assert table[inside].groupby(["node", "thread"]).size().min() >= 2, "three iterations begin and end about two gradients"
    assert ends.index(end_s) - ends.index(begin_s) >= 2
    assert timeline.middle(50) == timeline.span_s


def test_the_summary_adds_up_each_thread(run_folder: Callable[..., Path]) -> None:
    timeline = recorded_threads(run_folder())
    found = summarise(timeline, "threads.svg")
    table = timeline.intervals
    length = table["end_s"] - table["begin_s"]
    assert found.threads["lock_wait_s"].sum() == pytest.approx(length[table["activity"].isin(LOCK_WAITS)].sum())
    assert found.threads["barrier_s"].sum() == pytest.approx(length[table["activity"] == "barrier"].sum())
    assert found.threads[["work_s", "lock_wait_s", "barrier_s"]].sum().sum() == pytest.approx(length.sum())
    assert found.n_intervals == found.threads["n_intervals"].sum() == len(table)
