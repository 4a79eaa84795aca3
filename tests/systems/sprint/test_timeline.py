"""Recorded intervals against the run they come from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mlperf.systems.base.times import ComponentTimes, RunGrid
from mlperf.systems.sprint.simulate import SimulationPlan, simulate_iterations

Machine = Callable[..., tuple[ComponentTimes, RunGrid]]


def test_intervals_of_a_thread_fill_its_time_without_overlap(heavy: Machine) -> None:
    """From one event of a thread to its next there are only waits and activities, one after the other."""
    simulated = simulate_iterations(*heavy(0.3, 0.2, 3, 2), seed=1, plan=SimulationPlan(n_updates=60, n_recorded=2000))
    frame = simulated.timeline.to_frame()
    assert set(frame.thread) == {"gpu", "update"}
    assert frame.groupby("thread")["index"].nunique().to_dict() == {"gpu": 6, "update": 3}
    for _, rows in frame.groupby(["thread", "index"]):
        ordered = rows.sort_values("begin_s")
        assert ordered.end_s.to_numpy()[:-1] == pytest.approx(ordered.begin_s.to_numpy()[1:], abs=1e-9)


def test_durations_are_the_component_times(heavy: Machine) -> None:
    times, run = heavy(0.3, 0.2, 3, 2)
    frame = simulate_iterations(times, run, seed=1, plan=SimulationPlan(n_updates=60, n_recorded=2000)).timeline.to_frame()
    lengths = (frame.end_s - frame.begin_s).groupby(frame.activity)
    for activity, seconds in (("fetch_weights", 0.008), ("sum_gradient", 0.0246), ("update_weights", 0.013), ("allreduce", 0.10)):
        assert lengths.get_group(activity).to_numpy() == pytest.approx(seconds, abs=1e-9)
    assert (lengths.get_group("lock_gradient_update") <= 0.02 + 1e-9).all()
    assert {"barrier", "gpu_work", "prepare", "update_momentum"} <= set(frame.activity)


def test_nothing_recorded_is_an_empty_timeline(heavy: Machine) -> None:
    timeline = simulate_iterations(*heavy(0.3, 0.2, 1, 1), seed=1, plan=SimulationPlan(n_updates=60)).timeline
    assert timeline.activity == ()
    assert timeline.end_s.shape == (0,)
    assert np.array(timeline.to_frame()).shape == (0, 5)
