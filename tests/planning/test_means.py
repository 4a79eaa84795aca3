"""The means of a prediction before anything is added: outputs, domains, and the closed solution behind a refined one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mlperf
from mlperf.core.errors import DataError, DomainError
from mlperf.planning.inputs import configuration_inputs, configurations
from mlperf.planning.means import mean_prediction, solve_means
from mlperf.planning.options import PredictionOptions
from mlperf.specs import CnnSpec, JobSpec, Layer, load_cnn, load_machine
from mlperf.systems.sprint.components import BY_NAME
from mlperf.systems.sprint.equations import solve_iterations


@pytest.fixture(scope="module")
def inputs(small_model: Any) -> Any:
    configs = configurations([0], [1, 4], 2, 2, 60_000)
    return configuration_inputs(small_model, [load_cnn("alexnet")], load_machine("cpu-cluster"), configs)


def test_an_output_is_in_domain_where_everything_it_follows_from_is(small_model: Any, inputs: Any) -> None:
    found = mean_prediction(small_model, inputs, solve_means(small_model, inputs, PredictionOptions()))
    parts = {name: inside for name, inside in found.in_domain.items() if name in BY_NAME}
    on_gpu = [inside for name, inside in parts.items() if BY_NAME[name].activity == "gpu"]
    assert found.in_domain["epoch_s"].tolist() == np.all(on_gpu, axis=0).tolist()
    assert found.in_domain["update_iteration_s"].tolist() == np.all(list(parts.values()), axis=0).tolist()
    assert found.confidence_interval == found.prediction_interval == {}


def test_factors_scale_what_is_solved_and_not_what_was_predicted(small_model: Any, inputs: Any) -> None:
    means = solve_means(small_model, inputs, PredictionOptions(factors={"sum_gradient": 0.25}))
    assert means.times.sum_gradient_s == pytest.approx(0.25 * means.predicted.times.sum_gradient_s)
    np.testing.assert_array_equal(means.times.fetch_weights_s, means.predicted.times.fetch_weights_s)


def test_differences_are_taken_at_the_closed_solution_of_a_refined_one(small_model: Any, inputs: Any) -> None:
    part = inputs.take(np.array([0]))
    means = solve_means(small_model, part, PredictionOptions(refine="recursion", seed=1))
    closed = solve_iterations(means.times, means.run, "phases")
    assert means.solved.form == "recursion"
    assert means.closed_state.gpu_iteration_s == pytest.approx(closed.gpu_iteration_s, rel=1e-15)
    assert means.solved.state.gpu_iteration_s[0] != closed.gpu_iteration_s[0]


def lenet() -> CnnSpec:
    """Small maps, average pools: so far from the bundled campaign's that its linear model says less than no time."""
    layers = [
        Layer("c1", "conv", n_maps=6, filter_size=5, padding=2),
        Layer("t1", "activation", function="tanh"),
        Layer("p1", "pool", filter_size=2, mode="average"),
        Layer("c2", "conv", n_maps=16, filter_size=5),
        Layer("t2", "activation", function="tanh"),
        Layer("p2", "pool", filter_size=2, mode="average"),
        *(Layer(f"f{place}", "fc", n_maps=n_maps) for place, n_maps in enumerate((120, 84, 10))),
        Layer("s", "softmax"),
    ]
    return CnnSpec("lenet", 1, (28, 28), tuple(layers))


def test_what_the_linear_model_cannot_explain_is_predicted_all_the_same() -> None:
    model = mlperf.load_model("cpu-epyc")
    found = mlperf.predict_epoch(model, lenet(), "cpu-cluster", JobSpec(60_000), subbatch_size=[1, 16])
    assert np.isfinite(found.explained["epoch_s"]).tolist() == [True, False]
    assert (found.epoch_s > 0.0).all()
    assert not found.in_domain["epoch_s"].any()
    for interval in (found.confidence_interval["gpu_iteration_s"], found.prediction_interval["gpu_iteration_s"]):
        assert (interval.lower < found.gpu_iteration_s).all()
        assert (interval.upper > found.gpu_iteration_s).all()
        # A mean within a factor of ten: terms of the linear model that cancel are no measure of the spread.
        assert (interval.upper < 10.0 * found.gpu_iteration_s).all()
    with pytest.raises(DataError, match=r"CNN 'lenet', sub-batch 16: got -0.00577 s for component 'compute_gradient'"):
        mlperf.predict_epoch(model, lenet(), "cpu-cluster", JobSpec(60_000), subbatch_size=[1, 16], method="linear")


def test_strict_means_nothing_outside(small_model: Any, inputs: Any) -> None:
    with pytest.raises(DomainError, match=r"4 nodes x 2 GPUs, sub-batch 2: outside the measured domain: allreduce"):
        solve_means(small_model, inputs, PredictionOptions(strict=True))
