"""Component times of unseen configurations: their methods differ in the gradient alone, and draws lie around the means."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlperf.planning.component_times import draw_times, explained_gradient, predict_times, with_gradient
from mlperf.planning.inputs import configuration_inputs, configurations
from mlperf.specs import load_cnn, load_machine
from mlperf.systems.base.times import ComponentTimes
from mlperf.training.gradient.launches import Launches

N_DRAWS = 2000


@pytest.fixture(scope="module")
def inputs(small_model: Any) -> Any:
    configs = configurations([0], [1, 4], 2, [1, 2], 60_000)
    return configuration_inputs(small_model, [load_cnn("alexnet")], load_machine("cpu-cluster"), configs)


def assert_same(one: ComponentTimes, other: ComponentTimes) -> None:
    for field in dataclasses.fields(ComponentTimes):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def test_explained_times_are_those_of_the_linear_method(small_model: Any, inputs: Any) -> None:
    learnt, linear = (predict_times(small_model, inputs, method) for method in ("learnt", "linear"))
    assert (learnt.times.compute_gradient_s != linear.times.compute_gradient_s).any()
    assert_same(with_gradient(small_model, learnt, explained_gradient(small_model, inputs)), linear.times)


def test_draws_lie_around_the_means_and_those_of_a_run_farther(small_model: Any, inputs: Any) -> None:
    mean = predict_times(small_model, inputs)
    drawn = {
        kind: draw_times(small_model, inputs, mean, kind=kind, n_draws=N_DRAWS, rng=np.random.default_rng(1))
        for kind in ("mean", "run")
    }
    for name in ("compute_gradient_s", "sum_gradient_s", "load_image_s"):
        values, expected = getattr(drawn["mean"], name), getattr(mean.times, name)
        std_err = values.std(axis=0) / np.sqrt(N_DRAWS)
        assert values.shape == (N_DRAWS, 4)
        assert (np.abs(values.mean(axis=0) - expected) <= 4 * std_err + 1e-3 * expected).all(), name
        assert (getattr(drawn["run"], name).std(axis=0) > values.std(axis=0)).all(), name
    # Steps of one sub-batch share their draw whatever the number of nodes; one node has no all-reduce.
    np.testing.assert_array_equal(drawn["run"].compute_gradient_s[:, :2], drawn["run"].compute_gradient_s[:, 2:])
    assert (drawn["run"].allreduce_s[..., :2] == 0.0).all()


def test_runs_side_by_side_share_the_errors_of_what_they_have_in_common(small_model: Any, inputs: Any) -> None:
    mean = predict_times(small_model, inputs)
    of_mean, of_runs = (
        draw_times(small_model, inputs, mean, kind=kind, n_draws=N_DRAWS, rng=np.random.default_rng(1)) for kind in ("mean", "runs")
    )
    # Rows: 1 and 4 nodes with sub-batches of 1 and 2.
    step, update = of_runs.compute_gradient_s, of_runs.update_weights_s
    np.testing.assert_array_equal(step[:, 0], step[:, 2])
    np.testing.assert_array_equal(update[:, 0], update[:, 1])
    for name in ("compute_gradient_s", "update_weights_s"):
        assert (getattr(of_runs, name).std(axis=0) > getattr(of_mean, name).std(axis=0)).all(), name
    assert np.ptp(step[:, 1] / step[:, 0]) > np.ptp(of_mean.compute_gradient_s[:, 1] / of_mean.compute_gradient_s[:, 0])


def test_settings_of_one_step_err_by_themselves_where_runs_were_left_out(runs_model: Any, runs_campaign: Any) -> None:
    cnns = [next(iter(runs_campaign.cnns.values())), load_cnn("alexnet")]
    configs = pd.concat([configurations([number], [1, 4], 2, [2], 60_000) for number in (0, 1)], ignore_index=True)
    inputs = configuration_inputs(runs_model, cnns, load_machine("cpu-cluster"), configs)
    mean = predict_times(runs_model, inputs)
    drawn = draw_times(runs_model, inputs, mean, kind="runs", n_draws=N_DRAWS, rng=np.random.default_rng(1)).compute_gradient_s
    # Rows: two settings of a step that was run, two of a network that was not.
    ratio = np.log(drawn / drawn[:, [1, 0, 3, 2]])[:, [0, 2]].std(axis=0)
    for apart, table in zip(ratio, (runs_model.runs.setting_residuals, runs_model.runs.residuals), strict=True):
        about = table.groupby(["cnn", "subbatch_size"])["gpu_iteration_s"].std()
        assert apart == pytest.approx(np.sqrt(2.0 * np.mean(about**2)), rel=0.2)


def test_launches_that_a_device_waits_for_are_not_uncertain_as_its_kernels_are(small_model: Any, inputs: Any) -> None:
    def relative_spread(start_s: float) -> np.ndarray[Any, Any]:
        gradient = dataclasses.replace(small_model.gradient, launches=Launches(call_s=0.0, start_s=start_s, launch_s=0.0))
        model = dataclasses.replace(small_model, gradient=gradient)
        mean = predict_times(model, inputs)
        drawn = draw_times(model, inputs, mean, kind="mean", n_draws=200, rng=np.random.default_rng(1)).compute_gradient_s
        return np.asarray(drawn.std(axis=0) / mean.times.compute_gradient_s)

    kernels_s = predict_times(small_model, inputs).times.compute_gradient_s
    # As many seconds of waiting as a hundred steps: of the step's relative spread a hundredth is left.
    of_kernels, with_waits = relative_spread(0.0), relative_spread(100.0 * float(kernels_s.max()))
    assert (of_kernels > 1e-4).all()
    assert (with_waits < of_kernels / 80.0).all()
