"""Measured steps of the user's: planted factors are found, intervals narrow, nothing changes where nothing is measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mlperf
from mlperf.planning.calibration.observed import predict_observed
from mlperf.planning.run_prediction import Prediction
from mlperf.specs import JobSpec

pytestmark = pytest.mark.slow

SIZES = {"n_nodes": 2, "n_gpus_per_node": 2, "subbatch_size": 2}
JOB = JobSpec(dataset_size=60_000, n_nodes=2, subbatch_size=2)
OPTIONS = {"n_gpus_per_node": 2, "n_draws": 80, "distributions": False}


@pytest.fixture(scope="module")
def plain(small_model: Any) -> Prediction:
    return mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", JOB, **OPTIONS)


def observed(small_model: Any, rows: pd.DataFrame) -> Prediction:
    return predict_observed(small_model, "alexnet", "cpu-cluster", JOB, rows, **OPTIONS)


def width(prediction: Prediction, output: str = "epoch_s") -> float:
    interval = prediction.prediction_interval[output]
    return float(np.log(interval.upper[0] / interval.lower[0]))


@pytest.mark.parametrize("column", ["step_s", "gpu_iteration_s", "epoch_s"])
def test_measured_steps_move_the_epoch_and_narrow_its_interval(small_model: Any, plain: Prediction, column: str) -> None:
    base = plain.epoch_s[0] if column == "epoch_s" else plain.gpu_iteration_s[0]
    times = 1.4 * base * np.array([0.99, 1.0, 1.01])
    found = observed(small_model, pd.DataFrame({**{name: [size] * 3 for name, size in SIZES.items()}, column: times}))
    assert 1.25 < found.epoch_s[0] / plain.epoch_s[0] <= 1.41
    assert width(found) < 0.75 * width(plain)
    interval = found.prediction_interval["epoch_s"]
    assert interval.lower[0] < found.epoch_s[0] < interval.upper[0]
    assert found.observed is not None
    assert found.observed["measured_share"].max() > 0.7


def test_many_steps_are_believed_and_one_less_than_three(small_model: Any, plain: Prediction) -> None:
    target = 1.3 * plain.gpu_iteration_s[0]
    ratios = []
    for n_rows in (1, 3, 60):
        rows = pd.DataFrame({"subbatch_size": [2] * n_rows, "n_gpus_per_node": 2, "step_s": target})
        ratios.append(observed(small_model, rows).gpu_iteration_s[0] / plain.gpu_iteration_s[0])
    assert ratios[0] < ratios[1] < ratios[2]
    assert ratios[2] == pytest.approx(1.3, rel=0.01)


def test_a_measured_component_gets_its_own_factor(small_model: Any, plain: Prediction) -> None:
    parts = plain.gpu_breakdown_s
    base = float(parts["compute_gradient"][0])
    rows = pd.DataFrame({**{name: [size] * 8 for name, size in SIZES.items()}, "compute_gradient_s": 0.8 * base})
    found = observed(small_model, rows)
    assert found.observed is not None
    table = found.observed.set_index("component")
    assert list(table.index) == ["compute_gradient"]
    assert table.loc["compute_gradient", "factor"] == pytest.approx(0.8, rel=0.02)
    assert found.gpu_breakdown_s["compute_gradient"][0] == pytest.approx(0.8 * base, rel=0.02)
    assert_allclose(found.gpu_breakdown_s["load_image"], parts["load_image"])


@pytest.mark.parametrize("column", ["allreduce_s", "update_iteration_s"])
def test_a_measured_exchange_is_believed_though_the_machine_file_gave_another(
    small_model: Any, plain: Prediction, column: str
) -> None:
    assert plain.source["allreduce"] == "assumed"
    base = float(plain.update_breakdown_s["allreduce"][0] if column == "allreduce_s" else plain.update_iteration_s[0])
    times = 2.0 * base * np.array([0.98, 1.0, 1.02])
    found = observed(small_model, pd.DataFrame({**{name: [size] * 3 for name, size in SIZES.items()}, column: times}))
    shown = float(found.update_breakdown_s["allreduce"][0] if column == "allreduce_s" else found.update_iteration_s[0])
    assert shown == pytest.approx(2.0 * base, rel=0.02)
    assert found.observed is not None
    assert found.observed.set_index("component")["measured_share"].idxmax() == "allreduce"
    assert found.source["allreduce"] == "calibrated"
    assert found.observed_notes == ()


def test_what_was_predicted_changes_nothing_but_the_width(small_model: Any, plain: Prediction) -> None:
    rows = pd.DataFrame({**{name: [size] * 3 for name, size in SIZES.items()}, "step_s": plain.gpu_iteration_s[0]})
    found = observed(small_model, rows)
    assert_allclose(found.epoch_s, plain.epoch_s, rtol=1e-6)
    assert width(found) < width(plain)


def test_a_what_if_stays_on_top_of_the_factors(small_model: Any, plain: Prediction) -> None:
    rows = pd.DataFrame({**{name: [size] * 3 for name, size in SIZES.items()}, "step_s": plain.gpu_iteration_s[0]})
    asked = {**OPTIONS, "factors": {"sum_gradient": 0.25}}
    alone = mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", JOB, **asked)
    found = predict_observed(small_model, "alexnet", "cpu-cluster", JOB, rows, **asked)
    assert found.update_breakdown_s["sum_gradient"][0] == pytest.approx(alone.update_breakdown_s["sum_gradient"][0], rel=0.05)


def test_steps_that_the_model_predicts_leave_a_what_if_as_it_is(small_model: Any, plain: Prediction) -> None:
    """The machine was measured without the what-if: twenty such updates must not undo it."""
    rows = pd.DataFrame({**{name: [size] * 20 for name, size in SIZES.items()}, "update_iteration_s": plain.update_iteration_s[0]})
    asked = {**OPTIONS, "factors": {"allreduce": 0.25}}
    alone = mlperf.predict_epoch(small_model, "alexnet", "cpu-cluster", JOB, **asked)
    found = predict_observed(small_model, "alexnet", "cpu-cluster", JOB, rows, **asked)
    assert alone.update_iteration_s[0] < 0.95 * plain.update_iteration_s[0]
    assert_allclose(found.update_iteration_s, alone.update_iteration_s, rtol=1e-6)
