"""Synchronous data parallelism against its limits, draws of stragglers, and a step simulated bucket by bucket."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.base.system import System
from mlperf.systems.data_parallel.replicated import DATA_PARALLEL
from mlperf.systems.registry import find_system

pytestmark = pytest.mark.slow

RUN = {"n_nodes": np.array([1, 2, 4]), "n_gpus_per_node": 4, "subbatch_size": 16, "dataset_size": 16_000}
TIMES = {"forward": 0.1, "backward": 0.2, "optimizer": 0.02, "overhead": 0.01}
NETWORK = {
    "gradient_bytes": 4e8,
    "latency_s": 2e-5,
    "bandwidth_bytes_per_s": 1e10,
    "local_latency_s": 1e-5,
    "local_bandwidth_bytes_per_s": 1e11,
}


def test_it_is_registered() -> None:
    assert find_system("data-parallel") is DATA_PARALLEL
    assert isinstance(DATA_PARALLEL, System)


def test_perfect_scaling_is_the_limit() -> None:
    """Nothing to exchange, nobody varies: the step of one worker, epochs shorter by the number of workers."""
    found = DATA_PARALLEL.solve({**TIMES, "exchange": 0.0}, RUN).outputs
    assert found["step_s"] == pytest.approx(0.33)
    assert found["efficiency"] == pytest.approx(1.0)
    assert found["epoch_s"] == pytest.approx(16_000 / (16 * 4 * np.array([1, 2, 4])) * 0.33)
    assert found["mean_minibatch_size"].tolist() == [64.0, 128.0, 256.0]


def test_without_overlap_everything_adds_up() -> None:
    times = {**TIMES, "exchange": 0.3, "input": 0.05}
    run = {**RUN, "overlap": 0.0, "input_overlap": 0.0, "accumulation": 3.0, "recomputed": 0.5}
    found = DATA_PARALLEL.solve(times, run)
    assert found.outputs["step_s"] == pytest.approx(3 * (0.05 + 0.1 + 0.2 + 0.05) + 0.3 + 0.02 + 0.01)
    assert sum(found.breakdown_s["step"].values()) == pytest.approx(found.outputs["step_s"])
    assert found.outputs["exposed_exchange_s"] == pytest.approx(0.3)
    assert found.outputs["mean_minibatch_size"].tolist() == [192.0, 384.0, 768.0]


def test_every_exchange_hides_but_the_last_bucket() -> None:
    """Small exchanges: one bucket shows. Large ones: all but the backward pass after the first bucket shows."""
    for exchange, shown in ((0.1, 0.1 / 10), (2.0, 2.0 - 0.2 * 9 / 10)):
        found = DATA_PARALLEL.solve({**TIMES, "exchange": exchange}, {**RUN, "n_buckets": 10.0}).outputs
        assert found["exposed_exchange_s"] == pytest.approx(shown)


def simulated_steps(n_steps: int, n_workers: int, n_buckets: int, exchange: float, spread: float) -> np.ndarray:
    """Workers start together; a bucket's ring starts when all of them have it; the step ends when all have the last one."""
    drawn = np.random.default_rng(n_workers).standard_normal((n_steps, n_workers))
    starts = np.maximum(1.0 + spread * drawn, 0.0)
    end = np.zeros(n_steps)
    for bucket in range(1, n_buckets + 1):
        ready = (starts + 2.0 * bucket / n_buckets).max(axis=1)
        end = np.maximum(end, ready) + exchange / n_buckets
    return end


@pytest.mark.parametrize(("n_nodes", "exchange"), [(4, 0.5), (16, 1.5), (16, 3.0)])
def test_stragglers_are_those_of_simulated_steps(n_nodes: int, exchange: float) -> None:
    drawn = simulated_steps(20_000, n_nodes, 8, exchange, 0.05)
    times = {"forward": 1.0, "forward_std": 0.05, "backward": 2.0, "exchange": exchange}
    run = {**RUN, "n_nodes": n_nodes, "n_gpus_per_node": 1, "n_buckets": 8.0}
    found = float(DATA_PARALLEL.solve(times, run).outputs["step_s"])
    assert found == pytest.approx(drawn.mean(), abs=4.0 * drawn.std() / np.sqrt(drawn.size))


