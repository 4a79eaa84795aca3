"""Device memory against published numbers, against counting activations of simulated schedules, and its limits."""

from __future__ import annotations

import numpy as np
import pytest

from mlperf.systems.coupling.schedules import SCHEDULES, schedule_order
from mlperf.systems.data_parallel.memory import (
    kept_activations,
    memory_of_run,
    micro_batches_in_flight,
    model_states,
    out_of_memory_probability,
)


@pytest.mark.parametrize(("stage", "published_gb"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_zero_has_its_published_memory(stage: int, published_gb: float) -> None:
    """7.5 billion parameters on 64 devices, Adam in mixed precision: figure 1 of Rajbhandari et al."""
    states = model_states(np.array(7.5e9), np.array(64.0), np.array(stage))
    total = states.parameters_bytes + states.gradients_bytes + states.state_bytes
    assert round(float(total) / 1e9, 1) == published_gb


@pytest.mark.parametrize(
    ("billions", "devices", "published_gb"),
    [(7.5, 4, (52.5, 41.3, 30.0)), (128, 64, (536.0, 284.0, 32.0)), (1000, 1024, (4011.0, 2013.0, 15.6))],
)
def test_zero_has_the_memory_of_its_table(billions: float, devices: int, published_gb: tuple[float, ...]) -> None:
    """Table 1 of the paper, stages 1 to 3."""
    for stage, published in zip((1, 2, 3), published_gb, strict=True):
        run = {"n_params": billions * 1e9, "n_nodes": devices, "n_gpus_per_node": 1, "zero_stage": stage, "n_layers": 1e12}
        assert float(memory_of_run(run).model_bytes) / 1e9 == pytest.approx(published, rel=5e-3)


def most_held(schedule: str, stages: int, micro_batches: int, chunks: int) -> float:
    """Passes whose activations the first device holds, counted along its order; in passes through all its layers."""
    held = most = 0
    for work in schedule_order(schedule, stages, micro_batches, chunks)[0]:
        held += -1 if work.backward else 1
        most = max(most, held)
    return most / chunks


@pytest.mark.parametrize(("stages", "micro_batches", "chunks"), [(1, 4, 1), (4, 2, 1), (4, 16, 1), (4, 8, 2), (2, 8, 3), (4, 4, 4)])
def test_micro_batches_in_flight_are_counted(stages: int, micro_batches: int, chunks: int) -> None:
    for place, schedule in enumerate(SCHEDULES):
        if chunks > 1 and schedule != "interleaved":
            continue
        found = micro_batches_in_flight(np.array(0), np.array(stages), np.array(micro_batches), place, chunks)
        assert float(found) == pytest.approx(most_held(schedule, stages, micro_batches, chunks))
    later = micro_batches_in_flight(np.arange(4), np.array(4), np.array(8), 1)
    assert later.tolist() == [4.0, 3.0, 2.0, 1.0]


def test_recomputation_keeps_only_the_inputs_of_layers() -> None:
    assert kept_activations(np.array(100.0), np.array(2.0), np.array(10.0), np.array([0.0, 0.5, 1.0])).tolist() == [
        100.0,
        60.0,
        20.0,
    ]


def test_the_parts_of_a_run_add_up() -> None:
    """4 stages x 2 of 64 devices, 1F1B, 16 micro-batches, 32 layers: everything by hand."""
    run = {
        "n_nodes": 8,
        "n_gpus_per_node": 8,
        "n_params": 8e9,
        "stages": 4,
        "tensor": 2,
        "micro_batches": 16,
        "schedule": 1,
        "n_layers": 32,
        "activation_bytes": 32e9,
        "boundary_bytes": 5e7,
        "buffer_bytes": 1e9,
    }
    plain = memory_of_run({name: np.asarray(value, float) for name, value in run.items()})
    assert float(plain.model_bytes) == pytest.approx(16 * 1e9)
    assert float(plain.activations_bytes) == pytest.approx(32e9 / 8 * 4)
    assert float(plain.total_bytes) == pytest.approx(16e9 + 16e9 + 1e9)
    again = memory_of_run({**{name: np.asarray(value, float) for name, value in run.items()}, "recomputed": np.array(1.0)})
    assert float(again.activations_bytes) == pytest.approx(4 * 8 * 5e7 + 32e9 / 32 / 2)
    sharded = memory_of_run({name: np.asarray(value, float) for name, value in {**run, "zero_stage": 3}.items()})
    assert float(sharded.parameters_bytes) == pytest.approx(2e9 / 8 + 2 * 2e9 / 8)


def test_running_out_is_as_probable_as_in_draws() -> None:
    rng = np.random.default_rng(0)
    needed = 70e9 * np.exp(0.1 * rng.standard_normal(200_000))
    expected = (needed > 80e9).mean()
    assert float(out_of_memory_probability(70e9, 80e9, 0.1)) == pytest.approx(expected, abs=4 * np.sqrt(expected / needed.size))
    exact = out_of_memory_probability(np.array([79e9, 80e9, 81e9]), 80e9, np.array(0.0))
    assert exact.tolist() == [0.0, 0.0, 1.0]
    assert float(out_of_memory_probability(80e9, 80e9, 0.2)) == pytest.approx(0.5)
