"""Epoch predictions from a model of real measurements: sums, limits, intervals, flags and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError, DomainError
from mlperf.specs import JobSpec, load_cnn, load_machine
from mlperf.systems.base.collectives import allreduce_s
from mlperf.systems.sprint.outputs import OUTPUTS

pytestmark = pytest.mark.slow

JOB = JobSpec(dataset_size=60_000, subbatch_size=2, n_nodes=4)


@pytest.fixture(scope="module")
def prediction(small_model: Any) -> Any:
    return mlperf.predict_epoch(small_model, load_cnn("alexnet"), load_machine("cpu-cluster"), JOB, n_nodes=[1, 4, 16])


def test_breakdowns_sum_to_the_iterations(prediction: Any) -> None:
    np.testing.assert_allclose(sum(prediction.gpu_breakdown_s.values()), prediction.gpu_iteration_s, rtol=1e-9)
    np.testing.assert_allclose(sum(prediction.update_breakdown_s.values()), prediction.update_iteration_s, rtol=1e-9)
    assert len(prediction.gpu_breakdown_s) + len(prediction.update_breakdown_s) == 16


def test_epoch_and_minibatch_are_equations_9_and_10(prediction: Any) -> None:
    samples = prediction.run.n_nodes * prediction.run.n_gpus_per_node * prediction.run.subbatch_size
    np.testing.assert_allclose(prediction.epoch_s, 60_000 * prediction.gpu_iteration_s / samples)
    np.testing.assert_allclose(prediction.mean_minibatch_size, samples * prediction.update_iteration_s / prediction.gpu_iteration_s)


def test_a_run_is_less_sure_than_the_mean(prediction: Any) -> None:
    for name in OUTPUTS:
        mean, run = prediction.confidence_interval[name], prediction.prediction_interval[name]
        value = getattr(prediction, name)
        assert (mean.lower <= value).all()
        assert (value <= mean.upper).all()
        assert (run.upper - run.lower > mean.upper - mean.lower).all()


def test_an_assumed_component_is_marked_and_one_node_needs_none(prediction: Any) -> None:
    assert prediction.source["allreduce"] == "assumed"
    assert prediction.in_domain["allreduce"].tolist() == [True, False, False]
    assert prediction.in_domain["update_iteration_s"].tolist()[1:] == [False, False]
    payload = prediction.update_breakdown_s["allreduce"][0]
    assert payload == 0.0


def test_the_assumed_allreduce_is_the_ring(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    found = mlperf.predict_epoch(small_model, cnn, machine, JOB, n_gpus_per_node=1, n_nodes=4)
    ring = 2 * 3 * (machine.latency_s + 4 * cnn.n_params / (4 * machine.bandwidth_bytes_per_s))
    assert allreduce_s("ring", 4.0 * cnn.n_params, 4, machine.latency_s, machine.bandwidth_bytes_per_s) == pytest.approx(ring)
    assert found.update_breakdown_s["allreduce"][0] >= ring
    assert allreduce_s("halving_doubling", 1e6, 1, 1e-5, 1e9) == allreduce_s("tree", 1e6, 1, 1e-5, 1e9) == 0.0


def test_strict_refuses_what_was_not_measured(small_model: Any) -> None:
    with pytest.raises(DomainError, match="4 nodes x 2 GPUs, sub-batch 2"):
        mlperf.predict_epoch(small_model, load_cnn("alexnet"), load_machine("cpu-cluster"), JOB, strict=True)


def test_without_a_network_the_missing_component_is_named(small_model: Any) -> None:
    machine = replace(load_machine("cpu-cluster"), latency_s=None)
    with pytest.raises(DataError, match="component 'allreduce' was not measured"):
        mlperf.predict_epoch(small_model, load_cnn("alexnet"), machine, JOB)


def test_without_rows_of_a_memory_operation_it_is_named(small_model: Any) -> None:
    components = {name: item for name, item in small_model.components.items() if name != "sum_gradient"}
    model = replace(small_model, components=components)
    with pytest.raises(DataError, match="component 'sum_gradient'") as caught:
        mlperf.predict_epoch(model, load_cnn("alexnet"), load_machine("cpu-cluster"), JOB)
    assert caught.value.exit_code == 3


def test_what_if_scales_one_component(small_model: Any) -> None:
    cnn, machine = load_cnn("alexnet"), load_machine("cpu-cluster")
    plain = mlperf.predict_epoch(small_model, cnn, machine, JOB)
    faster = mlperf.predict_epoch(small_model, cnn, machine, JOB, factors={"allreduce": 0.1})
    # Updates come more often, so a GPU fetches more often: the epoch grows by at most that copy.
    assert faster.update_iteration_s[0] < 0.5 * plain.update_iteration_s[0]
    assert abs(faster.epoch_s[0] / plain.epoch_s[0] - 1) < 0.2


def test_several_networks_keep_their_order(small_model: Any) -> None:
    nets = [load_cnn("alexnet"), load_cnn("resnet18")]
    both = mlperf.predict_epoch(small_model, nets, load_machine("cpu-cluster"), JOB, subbatch_size=[1, 2])
    assert both.cnn == ("alexnet", "alexnet", "resnet18", "resnet18")
    alone = mlperf.predict_epoch(small_model, nets[1], load_machine("cpu-cluster"), JOB, subbatch_size=2)
    assert both.epoch_s[3] == pytest.approx(alone.epoch_s[0], rel=1e-12)