def test_an_exchange_that_was_not_measured_follows_from_the_links_and_is_flagged() -> None:
    """Without overlap: 25 buckets, each ring inside, ring across; by hand."""
    found = DATA_PARALLEL.solve(TIMES, {**RUN, **NETWORK, "overlap": 0.0})
    bucket, nodes = 4e8 / 25, np.array([1.0, 2.0, 4.0])
    by_hand = 25 * (6 * (1e-5 + bucket / 4 / 1e11) + 2 * (nodes - 1) * (2e-5 + bucket / nodes / 1e10))
    assert found.outputs["exposed_exchange_s"] == pytest.approx(by_hand)
    assert found.flags["exchange_assumed"].all()
    assert not DATA_PARALLEL.solve({**TIMES, "exchange": 0.1}, RUN).flags["exchange_assumed"].any()
    trees = DATA_PARALLEL.solve(TIMES, {**RUN, **NETWORK, "overlap": 0.0, "exchange_form": 1.0})
    assert trees.outputs["exposed_exchange_s"][2] != found.outputs["exposed_exchange_s"][2]


def test_an_exchange_nobody_knows_is_refused() -> None:
    with pytest.raises(UsageError, match=r"neither a time of 'exchange' nor the run's 'gradient_bytes'"):
        DATA_PARALLEL.solve(TIMES, RUN)
    alone = {**RUN, "n_nodes": 1, "n_gpus_per_node": 1}
    assert DATA_PARALLEL.solve(TIMES, alone).outputs["exposed_exchange_s"] == 0.0
    with pytest.raises(DataError, match="must fit device_memory_bytes"):
        DATA_PARALLEL.solve(TIMES, {**alone, "n_params": 1e10, "device_memory_bytes": 8e10})


def test_input_is_waited_for_where_it_is_slower() -> None:
    found = DATA_PARALLEL.solve({**TIMES, "exchange": 0.0, "input": np.array([0.3, 0.66, 1.0])}, {**RUN, "loader_workers": 2.0})
    assert found.outputs["input_stall_s"].tolist() == pytest.approx([0.0, 0.0, 0.17])
    assert found.flags["input_bound"].tolist() == [False, False, True]


def test_draws_are_a_leading_axis() -> None:
    rng = np.random.default_rng(0)
    draws = 0.2 + 0.01 * rng.random((7, 1))
    together = DATA_PARALLEL.solve({**TIMES, "backward": draws, "exchange": 0.1}, RUN).outputs["epoch_s"]
    alone = [DATA_PARALLEL.solve({**TIMES, "backward": draw, "exchange": 0.1}, RUN).outputs["epoch_s"] for draw in draws]
    np.testing.assert_allclose(together, np.stack(alone), rtol=1e-13)


def test_the_risk_of_running_out_is_shown_and_bounded() -> None:
    """4.5 billion parameters at 16 bytes need 72 of 80 GB: fits, but a tenth of uncertainty leaves a risk of Phi(ln 0.9 / 0.1)."""
    run = {**RUN, "n_params": 4.5e9, "device_memory_bytes": 8e10, "memory_relative_std": 0.1}
    found = DATA_PARALLEL.solve({**TIMES, "exchange": 0.0}, run).outputs
    assert found["memory_bytes"] == pytest.approx(7.2e10)
    assert found["out_of_memory_probability"] == pytest.approx(0.1460, abs=1e-4)
    with pytest.raises(DataError, match="must fit device_memory_bytes"):
        DATA_PARALLEL.solve({**TIMES, "exchange": 0.0}, {**run, "most_memory_risk": 0.1})
