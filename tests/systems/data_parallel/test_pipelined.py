"""Data x tensor x pipeline parallelism: limits, sums by hand, and whole schedules pass by pass."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.core.errors import DataError, UsageError
from mlperf.systems.coupling.pipeline import pipeline_makespan
from mlperf.systems.data_parallel.pipelined import PIPELINE
from mlperf.systems.data_parallel.replicated import DATA_PARALLEL
from mlperf.systems.registry import find_system

RUN = {"n_nodes": 4, "n_gpus_per_node": 8, "subbatch_size": 2, "dataset_size": 6400}
TIMES = {"forward": 0.1, "backward": 0.2, "optimizer": 0.05}
NETWORK = {
    "gradient_bytes": 3.2e9,
    "boundary_bytes": 1.6e7,
    "latency_s": 2e-5,
    "bandwidth_bytes_per_s": 5e10,
    "local_latency_s": 1e-5,
    "local_bandwidth_bytes_per_s": 2e11,
}
NOTHING = {"tensor_exchange": 0.0, "transfer": 0.0, "exchange": 0.0}


def test_it_is_registered() -> None:
    assert find_system("pipeline") is PIPELINE


def test_one_stage_without_tensor_groups_is_data_parallelism_with_accumulation() -> None:
    """Every micro-batch is a sub-batch of the step; the exchange hides behind the last one's backward pass."""
    times = {**TIMES, "exchange": 0.15, "forward_std": 0.01, "input": 0.4}
    one = PIPELINE.solve(times, {**RUN, "micro_batches": 4.0, "recomputed": 1.0})
    other = DATA_PARALLEL.solve(times, {**RUN, "accumulation": 4.0, "recomputed": 1.0})
    for name in DATA_PARALLEL.outputs:
        assert one.outputs[name] == pytest.approx(other.outputs[name]), name


def test_rounding_makes_no_bubble_negative() -> None:
    """One stage has none, however its passes add up; a search would stop at -4e-16 s."""
    rng = np.random.default_rng(0)
    n = 20_000
    times = {name: value * rng.uniform(0.1, 1.0, n) for name, value in TIMES.items()} | {"exchange": 0.0, "transfer": 0.0}
    found = PIPELINE.solve(times, {**RUN, "micro_batches": rng.integers(1, 33, n), "recomputed": rng.integers(0, 2, n)})
    assert all((part >= 0.0).all() for part in found.breakdown_s["step"].values())


@pytest.mark.parametrize("schedule", [0.0, 1.0])
def test_the_bubble_is_the_published_one(schedule: float) -> None:
    run = {**RUN, "stages": np.array([1.0, 4.0, 8.0]), "micro_batches": 8.0, "schedule": schedule, "n_layers": 8}
    found = PIPELINE.solve({**TIMES, **NOTHING}, run)
    assert found.outputs["step_s"] == pytest.approx((8 + np.array([1, 4, 8]) - 1) * 0.3 + 0.05)
    assert found.outputs["bubble_s"] == pytest.approx(np.array([0, 3, 7]) * 0.3)
    assert found.outputs["mean_minibatch_size"].tolist() == [512.0, 128.0, 64.0]
    assert sum(found.breakdown_s["step"].values()) == pytest.approx(found.outputs["step_s"])


@pytest.mark.parametrize("seed", range(10))
def test_a_step_is_its_schedule_pass_by_pass(seed: int) -> None:
    """Transfers, tensor exchanges, recomputation and a slower last stage, all in one, against every pass of the schedule."""
    rng = np.random.default_rng(seed)
    stages, micro = int(rng.choice([1, 2, 4])), int(rng.integers(1, 12))
    schedule, imbalance = int(rng.integers(0, 2)), 1.0 + (stages - 1) * rng.random() * 0.5
    times = {**TIMES, "tensor_exchange": 0.003, "transfer": 0.1 * rng.random(), "exchange": 0.0}
    own = {"stages": stages, "tensor": 2, "micro_batches": micro, "schedule": schedule, "n_layers": 16, "recomputed": 0.5}
    found = PIPELINE.solve(times, {**RUN, **own, "stage_imbalance": imbalance}).outputs["step_s"]
    forward = 0.1 + 2 * 0.003 * 16 / stages
    backward = 0.2 + 2 * 0.003 * 16 / stages + 0.5 * forward
    shares = np.full((stages, 1), (stages - imbalance) / max(stages - 1, 1))
    shares[-1] = imbalance
    name = ("gpipe", "1f1b")[schedule]
    whole = pipeline_makespan(forward * shares, backward * shares, micro, name, times["transfer"])
    assert float(found) == pytest.approx(float(whole) + 0.05)


