"""What recordings tell of their loaders; `test_workers` holds the predictions made of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from made_recordings import MS, Made

from mlperf.planning.advice.facts.input_pipeline import input_facts
from mlperf.planning.advice.loading import Loading, loading_of, on_synthetic_input
from mlperf.traces.whole_run.steps import find_steps

LOADING = Loading(2, 1, 8, 0.04, 0.001, 0.12, 0.002, 0.03, 0.02, 0.01, 0.05, 0.1)


def test_processor_time_of_a_step_is_that_of_all_ranks() -> None:
    assert LOADING.cpu_s == pytest.approx(2 * 0.02 + 0.01)


def test_ends_of_intervals() -> None:
    """The least of a batch is what its worker computes, where that is all that is known."""
    least, most = LOADING.at_end(-1), LOADING.at_end(1)
    assert (least.compute_s, most.compute_s) == pytest.approx((0.038, 0.042))
    assert (least.batch_s, most.batch_s) == pytest.approx((0.027, 0.132))
    assert (least.cpu_s, most.cpu_s) == pytest.approx((2 * 0.018 + 0.0095, 2 * 0.022 + 0.0105))


def test_batches_that_vary_and_what_is_beside_them(made: Callable[[], Made]) -> None:
    maker, at = made(), 0
    for number in range(20):
        load = (20 if number % 2 else 60) * MS
        begun, at = at, maker.marks(at, {"load": load, "forward": 40 * MS})
        maker.samples(begun, at, "decode", tid=2)
        maker.samples(at - 40 * MS, at, "gemm")
    recording = maker.recording()
    steps = find_steps(recording)
    facts = input_facts(recording, steps)
    assert facts is not None
    found, notes = loading_of(facts, steps)
    assert notes == []
    assert (found.n_workers, found.n_cores) == (1, 8)
    assert found.compute_s == pytest.approx(0.04)
    assert found.compute_std_s == pytest.approx(0.0, abs=1e-9)
    assert found.batch_s == pytest.approx(facts.step_s.mean())
    assert found.batch_std_s == pytest.approx(0.02, rel=0.1)
    assert found.batch_cpu_s == pytest.approx(found.batch_s, rel=0.02)
    assert found.other_cpu_s == pytest.approx(0.04, rel=0.02)
    beside = on_synthetic_input(found, recording, steps)
    assert beside.compute_s == pytest.approx(facts.step_s.mean())
    assert beside.batch_s == found.batch_s
