"""Why a prediction is outside the domain: sizes to blame, what was fitted is inside, another machine is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError, DomainError
from mlperf.planning.component_times import predict_times
from mlperf.planning.inputs import configuration_inputs, configurations
from mlperf.planning.outside import refuse_outside
from mlperf.specs import CnnSpec, JobSpec, Layer, load_cnn, load_machine
from mlperf.specs.zoo.windowed_transformer import Stage, windowed_transformer
from mlperf.training.model import Model

pytestmark = pytest.mark.slow

CLUSTER = load_machine("cpu-cluster")


@pytest.fixture(scope="module")
def told(small_model: Any) -> Any:
    return mlperf.predict_epoch(small_model, ["alexnet", "resnet18"], CLUSTER, JobSpec(60_000, n_nodes=4), subbatch_size=(2, 64))


def test_every_flag_has_a_reason_and_every_reason_a_flag(told: Any) -> None:
    parts = [name for name in told.in_domain if name in told.source]
    flagged = {(row, name) for name in parts for row in np.flatnonzero(~told.in_domain[name])}
    explained = set(zip(told.outside["configuration"], told.outside["component"], strict=True))
    assert explained == flagged


def test_a_size_to_blame_lies_outside_its_measured_range(told: Any) -> None:
    sizes = told.outside[told.outside["column"] != ""]
    assert len(sizes)
    assert ((sizes["value"] < sizes["lower"]) | (sizes["value"] > sizes["upper"])).all()
    assert all(row.column in row.why and row.kernel in row.why for row in sizes.itertuples())
    assert told.outside["share"].between(0.0, 1.0).all()
    by_configuration = told.outside.groupby("configuration")["share"]
    assert by_configuration.apply(lambda shares: shares.is_monotonic_decreasing).all()


def test_rows_that_trained_are_inside(small_model: Any, small_campaign: Path) -> None:
    table = mlperf.compare_runs(small_model, small_campaign).table
    assert table.loc[table["in_training"], "in_domain"].all()
    assert small_model.gradient.beyond, "the small campaign has calls beyond its products"


def test_another_processor_is_told_and_nothing_is_inside(small_model: Any) -> None:
    job = JobSpec(60_000, n_nodes=2)
    here, there = (
        mlperf.predict_epoch(small_model, "alexnet", replace(CLUSTER, processor=name), job) for name in ("amd  EPYC", "Tesla K80")
    )
    assert here.other_machine == ()
    assert here.source["compute_gradient"] == "model"
    assert there.other_machine == ("processor 'Tesla K80', measured on 'AMD EPYC'",)
    assert there.source["compute_gradient"] == "model of another machine"
    assert not any(inside.any() for inside in there.in_domain.values())
    assert there.outside["why"].tolist() == list(there.other_machine)
    np.testing.assert_array_equal(there.epoch_s, here.epoch_s)
    with pytest.raises(DomainError):
        mlperf.predict_epoch(small_model, "alexnet", "kfc", job, strict=True)


def test_the_first_row_outside_is_refused_with_its_reason_among_those_asked_for(small_model: Any) -> None:
    inputs = configuration_inputs(small_model, [load_cnn("alexnet")], CLUSTER, configurations([0], [1, 4], 2, [1, 2], 60_000))
    predicted = predict_times(small_model, inputs)
    inside = np.ones(4, bool)
    flags = {**dict.fromkeys(predicted.in_domain, inside), "allreduce": np.array([True, True, False, False])}
    planted = replace(predicted, in_domain=flags)
    refuse_outside(small_model, inputs, planted, np.array([1, 0]))
    with pytest.raises(DomainError, match="4 nodes x 2 GPUs, sub-batch 2: outside the measured domain: allreduce: not measured"):
        refuse_outside(small_model, inputs, planted, np.array([0, 3, 2]))
    with pytest.raises(DomainError, match="4 nodes x 2 GPUs, sub-batch 1"):
        refuse_outside(small_model, inputs, planted)


@pytest.mark.parametrize("n_nodes", [1, 4])
def test_tiny_networks_have_small_times_that_are_flagged(small_model: Any, n_nodes: int) -> None:
    tiny = CnnSpec.from_sprint("tiny", 28, (3, 8, 8, 10), (1,), 2, 3)
    assert tiny.n_params < 20_000
    found = mlperf.predict_epoch(small_model, tiny, CLUSTER, JobSpec(60_000, n_nodes=n_nodes))
    vectors = ("fetch_weights", "update_gradient", "sum_gradient", "update_weights", "add_momentum")
    seconds = {**found.gpu_breakdown_s, **found.update_breakdown_s}
    assert all(seconds[name][0] > 0.0 for name in vectors)
    assert not any(found.in_domain[name][0] for name in vectors)


def test_names_are_enough(small_model: Any) -> None:
    job = JobSpec(60_000)
    named = mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", job)
    assert named.epoch_s.tolist() == mlperf.predict_epoch(small_model, load_cnn("alexnet"), CLUSTER, job).epoch_s.tolist()


def test_one_node_needs_no_network(small_model: Any) -> None:
    lonely = replace(CLUSTER, latency_s=None, bandwidth_bytes_per_s=None)
    found = mlperf.predict_epoch(small_model, "alexnet", lonely, JobSpec(60_000))
    assert found.source["allreduce"] == "not needed"
    assert found.update_breakdown_s["allreduce"].tolist() == [0.0]
    with pytest.raises(DataError, match="'allreduce' was not measured"):
        mlperf.predict_epoch(small_model, "alexnet", lonely, JobSpec(60_000, n_nodes=2))


def test_layers_that_no_run_had_and_sizes_of_runs_are_told(runs_model: Model) -> None:
    """A model of whole steps of plain networks is asked for attention: the gradient takes most of the time."""
    job = JobSpec(50_000, subbatch_size=4, n_nodes=4)
    told = mlperf.predict_epoch(runs_model, ["vit_b_16", "resnet18"], CLUSTER, job, n_gpus_per_node=2).outside
    gradient = told[told["component"] == "compute_gradient"].set_index("configuration")
    assert gradient["why"].str.contains("no run had layers of the kind").tolist() == [True, True]
    assert "attention" in gradient.loc[0, "why"]
    assert "attention" not in gradient.loc[1, "why"]
    assert (gradient["share"] > 0.9).all()
    exchange = told[(told["component"] == "allreduce") & (told["configuration"] == 0)].iloc[0]
    assert (exchange["column"], exchange["value"] > exchange["upper"]) == ("n_params", True)


WINDOWED = windowed_transformer("windowed", 64, (Stage(64, 2, 2), Stage(128, 1, 4)), 8)


@pytest.fixture(scope="module")
def of_layers() -> Any:
    """A model that has measured attention with projections alone."""
    return mlperf.load_model("cpu-xeon-layers")


def test_windows_are_taken_for_attention_of_their_sizes_and_told(of_layers: Any) -> None:
    told = mlperf.predict_epoch(of_layers, WINDOWED, CLUSTER, JobSpec(60_000), subbatch_size=2)
    assert not told.in_domain["compute_gradient"].any()
    taken = {f"attend_{way} ({layer}): never measured, taken for attention_{way}" for way, layer in _longest(told)}
    assert len(taken) == 2
    assert taken <= set(told.outside["why"])
    calls = of_layers.gradient.calls([(WINDOWED, 2)])
    named = calls.assign(kernel=calls["kernel"].str.replace("attend_", "attention_"))
    np.testing.assert_array_equal(of_layers.gradient.call_times(calls), of_layers.gradient.call_times(named))


def test_filters_of_single_maps_are_told_against_such_filters(of_layers: Any) -> None:
    """These are fitted by themselves; filters of several maps were measured with up to 4 groups."""
    told = mlperf.predict_epoch(of_layers, "mobilenet_v2", CLUSTER, JobSpec(60_000), subbatch_size=(2, 64))
    of_single = told.outside[told.outside["layer"].str.endswith("_depthwise") & (told.outside["column"] != "")]
    assert len(of_single)
    assert set(of_single["column"]) == {"subbatch_size"}


def test_filters_of_single_maps_are_as_sure_as_these_alone(of_layers: Any) -> None:
    """Neither their times nor what is drawn around them, nor the reasons, read the fit of other convolutions."""
    layers = (Layer("c", "conv", n_maps=64, filter_size=3, groups=64, padding=1), Layer("f", "fc", n_maps=10))
    cnn = CnnSpec("single", 64, 16, layers)
    kernels = {name: fits for name, fits in of_layers.gradient.kernels.items() if not name.startswith("conv_")}
    less = replace(of_layers, gradient=replace(of_layers.gradient, kernels=kernels))
    both, alone = (mlperf.predict_epoch(model, cnn, CLUSTER, JobSpec(60_000), subbatch_size=2) for model in (of_layers, less))
    np.testing.assert_array_equal(both.to_frame(), alone.to_frame())
    assert both.outside.equals(alone.outside)


def _without(model: Any, *kinds: str) -> Any:
    """A model that never measured these kinds of layers."""
    kernels = {name: fits for name, fits in model.gradient.kernels.items() if name.rpartition("_")[0] not in kinds}
    return replace(model, gradient=replace(model.gradient, kernels=kernels))


def test_layers_of_today_are_taken_for_what_moves_and_multiplies_as_much(of_layers: Any) -> None:
    """A vision transformer, asked of a model of plain layers: answered, told as outside, less sure than where all was measured."""
    plain = _without(of_layers, "attention", "layer_norm", "position_embedding", "class_token", "select_token")
    asked = ("vit_b_16", CLUSTER, JobSpec(60_000, subbatch_size=2))
    known, told = (mlperf.predict_epoch(model, *asked) for model in (of_layers, plain))
    why = set(told.outside["why"].str.partition(": ")[2])
    for instead in ("conv_forward", "conv_backward", "batch_norm_forward", "batch_norm_backward", "activation_forward"):
        assert f"never measured, taken for {instead}" in why
    assert not told.in_domain["compute_gradient"].any()
    assert told.epoch_s == pytest.approx(known.epoch_s, rel=0.2)
    widths = [
        float((each.prediction_interval["epoch_s"].upper / each.prediction_interval["epoch_s"].lower)[0]) for each in (known, told)
    ]
    assert widths[1] > 1.2 * widths[0]


def test_a_kernel_of_too_few_sizes_says_so(of_layers: Any) -> None:
    plain = _without(of_layers, "layer_norm")
    few = replace(plain, gradient=replace(plain.gradient, too_few=("layer_norm_forward",)))
    why = mlperf.predict_epoch(few, "vit_b_16", CLUSTER, JobSpec(60_000), subbatch_size=2).outside["why"]
    assert why.str.contains("measured on too few sizes, taken for batch_norm_forward", regex=False).sum() == 1
    assert why.str.contains("never measured, taken for batch_norm_backward", regex=False).sum() == 1


def test_windows_without_any_attention_measured_are_taken_for_convolutions(of_layers: Any) -> None:
    gradient = _without(of_layers, "attention").gradient
    calls = gradient.calls([(WINDOWED, 2)])
    named = calls.assign(kernel=calls["kernel"].str.replace("attend_", "conv_"))
    np.testing.assert_array_equal(gradient.call_times(calls), gradient.call_times(named))
    assert gradient.stood_in(calls).tolist() == calls["kernel"].str.startswith("attend_").tolist()


def test_cells_that_go_from_place_to_place_have_nothing_that_stands_in(of_layers: Any) -> None:
    cnn = CnnSpec(
        "words", 8, 8, (Layer("t", "tokens"), Layer("r", "recurrent", n_maps=16, cell="lstm"), Layer("f", "fc", n_maps=10))
    )
    with pytest.raises(DataError, match="layer 'r' runs the kernel 'lstm_forward', which no measurement covers"):
        mlperf.predict_epoch(_without(of_layers, "lstm"), cnn, CLUSTER, JobSpec(60_000), subbatch_size=2)


def _longest(told: Any) -> list[tuple[str, str]]:
    rows = told.outside[told.outside["kernel"].str.startswith("attend_")]
    return [(row.kernel.removeprefix("attend_"), row.layer) for row in rows.itertuples()]
