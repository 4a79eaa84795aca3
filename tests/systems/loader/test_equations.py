"""The loader's equations against a queue simulated batch by batch, and the paper's figures."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.loader.equations import loaded_step_s, lost_devices, samples_per_s, workers_needed


def simulated_step_s(compute: np.ndarray, load: np.ndarray, depth: int) -> float:
    """One worker and one trainer: a batch waits in a queue of ``depth``, the worker waits while it is full."""
    taken = np.zeros(len(compute))
    ready = end = 0.0
    for number in range(len(compute)):
        # The worker puts a batch only where fewer than `depth` wait.
        begin = max(ready, taken[number - depth - 1] if number > depth else 0.0)
        ready = begin + load[number]
        taken[number] = max(end, ready)
        end = taken[number] + compute[number]
    half = len(compute) // 2
    return float((taken[-1] - taken[half]) / (len(compute) - 1 - half))


@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.0, 1.25, 2.0])
@pytest.mark.parametrize("spread", [0.0, 0.1, 0.25])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_mean_step_is_the_queues(ratio: float, spread: float, depth: int) -> None:
    rng = np.random.default_rng(11)
    compute = rng.gamma(1 / spread**2, 0.1 * spread**2, 20_000) if spread else np.full(200, 0.1)
    load = rng.gamma(1 / spread**2, 0.1 * ratio * spread**2, 20_000) if spread else np.full(200, 0.1 * ratio)
    found = loaded_step_s(0.1, 0.1 * ratio, 0.1 * spread, 0.1 * ratio * spread, depth)
    assert float(found) == pytest.approx(simulated_step_s(compute, load, depth), rel=0.02)


def test_workers_cores_or_storage_decide() -> None:
    np.testing.assert_allclose(samples_per_s([1, 4, 8], 0.01, 0.01, n_cores=2), [50, 200, 200])
    assert samples_per_s(8, 0.01, sample_bytes=1e6, storage_bytes_per_s=1e8) == 100
    assert samples_per_s(2, 0.02) == 100


@pytest.mark.parametrize(("batch_s", "n"), [(0.05, 1), (0.1, 1), (0.30000001, 4), (0.3, 3)])
def test_the_smallest_number_that_keeps_up(batch_s: float, n: int) -> None:
    assert workers_needed(0.1, batch_s) == n
    step = max(0.1, batch_s / n)
    assert step == pytest.approx(0.1, rel=1e-6)


def test_seventeen_percent_of_eight_devices() -> None:
    assert 1.0 < float(lost_devices(1.0, 0.83, 8)) < 2.0
    assert float(lost_devices(1.0, 1.0, 8)) == 0.0