def test_what_was_not_measured_follows_from_the_links() -> None:
    """32 GPUs as 4 stages of tensor pairs, 4 replicas side by side in a machine: all by hand, all flagged."""
    run = {**RUN, **NETWORK, "stages": 4.0, "tensor": 2.0, "micro_batches": 6.0, "schedule": 0.0, "n_layers": 16.0, "overlap": 0.0}
    found = PIPELINE.solve(TIMES, {**run, "n_buckets": 1.0})
    pair = 2 * (1e-5 + 1.6e7 / 2 / 2e11)
    transfer = 2e-5 + 1.6e7 / 2 / (5e10 / 8)
    replicas = 2 * 3 * (1e-5 + 3.2e9 / 8 / 4 / 2e11)
    parts = found.breakdown_s["step"]
    assert parts["tensor_exchange"] == pytest.approx(6 * 2 * 2 * 4 * pair)
    assert parts["transfer"] == pytest.approx(2 * 3 * transfer)
    assert parts["exchange"] == pytest.approx(replicas)
    assert found.outputs["replicas"] == 4.0
    assert found.flags["exchange_assumed"]
    assert not PIPELINE.solve({**TIMES, **NOTHING}, run).flags["exchange_assumed"]


def test_replicas_on_several_machines_share_their_networks() -> None:
    """Tensor groups of 8 fill a machine: 4 replicas across machines, and 8 rings share each network."""
    run = {**RUN, **NETWORK, "tensor": 8.0, "n_layers": 1.0, "overlap": 0.0, "n_buckets": 1.0}
    found = PIPELINE.solve({**TIMES, "tensor_exchange": 0.0}, run).breakdown_s["step"]["exchange"]
    assert found == pytest.approx(2 * 3 * (2e-5 + 3.2e9 / 8 / 4 / (5e10 / 8)))


def test_recomputation_repeats_the_forward_pass() -> None:
    run = {**RUN, "stages": 4.0, "micro_batches": 8.0, "n_layers": 4.0}
    plain, again = (PIPELINE.solve({**TIMES, **NOTHING}, {**run, "recomputed": r}).outputs["step_s"] for r in (0.0, 1.0))
    assert again - plain == pytest.approx(11 * 0.1)


def test_interleaving_shrinks_the_bubble_and_says_where_it_is_rough() -> None:
    run = {**RUN, "stages": 4.0, "micro_batches": 8.0, "n_layers": 16.0, "schedule": 2.0}
    one, two = (PIPELINE.solve({**TIMES, **NOTHING}, {**run, "chunks": chunks}) for chunks in (1.0, 2.0))
    assert one.outputs["bubble_s"] == pytest.approx(2.0 * two.outputs["bubble_s"])
    assert not two.flags["interleaving_rough"]
    slow = PIPELINE.solve({**TIMES, **NOTHING, "transfer": 0.06}, {**run, "chunks": 2.0})
    assert slow.flags["interleaving_rough"]


def test_what_cannot_run_or_is_not_known_is_refused() -> None:
    with pytest.raises(DataError, match="multiple of stages x tensor"):
        PIPELINE.solve({**TIMES, **NOTHING}, {**RUN, "stages": 3.0, "n_layers": 3.0})
    with pytest.raises(UsageError, match=r"neither a time of 'transfer' nor the run's 'boundary_bytes'|'latency_s'"):
        PIPELINE.solve({**TIMES, "exchange": 0.0}, {**RUN, "stages": 4.0, "n_layers": 4.0})


@pytest.mark.parametrize(
    ("stages", "micro", "copies", "variation"), [(1, 8, 4, 0.1), (4, 8, 4, 0.2), (4, 32, 4, 0.05), (8, 16, 8, 0.1)]
)
def test_steps_that_vary_are_those_of_drawn_schedules(stages: int, micro: int, copies: int, variation: float) -> None:
    """Stages wait for one another, replicas at the end for the slowest: within 0.5 % of 300 drawn steps and their noise."""
    rng = np.random.default_rng(stages + micro)
    forward = 1.0 + variation * rng.standard_normal((stages, micro, 300, copies))
    backward = 2.0 + 2.0 * variation * rng.standard_normal((stages, micro, 300, copies))
    steps = pipeline_makespan(forward, backward, micro, "1f1b").max(axis=-1)
    own = {"n_nodes": stages * copies, "n_gpus_per_node": 1, "stages": stages, "micro_batches": micro, "n_layers": stages}
    spreads = {"forward_std": variation, "backward_std": 2.0 * variation}
    found = PIPELINE.solve({"forward": 1.0, "backward": 2.0, **spreads, **NOTHING}, {**RUN, **own})
    assert float(found.outputs["step_s"]) == pytest.approx(steps.mean(), rel=5e-3, abs=3.0 * steps.std() / np.sqrt(300))
    if stages > 1:
        assert found.breakdown_s["step"]["jitter"] > 0.0
