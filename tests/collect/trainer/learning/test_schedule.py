"""Schedules without a clock by hand, by their means, and against the order that the equations of SPRINT expect."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.collect.trainer.learning.schedule import Pacing, scheduled_uses


def test_a_worker_in_step_is_used_by_the_update_after_next() -> None:
    """An iteration of one update that begins at t = k - u reads version k - 1 and is summed at time k + 1 at the latest."""
    uses = scheduled_uses(1, 1, 20, Pacing(1.0, variation=0.0), seed=3)
    later = uses[uses["version"] > 0]
    assert (later["update"] - later["version"] == 2).all()
    assert later["update"].diff().dropna().eq(1).all()


@pytest.mark.parametrize("iteration", [0.3, 1.0, 4.5])
@pytest.mark.parametrize("delay", [0, 5])
def test_means_are_those_of_the_pacing(iteration: float, delay: int) -> None:
    """Length L, one update until the sum, the delay: staleness L + 1 + delay, and M n / L gradients an update."""
    pacing = Pacing(iteration, 0.5, delay)
    uses = scheduled_uses(2, 3, 6000, pacing, seed=1)
    late = uses[uses["update"] > 100]
    # Four standard errors; the spread of a staleness is below half an iteration and a half.
    age = (late["update"] - late["version"]).mean()
    assert age == pytest.approx(pacing.staleness, abs=4.0 * (0.5 * iteration + 0.5) / np.sqrt(len(late)) + 0.02)
    assert 8.0 * len(late) / 5900 == pytest.approx(pacing.mean_minibatch_size(6, 8), rel=0.02)


def test_a_gradient_reads_weights_that_were_there_and_is_used_once() -> None:
    uses = scheduled_uses(2, 2, 300, Pacing(2.0, 0.8, 3), seed=5)
    assert (uses["version"] >= 0).all()
    assert (uses["update"] - uses["version"])[uses["version"] > 0].min() >= 3 + 1
    assert not uses.duplicated(["node", "gpu", "iteration"]).any()
    assert uses["update"].between(0, 299).all()
    for _, one in uses.groupby(["node", "gpu"]):
        assert one["iteration"].tolist() == list(range(len(one)))
        assert one["version"].is_monotonic_increasing


def test_a_seed_draws_the_same_schedule() -> None:
    first, again, other = (scheduled_uses(1, 2, 50, Pacing(1.5), seed) for seed in (7, 7, 8))
    assert first.equals(again)
    assert not first.equals(other)
