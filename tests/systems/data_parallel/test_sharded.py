"""Fully sharded training against its volumes, its limits and passes simulated layer by layer."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.data_parallel.replicated import DATA_PARALLEL
from mlperf.systems.data_parallel.sharded import FULLY_SHARDED, sharded_end_s, sharded_volume_bytes, slowed_layers_s
from mlperf.systems.registry import find_system

RUN = {"n_nodes": np.array([1, 2, 4]), "n_gpus_per_node": 4, "subbatch_size": 16, "dataset_size": 16_000, "n_layers": 12}
TIMES = {"forward": 1.0, "backward": 2.0, "optimizer": 0.02, "gather": 0.3, "exchange": 0.3}


def test_it_is_registered() -> None:
    assert find_system("fully-sharded") is FULLY_SHARDED


def test_volumes_are_the_published_ones() -> None:
    """Section 7 of the ZeRO paper: as much as an all-reduce, half as much again with parameters sharded."""
    size = np.array(100.0)
    for stage, times in ((1, 2.0), (2, 2.0), (3, 3.0)):
        found = sharded_volume_bytes(np.array([1.0, 4.0, 1e9]), np.array(float(stage)), size, size)
        assert found.tolist() == pytest.approx([0.0, times * 75.0, times * 100.0])


def test_small_messages_hide_but_for_the_first_and_the_last() -> None:
    """Stage 3, equal layers: a gather at the start of each pass shows, and the last reduce-scatter; 12 layers."""
    found = FULLY_SHARDED.solve(TIMES, RUN)
    assert found.outputs["step_s"] == pytest.approx(3.02 + 3 * 0.3 / 12)
    assert sum(found.breakdown_s["step"].values()) == pytest.approx(found.outputs["step_s"])
    assert found.breakdown_s["step"]["gather"] == pytest.approx(2 * 0.3 / 12)
    serial = FULLY_SHARDED.solve(TIMES, {**RUN, "prefetch": 0.0, "n_layers": 1.0})
    assert serial.outputs["step_s"] == pytest.approx(3.02 + 3 * 0.3)


def test_nothing_to_exchange_is_perfect_scaling() -> None:
    found = FULLY_SHARDED.solve({**TIMES, "gather": 0.0, "exchange": 0.0}, RUN).outputs
    assert found["efficiency"] == pytest.approx(1.0)
    assert found["step_s"] == pytest.approx(3.02)


def test_rounding_makes_no_wait_negative() -> None:
    """All numbers of layers, workers and batches in which gathers vanish behind the passes; a search would stop at -1e-17 s."""
    rng = np.random.default_rng(0)
    n = 20_000
    times = {name: value * rng.uniform(0.1, 1.0, n) for name, value in TIMES.items()} | {"gather": 1e-18 * rng.uniform(size=n)}
    run = {**RUN, "n_nodes": rng.integers(1, 9, n), "n_layers": rng.integers(1, 60, n), "prefetch": rng.integers(0, 5, n)}
    run |= {"zero_stage": rng.integers(1, 4, n), "n_buckets": rng.integers(1, 6, n), "accumulation": rng.integers(1, 4, n)}
    for exchange in (times["exchange"], times["gather"], np.zeros(n)):
        found = FULLY_SHARDED.solve({**times, "exchange": exchange}, run)
        assert all((part >= 0.0).all() for part in found.breakdown_s["step"].values())
        assert (found.outputs["exposed_exchange_s"] >= 0.0).all()


def test_stage_1_is_data_parallelism_whose_second_half_comes_after_the_optimizer() -> None:
    run = {**RUN, "zero_stage": 1.0, "accumulation": 3.0}
    found = FULLY_SHARDED.solve(TIMES, run).outputs
    plain = DATA_PARALLEL.solve(
        {name: value for name, value in TIMES.items() if name != "gather"}, {**RUN, "accumulation": 3.0}
    ).outputs
    assert found["step_s"] == pytest.approx(plain["step_s"] + 0.3)
    second = FULLY_SHARDED.solve(TIMES, {**run, "zero_stage": 2.0}).outputs
    one_more = plain["exposed_exchange_s"]
    assert second["step_s"] == pytest.approx(found["step_s"] + 2 * one_more)


def test_stages_are_solved_side_by_side() -> None:
    stages = np.array([1.0, 2.0, 3.0])
    together = FULLY_SHARDED.solve(TIMES, {**RUN, "n_nodes": 2, "zero_stage": stages}).outputs["step_s"]
    alone = [float(FULLY_SHARDED.solve(TIMES, {**RUN, "n_nodes": 2, "zero_stage": stage}).outputs["step_s"]) for stage in stages]
    assert together.tolist() == pytest.approx(alone)


def in_turn(compute: float, gather: float, n_layers: int) -> float:
    """A forward pass layer by layer: the next gather starts when a layer starts, on a stream of its own."""
    stream = gathered = gather
    now = 0.0
    for layer in range(n_layers):
        now = max(now, gathered)
        if layer + 1 < n_layers:
            stream = max(stream, now) + gather
            gathered = stream
        now += compute
    return now


def test_passes_of_many_configurations_are_those_layer_by_layer() -> None:
    rng = np.random.default_rng(0)
    layers = rng.integers(1, 40, 300)
    compute, gather = rng.random((2, 300))
    found = sharded_end_s(compute, gather, 0.0, layers, np.ones(300))
    expected = [in_turn(one / n, two / n, int(n)) for one, two, n in zip(compute, gather, layers, strict=True)]
    assert found.tolist() == pytest.approx(expected)
    mixed = rng.integers(0, 3, 300)
    alone = [float(sharded_end_s(*row)) for row in zip(compute, gather, compute / 3, layers, mixed, strict=True)]
    assert sharded_end_s(compute, gather, compute / 3, layers, mixed).tolist() == pytest.approx(alone)


def test_collectives_follow_from_the_links_where_they_were_not_measured() -> None:
    """8 layers, 2 machines of 4: each message a ring inside and one across, by hand; flagged as assumed."""
    links = {"latency_s": 2e-5, "bandwidth_bytes_per_s": 1e10, "local_latency_s": 1e-5, "local_bandwidth_bytes_per_s": 1e11}
    run = {**RUN, **links, "n_nodes": 2, "n_layers": 8.0, "prefetch": 0.0, "gradient_bytes": 8e8, "parameter_bytes": 4e8}
    found = FULLY_SHARDED.solve({"forward": 1.0, "backward": 2.0}, run)

    def message(size: float) -> float:
        return 3 * (1e-5 + size / 4 / 1e11) + 2e-5 + size / 2 / 1e10

    by_hand = 3.0 + 8 * (2 * message(5e7) + message(1e8))
    assert float(found.outputs["step_s"]) == pytest.approx(by_hand, rel=1e-9)
    assert found.flags["exchange_assumed"].all()
    assert float(found.outputs["sent_bytes"]) == pytest.approx(7 / 8 * (2 * 4e8 + 8e8))


def in_small_steps(compute: float, gather: float, n_layers: int, slowdown: float, step: float) -> float:
    """A forward pass stepped through time: layer l+1 is gathered from the start of layer l on, kernels are slow meanwhile."""
    gathered, done, now = 1.0, 0.0, gather
    while done < n_layers - 1e-9:
        layer = int(done + 1e-9)
        may_gather = gathered < min(layer + 2, n_layers) - 1e-9 and gathered < n_layers - 1e-9
        if gathered >= layer + 1 - 1e-9:
            done = min(done + step / compute / (slowdown if may_gather else 1.0), layer + 1.0)
        gathered += step / gather if may_gather else 0.0
        now += step
    return now


@pytest.mark.parametrize(("compute", "gather", "slowdown"), [(1.0, 0.3, 1.3), (1.0, 0.9, 1.5), (0.2, 1.0, 1.3)])
def test_kernels_beside_messages_are_slow_as_in_small_steps(compute: float, gather: float, slowdown: float) -> None:
    layers = 8
    found = slowed_layers_s(layers * compute, layers * gather, layers, 1, slowdown)
    end = float(sharded_end_s(found, layers * gather, 0.0, layers, 1))
    assert end == pytest.approx(in_small_steps(compute, gather, layers, slowdown, 1e-3), rel=0.03)
    assert float(slowed_layers_s(1.0, 1.0, layers, 0, slowdown)) == 1.0
    assert float(slowed_layers_s(1.0, 1.0, layers, 1, 1.0)) == 1.0


def test_slow_kernels_show_as_exchange() -> None:
    """Each of 11 layers behind a message takes min(1.2 c, c + messages / 6)."""
    plain, slow = (FULLY_SHARDED.solve(TIMES, {**RUN, "overlap_slowdown": slowdown}).outputs for slowdown in (1.0, 1.2))
    longer = 11 / 12 * (0.3 / 6 + 0.6 / 6)
    assert slow["step_s"] - plain["step_s"] == pytest.approx(longer, rel=0.02)
    assert slow["exposed_exchange_s"] - plain["exposed_exchange_s"] == pytest.approx(slow["step_s"] - plain["step_s"])
