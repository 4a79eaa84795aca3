"""Measured steps of any system: they move what the step is made of, in every system, and leave what was not measured."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.core.errors import UsageError
from mlperf.planning.calibration.observed_systems import predict_system_observed
from mlperf.planning.systems.prediction import SystemPrediction
from mlperf.specs import JobSpec

pytestmark = pytest.mark.slow

JOB = JobSpec(dataset_size=60_000, n_nodes=2, subbatch_size=2)
OPTIONS: dict[str, Any] = {"n_draws": 80}


@functools.cache
def plain(model: Any, system: str) -> SystemPrediction:
    return mlperf.predict_system(model, system, "alexnet", "cpu-cluster", JOB, **OPTIONS)


def observed(model: Any, system: str, rows: pd.DataFrame, **options: Any) -> SystemPrediction:
    return predict_system_observed(model, system, "alexnet", "cpu-cluster", JOB, rows, **OPTIONS, **options)


def width(prediction: SystemPrediction) -> float:
    interval = prediction.prediction_interval["epoch_s"]
    return float(np.log(interval.upper[0] / interval.lower[0]))


@pytest.mark.parametrize("system", ["data-parallel", "parameter-server", "fully-sharded"])
def test_a_measured_step_moves_the_epoch_and_narrows_its_interval(small_model: Any, system: str) -> None:
    before = plain(small_model, system)
    step_s = 1.25 * float(before.outputs["step_s"][0])
    found = observed(small_model, system, pd.DataFrame({"step_s": step_s * np.array([0.99, 1.0, 1.01])}))
    assert 1.1 < found.epoch_s[0] / before.epoch_s[0] < 1.3
    # Where the model thinks that it knows a step better than measurements scatter, these have the last word: Student's t of three.
    assert width(found) < max(0.8 * width(before), 2.0 * 4.3 * 0.01 * (4 / 3) ** 0.5)
    assert found.observed is not None
    assert found.observed["factor"].max() > 1.05
    many = observed(small_model, system, pd.DataFrame({"step_s": [step_s] * 60}))
    assert many.outputs["step_s"][0] == pytest.approx(step_s, rel=0.01)


def test_sprint_threads_are_a_system_like_others(small_model: Any) -> None:
    before = plain(small_model, "sprint-server")
    rows = pd.DataFrame({"gpu_iteration_s": [1.2 * float(before.outputs["gpu_iteration_s"][0])] * 20})
    found = observed(small_model, "sprint-server", rows)
    assert found.outputs["gpu_iteration_s"][0] == pytest.approx(1.2 * before.outputs["gpu_iteration_s"][0], rel=0.02)


def test_a_component_and_a_what_if(small_model: Any) -> None:
    before = plain(small_model, "parameter-server")
    compute_s = float(before.breakdown(0).set_index("component").loc["compute", "seconds"])
    rows = pd.DataFrame({"compute_s": [0.9 * compute_s] * 20})
    found = observed(small_model, "parameter-server", rows, factors={"apply": 2.0})
    assert found.observed is not None
    assert found.observed["component"].tolist() == ["compute"]
    assert found.observed["factor"].iloc[0] == pytest.approx(0.9, rel=0.01)


def test_a_slow_step_of_many_nodes_is_laid_to_the_network_that_nobody_measured(small_model: Any) -> None:
    """Steps of a machine whose network is 1.5 times as slow as it says, and of one node, which has none."""
    machine = mlperf.load_machine("cpu-cluster")
    assert machine.latency_s is not None
    assert machine.bandwidth_bytes_per_s is not None
    slow = replace(machine, latency_s=1.5 * machine.latency_s, bandwidth_bytes_per_s=machine.bandwidth_bytes_per_s / 1.5)
    sizes = {"n_nodes": (1, 2), "n_gpus_per_node": 1}
    true = mlperf.predict_system(small_model, "data-parallel", "alexnet", slow, JOB, **sizes, **OPTIONS)
    rows = pd.DataFrame({"n_nodes": [1, 1, 2, 2], "n_gpus_per_node": 1, "step_s": np.repeat(true.outputs["step_s"], 2)})
    found = observed(small_model, "data-parallel", rows, n_nodes=16)
    assert found.observed is not None
    factor = found.observed.set_index("component")["factor"]
    assert factor["network"] == pytest.approx(1.5, rel=0.05)
    assert factor["backward"] == pytest.approx(1.0, abs=0.02)
    far = mlperf.predict_system(small_model, "data-parallel", "alexnet", slow, JOB, n_nodes=16, **OPTIONS)
    assert found.epoch_s[0] == pytest.approx(far.epoch_s[0], rel=0.05)


def test_an_exchange_that_begins_to_be_seen_is_found_though_its_time_bends_there() -> None:
    """Whole steps went back and forth between a network that hides and one that shows: 0.0104 s for 0.02 s measured."""
    job, rows = JobSpec(50_000, n_nodes=8, subbatch_size=2), pd.DataFrame({"exposed_exchange_s": [0.02, 0.021, 0.019]})
    found = predict_system_observed(mlperf.load_model("cpu-epyc"), "data-parallel", "resnet50", "cpu-cluster", job, rows, **OPTIONS)
    assert found.outputs["exposed_exchange_s"][0] == pytest.approx(0.02, rel=0.05)


def test_what_the_model_does_not_give_cannot_be_calibrated(small_model: Any) -> None:
    with pytest.raises(UsageError, match="has no time of exchange"):
        observed(small_model, "data-parallel", pd.DataFrame({"exchange_s": [1.0]}))


def test_a_step_of_one_gpu_says_nothing_of_the_network_though_its_update_is_assumed() -> None:
    """On a device the update is worked out from one measured pass over a vector: that is no figure of the network."""
    model, job = mlperf.load_model("gpu-h100-layers"), JobSpec(dataset_size=60_000, optimizer="adam")
    sizes = {"n_nodes": 8, "n_gpus_per_node": 8, "subbatch_size": 32, **OPTIONS}
    plain = mlperf.predict_system(model, "data-parallel", "vgg16", "dgx-h100", job, **sizes)
    rows = pd.DataFrame({"n_nodes": 1, "n_gpus_per_node": 1, "step_s": [0.2, 0.2]})
    found = predict_system_observed(model, "data-parallel", "vgg16", "dgx-h100", job, rows, **sizes)
    assert found.observed is not None
    assert "network" not in set(found.observed["component"])
    exchange = [each.breakdown(0).set_index("component").loc["exchange", "seconds"] for each in (plain, found)]
    assert exchange[1] == pytest.approx(exchange[0], rel=1e-9)
    update_s = 3.0 * float(plain.breakdown(0).set_index("component").loc["optimizer", "seconds"])
    rows = pd.DataFrame({"optimizer_s": [update_s] * 20})
    found = predict_system_observed(model, "data-parallel", "vgg16", "dgx-h100", job, rows, **sizes)
    assert found.breakdown(0).set_index("component").loc["optimizer", "seconds"] == pytest.approx(update_s, rel=0.05)


def test_steps_that_the_model_predicts_leave_a_what_if_as_it_is(small_model: Any) -> None:
    """The machine was measured without the what-if: twenty such steps must not undo it."""
    sizes: dict[str, Any] = {"n_nodes": 1, "n_gpus_per_node": 1}
    before, alone = (
        mlperf.predict_system(small_model, "data-parallel", "alexnet", "cpu-cluster", JOB, **sizes, **OPTIONS, factors=factors)
        for factors in ({}, {"backward": 0.5})
    )
    rows = pd.DataFrame({"step_s": np.repeat(before.outputs["step_s"], 20)})
    found = observed(small_model, "data-parallel", rows, **sizes, factors={"backward": 0.5})
    assert alone.epoch_s[0] < 0.95 * before.epoch_s[0]
    assert found.epoch_s[0] == pytest.approx(alone.epoch_s[0], rel=1e-6)


def test_steps_of_one_gpu_calibrate_many_which_have_an_exchange(small_model: Any) -> None:
    one, many = (
        mlperf.predict_system(small_model, "data-parallel", "alexnet", "cpu-cluster", JOB, n_nodes=n, **OPTIONS) for n in (1, 2)
    )
    rows = pd.DataFrame({"step_s": [1.2 * float(one.outputs["step_s"][0])] * 20, "n_nodes": 1, "n_gpus_per_node": 1})
    found = observed(small_model, "data-parallel", rows)
    assert found.source["exchange"] == many.source["exchange"] == "assumed"
    assert 1.1 < found.breakdown_s["step"]["backward"][0] / many.breakdown_s["step"]["backward"][0] < 1.3
