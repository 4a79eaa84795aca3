"""A model of one device, asked about a machine with another one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import mlperf
from mlperf.models.uncertainty.intervals import Interval
from mlperf.planning.calibration.observed_systems import predict_system_observed
from mlperf.specs import MachineSpec, load_machine
from mlperf.training.elsewhere import UNKNOWN, model_on, other_machine, reached_flop_per_s
from mlperf.training.model import Model

pytestmark = pytest.mark.slow

JOB = mlperf.JobSpec(dataset_size=100_000, subbatch_size=32, n_nodes=1)
HERE, THERE = "NVIDIA H100 80GB HBM3", "Tesla P100-SXM2-16GB"


def machine(processor: str | None) -> MachineSpec:
    return MachineSpec("cluster", 4, 1, processor=processor, latency_s=1e-5, bandwidth_bytes_per_s=1e10)


def width(interval: Interval) -> float:
    return float(np.log(interval.upper[0] / interval.lower[0]))


@pytest.fixture(scope="module")
def h100() -> Model:
    found: Model = mlperf.load_model("gpu-h100-layers")
    return found


@pytest.mark.parametrize("processor", [None, HERE, "H100", "AMD EPYC 7742", "RTX 3060 Laptop"])
def test_the_model_stays_where_the_device_is_the_measured_one_or_nobody_knows_it(h100: Model, processor: str | None) -> None:
    assert model_on(h100, machine(processor)) is h100


@pytest.mark.parametrize("name", ["cpu-epyc", "cpu-xeon-layers"])
def test_models_of_processors_stay_as_they_are(name: str) -> None:
    known = mlperf.load_model(name)
    assert model_on(known, load_machine("dgx-a100")) is known


def test_a_step_is_carried_over_and_the_answer_says_so(h100: Model) -> None:
    """SPRINT and synchronous steps alike."""
    here, there = (mlperf.predict_epoch(h100, "resnet50", machine(name), JOB) for name in (HERE, THERE))
    ratio = there.gpu_breakdown_s["compute_gradient"][0] / here.gpu_breakdown_s["compute_gradient"][0]
    assert 2.5 < ratio < 4.0
    assert not there.in_domain["compute_gradient"].any()
    assert any("carried over by data sheets" in each for each in there.other_machine)
    assert here.other_machine == ()
    steps = [
        mlperf.predict_system(h100, "data-parallel", "resnet50", machine(name), JOB).outputs["step_s"][0] for name in (HERE, THERE)
    ]
    assert steps[1] / steps[0] == pytest.approx(ratio, rel=0.05)


def test_a_device_without_a_data_sheet_is_told_what_would_help() -> None:
    known = mlperf.load_model("cpu-epyc")
    asked = replace(machine("Accelerator 9"), device_memory_bytes=16e9)
    assert other_machine(known, asked) == ("processor 'Accelerator 9', measured on 'AMD EPYC'", UNKNOWN)
    told = replace(asked, flop_per_s=1e13, device_bandwidth_bytes_per_s=1e12)
    assert len(other_machine(known, told)) == len(other_machine(known, load_machine("archer2"))) == 1
    assert other_machine(known, machine(None)) == ()


def test_the_device_asked_last_counts(h100: Model) -> None:
    again = model_on(model_on(h100, machine("Tesla T4")), machine(THERE))
    assert again.gradient.device == model_on(h100, machine(THERE)).gradient.device
    assert again.gradient.device != model_on(h100, machine("Tesla T4")).gradient.device


def test_an_interval_knows_that_the_device_was_not_measured_and_narrows_when_its_steps_are(h100: Model) -> None:
    found = {
        name: mlperf.predict_system(h100, "data-parallel", "resnet50", machine(name), JOB).prediction_interval["step_s"]
        for name in (HERE, THERE)
    }
    assert width(found[THERE]) > 1.4 * width(found[HERE])
    steps = pd.DataFrame({"step_s": [0.15, 0.151, 0.152]})
    after = predict_system_observed(h100, "data-parallel", "resnet50", machine(THERE), JOB, steps)
    assert after.outputs["step_s"][0] == pytest.approx(0.151, rel=0.05)
    assert width(after.prediction_interval["step_s"]) < 0.5 * width(found[THERE])


def test_vectors_in_the_memory_of_a_device_go_by_its_bandwidth(h100: Model) -> None:
    """Copies from and to the host stay as measured."""
    here, there = (mlperf.predict_epoch(h100, "vgg16", machine(name), JOB).gpu_breakdown_s for name in (HERE, "V100"))
    ratio = {name: there[name][0] / here[name][0] for name in ("compute_update_value", "update_gradient")}
    assert ratio == pytest.approx({"compute_update_value": 3.35e12 / 0.9e12, "update_gradient": 1.0})


def test_a_search_ranks_by_times_that_are_carried_over(h100: Model) -> None:
    asked = machine(THERE)
    found = mlperf.search_system(h100, "data-parallel", "resnet50", asked, JOB, n_nodes=1, subbatch_size=[16, 32])
    predicted = mlperf.predict_system(h100, "data-parallel", "resnet50", asked, JOB, subbatch_size=[16, 32])
    assert found.best.sort_values("subbatch_size")["epoch_s"].to_numpy() == pytest.approx(predicted.outputs["epoch_s"])
    assert any("carried over" in each for each in found.other_machine)


def test_a_search_of_asynchronous_runs_has_the_intervals_of_the_prediction(h100: Model) -> None:
    asked = machine(THERE)
    found = mlperf.search_runs(h100, "resnet50", asked, JOB, n_nodes=[2], subbatch_size=[16, 32], minibatch=(1.0, 1e4))
    assert (found.best["epoch_low_s"] < found.best["epoch_s"]).all()
    assert (found.best["epoch_s"] < found.best["epoch_high_s"]).all()
    first = found.best.iloc[0]
    size = int(first["subbatch_size"])
    predicted = mlperf.predict_epoch(h100, "resnet50", asked, JOB, n_nodes=2, subbatch_size=size)
    assert first["epoch_s"] == pytest.approx(predicted.epoch_s[0], rel=1e-6)
    assert first["epoch_low_s"] == pytest.approx(predicted.prediction_interval["epoch_s"].lower[0], rel=0.1)


def test_what_knows_no_convolution_reaches_no_share_of_a_peak(h100: Model) -> None:
    assert np.isnan(reached_flop_per_s(replace(h100.gradient, kernels={"softmax": h100.gradient.kernels["softmax"]})))
