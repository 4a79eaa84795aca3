"""The threads of a predicted configuration: all of them, for about forty updates of the length that the equations give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import UsageError
from mlperf.planning import PredictionOptions, simulated_configuration, simulated_threads
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations
from mlperf.traces.timeline.lanes import UPDATE


def test_a_predicted_configuration_has_all_its_threads(small_model: Any) -> None:
    cnn = load_cnn("alexnet")
    machine, job = load_machine("cpu-cluster"), JobSpec(dataset_size=10_000)
    prediction = mlperf.predict_epoch(small_model, cnn, machine, job, n_nodes=2, subbatch_size=4)
    timeline = simulated_configuration(small_model, prediction, [cnn], machine, PredictionOptions(seed=1))
    assert timeline.lanes == [(0, 0), (0, 1), (0, UPDATE), (1, 0), (1, 1), (1, UPDATE)]
    published = timeline.intervals[timeline.intervals["activity"] == "update_weights"].groupby("node").size()
    assert (published >= 20).all()
    mean_s = timeline.intervals.loc[timeline.intervals["thread"] == UPDATE].groupby("node")["end_s"].max() / published
    assert np.allclose(mean_s, prediction.update_iteration_s[0], rtol=0.2)
    several = mlperf.predict_epoch(small_model, cnn, machine, job, n_nodes=[1, 2], subbatch_size=4)
    with pytest.raises(UsageError, match="2 configurations"):
        simulated_configuration(small_model, several, [cnn], machine, PredictionOptions())


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
