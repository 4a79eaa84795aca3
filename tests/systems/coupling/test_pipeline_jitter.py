"""Pipelines whose passes vary against schedules drawn pass by pass."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.pipeline import pipeline_makespan
from mlperf.systems.coupling.pipeline_jitter import jitter_excess_s, makespan_std_s


def drawn(n_stages: int, m: int, schedule: str, variation: float, imbalance: float = 1.0) -> np.ndarray:
    """Makespans of 400 steps; forward 1, backward 2, the last stage slower."""
    rng = np.random.default_rng(n_stages * 100 + m)
    shares = np.ones((n_stages, 1, 1))
    shares[-1] = imbalance
    forward, backward = shares + 0.0, 2.0 * shares
    forward = forward + variation * rng.standard_normal((n_stages, m, 400))
    backward = backward + 2.0 * variation * rng.standard_normal((n_stages, m, 400))
    return pipeline_makespan(forward, backward, m, schedule)


@pytest.mark.parametrize(("n_stages", "m"), [(2, 8), (4, 8), (4, 32), (5, 20), (8, 16), (8, 64), (16, 16)])
@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize("variation", [0.02, 0.1])
def test_the_excess_is_that_of_drawn_schedules(n_stages: int, m: int, schedule: str, variation: float) -> None:
    """Within 4 % of the step times the coefficient of variation, and half of what leaving it out would miss."""
    step = 3.0 * (m + n_stages - 1)
    found = float(jitter_excess_s(variation, 2 * variation, n_stages, m, ("gpipe", "1f1b").index(schedule)))
    makespans = drawn(n_stages, m, schedule, variation)
    missed = makespans.mean() - step
    noise = 3.0 * makespans.std() / np.sqrt(makespans.size)
    assert abs(found - missed) <= 0.04 * variation * step + noise
    assert abs(found - missed) <= 0.5 * missed


@pytest.mark.parametrize("imbalance", [1.05, 1.2, 2.0])
@pytest.mark.parametrize(("n_stages", "m"), [(4, 32), (8, 32)])
def test_a_slower_stage_is_seldom_delayed(n_stages: int, m: int, imbalance: float) -> None:
    variation = 0.05
    means = np.ones((n_stages, 1))
    means[-1] = imbalance
    ideal = float(pipeline_makespan(means, 2.0 * means, m, "1f1b"))
    makespans = drawn(n_stages, m, "1f1b", variation, imbalance)
    found = float(jitter_excess_s(variation, 2 * variation, n_stages, m, 1, 3.0 * (imbalance - 1.0)))
    noise = 3.0 * makespans.std() / np.sqrt(makespans.size)
    assert abs(ideal + found - makespans.mean()) <= 0.15 * variation * ideal + noise


def test_one_stage_or_one_micro_batch_waits_for_nobody() -> None:
    for schedule in (0, 1):
        assert jitter_excess_s(np.array(0.1), np.array(0.2), np.array([1.0, 8.0]), np.array([16.0, 1.0]), schedule).tolist() == [
            0,
            0,
        ]
    assert float(jitter_excess_s(0.0, 0.0, 4, 8, 1)) == 0.0


@pytest.mark.parametrize(("n_stages", "m"), [(1, 16), (2, 64), (4, 16), (8, 8), (16, 16)])
def test_makespans_vary_as_drawn_ones(n_stages: int, m: int) -> None:
    found = float(makespan_std_s(0.02, 0.04, n_stages, m))
    assert found == pytest.approx(drawn(n_stages, m, "1f1b", 0.02).std(), rel=0.2)
