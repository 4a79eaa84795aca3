"""Timelines of simulated runs against what the simulation recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlperf.planning import simulated_threads
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations
from mlperf.traces.timeline.lanes import UPDATE

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]


def test_nodes_and_threads_follow_from_the_numbers_of_gpus(heavy: Machine) -> None:
    recorded = simulate_iterations(*heavy(0.3, 0.2, 3, 2), seed=1, plan=SimulationPlan(n_updates=60, n_recorded=1500)).timeline
    threads = simulated_threads(recorded, 2).intervals
    frame = recorded.to_frame()
    fifth = frame[(frame["thread"] == "gpu") & (frame["index"] == 5)]
    shown = threads[(threads["node"] == 2) & (threads["thread"] == 1)]
    assert np.allclose(shown["begin_s"], np.sort(fifth["begin_s"]))
    assert len(threads) == len(frame)
    assert (threads["thread"] == UPDATE).sum() == (frame["thread"] == "update").sum()


def test_updates_are_numbered_in_their_order(heavy: Machine) -> None:
    plan = SimulationPlan(n_updates=60, n_recorded=1500)
    threads = simulated_threads(simulate_iterations(*heavy(0.3, 0.2, 3, 2), seed=1, plan=plan).timeline, 2).intervals
    for _, rows in threads[threads["activity"] == "update_weights"].groupby("node"):
        assert rows["update"].tolist() == list(range(len(rows)))
    barrier = threads[threads["activity"] == "allreduce"]
    assert barrier.groupby("update")["end_s"].nunique().max() == 1


def test_nothing_recorded_is_an_empty_timeline(heavy: Machine) -> None:
    recorded = simulate_iterations(*heavy(0.3, 0.2, 1, 1), seed=1, plan=SimulationPlan(n_updates=60)).timeline
    assert simulated_threads(recorded, 1).span_s == (0.0, 0.0)
